"""Fixtures that run `stratagraph serve` and other commands in processes of their own, on the test's own database."""

from __future__ import annotations

import asyncio
import atexit
import base64
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import httpx
import psycopg
import pytest

READY_S = 60
CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { code message retryable } } }"""
HEALTH = "{ health { ok checks { name ok detail } } }"
MASTER_KEY = base64.b64encode(bytes(32)).decode()  # for a test that names a database and no key


class Forked:
    """A process of `stratagraph`, made by the fork server, with the methods of subprocess.Popen that tests use."""

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        err: IO[str],
        constants: str = "{}",
    ) -> None:
        out, out_end = os.pipe()
        self._status, status_end = os.pipe()
        given = {"argv": arguments, "env": dict(environment), "constants": json.loads(constants)}
        request = json.dumps(given).encode()
        socket.send_fds(_fork_server(), [request], [out_end, err.fileno(), status_end])
        os.close(out_end)
        os.close(status_end)
        self.stdout = os.fdopen(out, "r")
        self._received = ""
        self.pid = int(self._read_line())
        self.returncode: int | None = None

    def _read_line(self) -> str:
        """Read one line from the fork server; wait until it is complete."""
        while "\n" not in self._received:
            more = os.read(self._status, 64)
            if not more:
                raise ChildProcessError("the fork server has ended")
            self._received += more.decode()
        line, self._received = self._received.split("\n", 1)
        return line

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("stratagraph", timeout or 0.0)
            self.returncode = int(self._read_line())
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _fork_server() -> socket.socket:
    """Start this test process's fork server; it ends when our end of the socket is closed."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "fork_server.py"), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(timeout=10)

    atexit.register(end)
    return ours


@dataclass
class Service:
    """A running service. `url` is its base URL; None without the API. `welcome` is what it printed at its start."""

    process: Forked
    url: str | None
    environment: Mapping[str, str]
    welcome: str = ""

    def stop(self) -> int:
        """Send SIGTERM, wait for the end, and return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60)


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).parent / "stratagraph"), *arguments]


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment, with only these settings of Stratagraph.

    No embedder is used unless they name one: a model that this machine's user has fetched would be.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    settings = {"embedder": "off"} | settings
    return kept | {f"STRATAGRAPH_{name.upper()}": value for name, value in settings.items()}


def settings_of(database_url: str, tmp_path: Path) -> dict[str, str]:
    """Return the environment of commands on a database that a test was given."""
    return environment(database_url=database_url, data_dir=str(tmp_path / "data"), master_key=MASTER_KEY)


def stored(url: str, statement: str) -> int:
    """Return the number that a statement counts."""
    with psycopg.connect(url) as connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def running(
    *arguments: str,
    log: str = os.devnull,
    constants: str = "{}",
    **settings: str,
) -> Iterator[Service]:
    """Run `stratagraph serve` with these settings; the block begins when it is ready. `log` is the file for its log.

    `constants` is a JSON object of limits that are no settings, as `set_constants` of fork_server.py describes it.

    One process does everything, unless the settings name a number of `workers`.
    """
    given = {"port": "0", "log_level": "info", "workers": "1"} | settings
    if "database_url" in given and not any(name.startswith("master_key") for name in given):
        given["master_key"] = MASTER_KEY
    env = environment(**given)
    with Path(log).open("a") as err:
        process = Forked(["serve", *arguments], env, err, constants)
    service = Service(process, None, env)
    try:
        for line in process.stdout:  # ends when the process does
            service.welcome += line
            if "GraphQL" in line:
                service.url = line.split("http", 1)[1].split("/graphql")[0].strip()
                service.url = f"http{service.url}"
            if line.startswith("╰"):
                break
        assert process.poll() is None, f"the service ended with {process.wait()}"
        yield service
    finally:
        if process.poll() is None:
            service.stop()
        process.stdout.close()


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A single-user service on loopback, without a mirror."""
    with running(database_url=database_url, single_user="on", data_dir=str(tmp_path / "data")) as started:
        yield started


@pytest.fixture
def service_url(service: Service) -> str:
    assert service.url is not None
    return service.url


@dataclass
class Client:
    """A GraphQL client over HTTP."""

    http: httpx.AsyncClient
    url: str

    async def __call__(self, document: str, token: str | None = None, **variables: Any) -> dict[str, Any]:
        """Return the whole response. Use `data` where no errors are expected."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        response = await self.http.post(
            f"{self.url}/graphql", json={"query": document, "variables": variables}, headers=headers
        )
        answer: dict[str, Any] = response.json()
        return answer

    async def data(self, document: str, token: str | None = None, **variables: Any) -> dict[str, Any]:
        answer = await self(document, token, **variables)
        assert "errors" not in answer, json.dumps(answer["errors"], indent=2)
        found: dict[str, Any] = answer["data"]
        return found


@pytest.fixture
async def client(service_url: str) -> AsyncIterator[Client]:
    async with httpx.AsyncClient(timeout=30) as http:
        yield Client(http, service_url)


async def run_command(*arguments: str, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a command and return exit status, standard output and standard error. Uses the fork server."""
    async with asyncio.timeout(300):
        return await asyncio.to_thread(_run_forked, [*arguments], env)


def _run_forked(arguments: list[str], env: Mapping[str, str]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile("w+") as err:
        process = Forked(arguments, env, err)
        with process.stdout:
            out = process.stdout.read()
        status = process.wait()
        err.seek(0)
        return status, out, err.read()


async def run_process(*arguments: str, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a command as `run_command` does, but in a new Python process."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        env=dict(env),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(300):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()
