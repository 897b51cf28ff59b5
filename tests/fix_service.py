"""A real `stratagraph serve` in a process of its own, on a database of the test's own."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
import structlog

from stratagraph.service import cli

READY_S = 60
MASTER_KEY = base64.b64encode(bytes(32)).decode()  # for databases that do not bring their own


@dataclass
class Service:
    """A running service. `url` is its base URL, None for a process without the API."""

    process: subprocess.Popen[str]
    url: str | None
    environment: Mapping[str, str]

    def stop(self) -> int:
        """SIGTERM, and the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60)


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).parent / "stratagraph"), *arguments]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with just these settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    return kept | {f"STRATAGRAPH_{name.upper()}": value for name, value in settings.items()}


@contextmanager
def running(*arguments: str, log: str = os.devnull, **settings: str) -> Iterator[Service]:
    """`stratagraph serve` with these settings, until it answers; stopped at the end. Its log goes to the file `log`."""
    given = {"port": "0", "log_level": "info"} | settings
    if "database_url" in given and not any(name.startswith("master_key") for name in given):
        given["master_key"] = MASTER_KEY
    env = environment(**given)
    with Path(log).open("a") as err:
        process = subprocess.Popen(command("serve", *arguments), env=env, stdout=subprocess.PIPE, stderr=err, text=True)
    service = Service(process, None, env)
    try:
        assert process.stdout is not None
        for line in process.stdout:  # ends when the process does
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
        assert process.stdout is not None
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
    """GraphQL over HTTP, as a caller would."""

    http: httpx.AsyncClient
    url: str

    async def __call__(self, document: str, token: str | None = None, **variables: Any) -> dict[str, Any]:
        """The whole answer; use `data` where errors are not expected."""
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
    """Run a command to its end, as the shell would but for the process: exit status, standard output, standard error.

    It runs in a thread of this process, with a loop of its own: to start Python and import everything anew would take
    most of the time of most of these tests. `run_process` does that where it matters.
    """
    async with asyncio.timeout(300):
        return await asyncio.to_thread(_run_here, arguments, env)


def _run_here(arguments: tuple[str, ...], env: Mapping[str, str]) -> tuple[int, str, str]:
    out, err, before = io.StringIO(), io.StringIO(), structlog.get_config()
    configure = structlog.configure

    def configure_uncached(**given: Any) -> None:
        """Loggers that are kept would write to this command's output for ever."""
        configure(**{**given, "cache_logger_on_first_use": False})

    with (
        mock.patch.dict(os.environ, env, clear=True),
        mock.patch.object(sys, "argv", ["stratagraph", *arguments]),
        mock.patch.object(structlog, "configure", configure_uncached),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            configure(**before)
    return status, out.getvalue(), err.getvalue()


async def run_process(*arguments: str, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a command to its end in a process of its own: exit status, standard output, standard error."""
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
