"""The fixture `parts`: a complete installation whose processes a test can kill and start again in place."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import psutil
import psycopg
import pytest
from fix_memory import SPARING_S, until
from fix_neo4j import LONG_TERM, write_conf_without_password
from fix_service import MASTER_KEY, Service, environment, running

from stratagraph.graph_sync.worker import CONSUMER, mirror_feed
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.local_neo4j import choose_version, find_javas
from stratagraph.service.local_neo4j.conf import JVM_FLAGS
from stratagraph.service.local_neo4j.files import entry_point, server_jars
from stratagraph.service.local_neo4j.ports import Ports
from stratagraph.service.local_neo4j.ready import answers
from stratagraph.service.local_neo4j.server import home_flag
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.postgres.database import Database

STARTS_WITHIN_S = 180.0  # on a busy machine
ENDS_WITHIN_S = 30.0
CAUGHT_UP_WITHIN_S = 300.0
HEAP, PAGE_CACHE = "384m", "64m"
PORTS = range(20_000, 32_000)  # below the kernel's range for clients, which could take the port of a killed part


class Part(Protocol):
    """A process or group of processes that can be killed. The methods block."""

    name: str

    def start(self) -> None:
        """Start it, again with its data and address; return once it answers."""

    def kill(self) -> None:
        """Send SIGKILL to all its processes and wait until they have ended."""

    def close(self) -> None:
        """Stop it at the end of the test."""

    def is_running(self) -> bool:
        """Return whether its main process is running."""


class OwnPostgres:
    """A Postgres cluster with the settings of the embedded one."""

    name = "postgres"

    def __init__(self, directory: Path) -> None:
        self._server = EmbeddedPostgres(directory)
        self._runs = ExitStack()
        self.url = ""

    def start(self) -> None:
        # The first `running` after a crash starts the server. All of them stay open; the last to close stops it.
        self.url = self._runs.enter_context(self._server.running())

    def kill(self) -> None:
        """Kill the postmaster first; otherwise it would shut the other processes down in an orderly way."""
        postmaster = psutil.Process(int((self._server.data / "postmaster.pid").read_text().splitlines()[0]))
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, alive = psutil.wait_procs(processes, timeout=ENDS_WITHIN_S)
        assert not alive

    def close(self) -> None:
        self._runs.close()

    def is_running(self) -> bool:
        return self._server.is_running()


class OwnNeo4j:
    """A Neo4j that starts again on the same port, with its data."""

    name = "neo4j"

    def __init__(self, home: Path, cache: Path) -> None:
        self._home = home
        self._cache = cache
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self._port}"

    def start(self) -> None:
        version, java = choose_version(LONG_TERM.version, find_javas())
        jars = server_jars(self._cache, version, java, print)
        ports = Ports(bolt=self._port, http=self._port)  # HTTP is off
        conf = write_conf_without_password(
            self._home, version, ports=ports, browser=False, heap=HEAP, page_cache=PAGE_CACHE
        )
        command = [
            *(
                str(java.executable),
                f"-Xms{HEAP}",
                f"-Xmx{HEAP}",
                *JVM_FLAGS,
                "-cp",
                str(jars / "*"),
                entry_point(jars),
            ),
            *(home_flag(self._home), f"--config-dir={conf}", "--console-mode"),
        ]
        log_file = self._home / "console.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not answers(self.uri, within_s=1.0):
            # A connection is refused at once, and trying takes processor time.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SPARING_S)
            assert self._process.poll() is None, log_file.read_text(errors="replace")[-2_000:]
            assert time.monotonic() < deadline

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(ENDS_WITHIN_S)

    def close(self) -> None:
        if self._process is not None:
            self.kill()  # its data are not needed after the test

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None


class OwnService:
    """A `stratagraph serve` with some of the service's parts."""

    def __init__(self, name: str, *arguments: str, log: Path, settings: Mapping[str, str]) -> None:
        self.name = name
        self.log = log
        self._arguments = arguments
        self._settings = settings
        self._running: AbstractContextManager[Service] | None = None
        self._service: Service | None = None

    def start(self) -> None:
        self._running = running(*self._arguments, log=str(self.log), **self._settings)
        self._service = self._running.__enter__()

    def kill(self) -> None:
        assert self._service is not None
        self._service.kill()
        self.close()

    def close(self) -> None:
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = None

    def is_running(self) -> bool:
        return self._service is not None and self._service.process.poll() is None


@dataclass
class Parts:
    """All parts of the installation. `settings` are those of the services."""

    postgres: OwnPostgres
    neo4j: OwnNeo4j
    api: OwnService
    workers: list[OwnService]
    url: str
    settings: dict[str, str]

    @property
    def all(self) -> list[Part]:
        return [self.postgres, self.neo4j, self.api, *self.workers]

    @property
    def services(self) -> list[OwnService]:
        return [self.api, *self.workers]

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which to run commands on this installation."""
        return environment(**self.settings)

    async def caught_up(self) -> None:
        """Wait until the mirror has all changes that were committed before this call."""
        async with Database(self.postgres.url) as database:
            feed, generations = mirror_feed(database), Generations(database, CONSUMER)
            snapshot = await feed.take_fresh_snapshot()

            async def passed() -> bool:
                positions = await feed.positions()
                # A rebuild moves the cursors to the newest snapshot before it has begun to write.
                newest = await generations.newest()
                whole = newest is not None and newest["state"] == "active"
                return whole and min(positions.values()) >= snapshot

            await until(passed, within_s=CAUGHT_UP_WITHIN_S, every_s=SPARING_S)

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in Postgres, past the service."""
        async with await psycopg.AsyncConnection.connect(self.postgres.url) as database:
            return await (await database.execute(statement)).fetchall()

    def failures(self) -> list[str]:
        """Return the errors in the services' logs. An outage is not one; the services log it once, as a warning."""
        return [
            line
            for service in self.services
            for line in service.log.read_text().splitlines()
            if '"level": "error"' in line or line.startswith("Traceback")
        ]


def free_port() -> int:
    """Return a port that is free and outside the range that the kernel assigns to clients."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory outside pytest's own, which the next session closes to the account that Postgres runs as."""
    with TemporaryDirectory(prefix="stratagraph-faults-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@pytest.fixture
async def parts(home: Path, neo4j_cache_with_jars: Path, quick_java: None) -> AsyncIterator[Parts]:
    """Postgres, Neo4j, the API with the background jobs, and two mirror workers, all running."""
    postgres = OwnPostgres(home / "pg")
    neo4j = OwnNeo4j(home / "neo4j", neo4j_cache_with_jars)
    port = free_port()
    settings = {"single_user": "on", "data_dir": str(home / "data"), "neo4j_uri": neo4j.uri}
    settings |= {"master_key": MASTER_KEY, "port": str(port)}
    found = Parts(
        postgres=postgres,
        neo4j=neo4j,
        api=OwnService("api", "--only", "api", "--only", "jobs", log=home / "api.log", settings=settings),
        workers=[
            OwnService(f"worker {number}", "--only", "sync", log=home / f"worker{number}.log", settings=settings)
            for number in (1, 2)
        ],
        url=f"http://127.0.0.1:{port}",
        settings=settings,
    )

    async def start_services() -> None:
        await asyncio.to_thread(postgres.start)
        settings["database_url"] = postgres.url
        await asyncio.to_thread(found.api.start)  # alone: it migrates
        await asyncio.gather(*(asyncio.to_thread(worker.start) for worker in found.workers))

    try:
        started = await asyncio.gather(start_services(), asyncio.to_thread(neo4j.start), return_exceptions=True)
        for error in started:
            if error is not None:
                raise error
        yield found
    finally:
        for part in reversed(found.all):
            await asyncio.to_thread(part.close)
