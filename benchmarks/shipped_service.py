"""The service as `make run` starts it, with what it uses: processor time, memory, and statements of its database."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import psutil
import psycopg

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.store.search.embeddings import EMBEDDED_TYPES

READY_S = 120.0
EMBEDDED_WITHIN_S = 1_800.0
# A single user's budget allows about 250 captures a second; a benchmark has to measure the service and not the limit.
# See docs/requests.md, Measuring.
UNTHROTTLED = {"rate": "1000000", "burst": "1000000"}
_STATISTICS = "pg_stat_statements"
_WITHOUT_VECTOR = """SELECT count(*) FROM record r
  WHERE r.sealed IS NULL AND r.state <= 2 AND r.type = ANY (%s::smallint[])
    AND NOT EXISTS (SELECT FROM embedding e WHERE (e.tenant, e.id) = (r.tenant, r.id))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Processor seconds used so far by the service and by all processes of its Postgres."""

    service_s: float
    postgres_s: float

    def __sub__(self, before: Usage) -> Usage:
        return Usage(service_s=self.service_s - before.service_s, postgres_s=self.postgres_s - before.postgres_s)

    def __add__(self, other: Usage) -> Usage:
        return Usage(service_s=self.service_s + other.service_s, postgres_s=self.postgres_s + other.postgres_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one statement of the API's transactions took since the statistics were switched on."""

    text: str
    calls: int
    ms: float  # planned and executed


class ShippedService:
    """A running service with an embedded Postgres of its own, in a fresh directory."""

    def __init__(
        self, url: str, directory: Path, process: psutil.Process, postgres: psutil.Process, database_url: str
    ) -> None:
        self.url = url
        self.directory = directory  # its data directory
        self.database_url = database_url  # of the database's owner
        self._process = process
        self._postgres = postgres

    def usage(self) -> Usage:
        service = sum(_seconds(one) for one in (self._process, *self._process.children(recursive=True)))
        own = self._postgres.cpu_times()  # with that of its processes that have ended
        ended = own.children_user + own.children_system
        return Usage(
            service_s=service,
            postgres_s=ended + sum(_seconds(one) for one in (self._postgres, *self._postgres.children(recursive=True))),
        )

    def memory(self) -> list[dict[str, Any]]:
        """Return the memory of each process in megabytes: resident, and its part, where shared pages are divided."""
        return [
            {
                "process": name,
                "resident_mb": round(one.memory_info().rss / 1e6, 1),
                "part_mb": round(one.memory_full_info().pss / 1e6, 1),
            }
            for name, one in self._named()
        ]

    def idle_processes(self, seconds: float) -> list[dict[str, Any]]:
        """Return the percentage of a core that each process uses without requests, and Postgres for all of them."""
        postgres = self.usage().postgres_s
        before = [(name, one, _seconds(one)) for name, one in self._named()]
        began = monotonic()
        sleep(seconds)
        took = monotonic() - began
        shares: list[dict[str, Any]] = [
            {"process": name, "percent": 100 * (_seconds(one) - used) / took} for name, one, used in before
        ]
        shares.append({"process": "postgres", "percent": 100 * (self.usage().postgres_s - postgres) / took})
        return [one | {"percent": round(one["percent"], 2)} for one in shares]

    def _named(self) -> list[tuple[str, psutil.Process]]:
        children = self._process.children()
        return [("parent" if children else "service", self._process)] + [
            (f"process {number}", one) for number, one in enumerate(children, 1)
        ]

    def idle_share(self, seconds: float) -> dict[str, float]:
        """Return the share of a core that service and Postgres use without requests, the least of three periods."""
        shares = []
        for _ in range(3):
            before, began = self.usage(), monotonic()
            sleep(seconds / 3)
            used, took = self.usage() - before, monotonic() - began
            shares.append((used.service_s / took, used.postgres_s / took))
        return {
            "service_percent": round(100 * min(service for service, _ in shares), 2),
            "postgres_percent": round(100 * min(postgres for _, postgres in shares), 2),
        }

    @contextmanager
    def statements(self) -> Iterator[list[Statement]]:
        """Collect the API's statements during the block; the list is filled at its end.

        Statements of background work, which other roles send, are left out.
        """
        collected: list[Statement] = []
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            _track(connection, "top")
            connection.execute(f"SELECT {_STATISTICS}_reset()")
            yield collected
            rows = connection.execute(
                "SELECT query, sum(calls)::bigint, sum(total_exec_time + total_plan_time)"
                " FROM pg_stat_statements JOIN pg_roles ON pg_roles.oid = userid"
                " WHERE rolname = 'stratagraph_api' OR rolname ~ '_(read|write)$'"
                " GROUP BY query ORDER BY 3 DESC"
            ).fetchall()
            collected += [Statement(text=text, calls=int(calls), ms=float(ms)) for text, calls, ms in rows]
            _track(connection, "none")

    def command(self, *arguments: str) -> str:
        """Run `stratagraph` with these arguments on the service's data, and return what it prints."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / "stratagraph"), *arguments],
            env=_environment({"data_dir": str(self.directory)}),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return done.stdout

    def await_vectors(self) -> None:
        """Wait until every record that may have a vector has one. Raises TimeoutError after EMBEDDED_WITHIN_S."""
        deadline = monotonic() + EMBEDDED_WITHIN_S
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            types = [int(one) for one in EMBEDDED_TYPES]
            while left := connection.execute(_WITHOUT_VECTOR, (types,)).fetchall()[0][0]:
                if monotonic() > deadline:
                    raise TimeoutError(f"{left} records have no vector after {EMBEDDED_WITHIN_S:.0f} s")
                sleep(0.5)

    def settle(self) -> None:
        """Vacuum and analyse, as autovacuum does after a while."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")


def memory_text(processes: Sequence[dict[str, Any]]) -> str:
    """Return a phrase on the memory of the service's processes."""
    parts = ", ".join(f"{one['process']} {one['part_mb']}" for one in processes)
    resident_mb = sum(one["resident_mb"] for one in processes)
    return (
        f"memory in MB, shared pages divided: {parts}; resident in all, shared pages counted in each: {resident_mb:.0f}"
    )


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system


def _track(connection: psycopg.Connection[Any], which: str) -> None:
    connection.execute(f"ALTER SYSTEM SET {_STATISTICS}.track = '{which}'")
    connection.execute("SELECT pg_reload_conf()")
    sleep(0.2)  # every backend reads the setting between two statements


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    settings = {"embedder": "off", **settings}  # whatever model this machine's user has fetched
    return kept | {f"STRATAGRAPH_{name.upper()}": value for name, value in settings.items()}


@contextmanager
def shipped_service(settings: Mapping[str, str] = UNTHROTTLED) -> Iterator[ShippedService]:
    """Run `stratagraph serve` with its own Postgres in a temporary directory; yield it once it is ready.

    The server is started first, to load pg_stat_statements; while that is switched off it costs nothing. The service
    then finds its server running, as it does beside any other process of the same data directory.
    """
    directory = Path(tempfile.mkdtemp(prefix="stratagraph-bench-"))
    try:
        postgres = EmbeddedPostgres(directory)
        with postgres.running() as url, psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET shared_preload_libraries = '{_STATISTICS}'")
            connection.execute(f"ALTER SYSTEM SET {_STATISTICS}.track = 'none'")
            connection.execute(f"ALTER SYSTEM SET {_STATISTICS}.track_planning = on")
        with postgres.running() as url, postgres.stopping_with_this_process():
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE EXTENSION {_STATISTICS}")
            pid = int((postgres.data / "postmaster.pid").read_text().split("\n", 1)[0])
            with _Serving(directory, settings) as (address, process):
                yield ShippedService(address, directory, process, psutil.Process(pid), url)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Serving:
    """The service's process."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}"
        given = {"data_dir": str(directory), "port": str(port), "log_level": "warning"} | dict(settings)
        self._environment = _environment(given)

    def __enter__(self) -> tuple[str, psutil.Process]:
        self._process = subprocess.Popen(
            [str(Path(sys.executable).parent / "stratagraph"), "serve"],
            env=self._environment,
            stdout=subprocess.DEVNULL,
        )
        deadline = monotonic() + READY_S
        while not self._is_ready():
            if self._process.poll() is not None or monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(f"the service did not become ready within {READY_S:.0f} s")
            sleep(0.2)
        return self._address, psutil.Process(self._process.pid)

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"{self._address}/readyz", timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait()
