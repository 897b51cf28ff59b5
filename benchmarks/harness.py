"""Server, timing and output of all benchmarks.

Figures of different runs cannot be compared, since machines and loads differ; ratios within one run can. So a benchmark
runs the cases that it compares in turn, in one process, on one server with production settings.
"""

from __future__ import annotations

import asyncio
import math
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

import orjson
import psutil
import psycopg
import structlog
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import migrate
from stratagraph.store.postgres.partitions import make_days

MASTER_KEY = bytes(32)  # of the benchmark's databases
people = Console(stderr=True)
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is for the JSON document
K = TypeVar("K")
F = TypeVar("F", bound="Fillable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One migrated database of the benchmark's server."""

    url: str
    database: Database
    directory: Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case to compare with others. `prepare` runs before each timed `run` and is not timed."""

    run: Callable[[], Awaitable[object]]
    prepare: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound that a benchmark checks: `value` must be at most `limit`."""

    name: str
    value: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.value <= self.limit


@contextmanager
def server() -> Iterator[str]:
    """Run an embedded Postgres in a temporary directory; yield its URL."""
    directory = Path(tempfile.mkdtemp(prefix="stratagraph-bench-"))
    try:
        with EmbeddedPostgres(directory).running() as url:
            yield url
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@asynccontextmanager
async def store(server_url: str, name: str) -> AsyncIterator[Store]:
    """Create, migrate and open a database of that name."""
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        await connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    await asyncio.to_thread(migrate, url)
    async with opened(url) as migrated:
        await make_days(migrated.database, datetime.now(UTC).date())
        yield migrated


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    """Open a migrated database, as its owner."""
    async with Database(url) as database:
        vault = Vault(database, LocalMasterKey(MASTER_KEY))  # some of the records are encrypted
        yield Store(url=url, database=database, directory=Directory(database, vault))


class Fillable(Protocol):
    """What fills a store, with its progress on `bars`."""

    async def fill(self, bars: Progress) -> None: ...


async def filled_stores(
    stack: AsyncExitStack, url: str, sizes: Sequence[int], make: Callable[[Store, Tenant, int], F]
) -> dict[int, F]:
    """Open a database of the server at `url` for each size, and let what `make` returns for it fill it."""
    found: dict[int, F] = {}
    with progress() as bars:
        for size in sizes:
            where = await stack.enter_async_context(store(url, f"bench_{size}"))
            tenant = await where.directory.tenant("bench", create=True)
            assert tenant is not None  # create=True
            found[size] = make(where, tenant, size)
            await found[size].fill(bars)
            async with await psycopg.AsyncConnection.connect(where.url, autocommit=True) as connection:
                await connection.execute("VACUUM (ANALYZE)")  # as autovacuum does after a while
    return found


def trust(*, scopes: Sequence[str] | None = None, ceiling: Sensitivity = Sensitivity.HYPER) -> Trust:
    """Return an administrator's trust in the benchmark's tenant, for all scopes or for some."""
    return Trust(
        tenant="bench",
        actor="bench",
        access=Access.ADMIN,
        ceiling=ceiling,
        scopes=None if scopes is None else frozenset(scopes),
    )


def progress() -> Progress:
    """Return progress bars on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=people)


async def interleaved(cases: Mapping[K, Case], rounds: int, *, title: str) -> dict[K, list[float]]:
    """Run the cases in turn, `rounds` times, and return what each run took, in milliseconds."""
    took: dict[K, list[float]] = {name: [] for name in cases}
    with progress() as bars:
        bar = bars.add_task(title, total=rounds)
        for _ in range(rounds):
            for name, case in cases.items():
                if case.prepare is not None:
                    await case.prepare()
                began = perf_counter()
                await case.run()
                took[name].append((perf_counter() - began) * 1_000)
            bars.advance(bar)
    return took


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed.

    >>> percentile([4, 1, 3, 2], 0.5)
    2
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def summary(values: Sequence[float]) -> dict[str, float]:
    """Count, median, 95th percentile and maximum, rounded."""
    return {
        "count": len(values),
        "p50": round(statistics.median(values), 3),
        "p95": round(percentile(values, 0.95), 3),
        "max": round(max(values), 3),
    }


def machine(server_url: str | None) -> dict[str, Any]:
    """Describe the machine; `server_url` is None for a benchmark without a database."""
    about = {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if server_url is not None:
        with psycopg.connect(server_url) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        assert row is not None  # SHOW always answers
        about["postgres"] = row[0]
    return about


def report(name: str, figures: Mapping[str, Any], *, bounds: Sequence[Bound], machine: Mapping[str, Any]) -> None:
    """Print the JSON document; exit 1 if a bound was missed."""
    document = {
        "benchmark": name,
        "machine": machine,
        "figures": figures,
        "bounds": [{**asdict(bound), "ok": bound.ok} for bound in bounds],
    }
    typer.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    if not all(bound.ok for bound in bounds):
        raise typer.Exit(1)


def file_system(url: str) -> str:
    """Return the kind of the file system that the database is on: a commit costs nothing on tmpfs."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None  # SHOW always answers
    mounts = [one for one in psutil.disk_partitions(all=True) if row[0].startswith(one.mountpoint)]
    return max(mounts, key=lambda one: len(one.mountpoint)).fstype if mounts else "unknown"
