"""A process is ready while it can answer requests; whatever else is wrong is told by `health`, and heals by itself."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from fix_health import JOB, constant
from fix_memory import Memory, memory_of, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.graphql.services import Report
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.service.health import KEEPS_FAILING, OVERDUE_S, Health, HealthConfig
from stratagraph.service.measuring import Gauge, Measurements
from stratagraph.service.processes.board import ProcessState
from stratagraph.store.feed.consumer import Lag
from stratagraph.store.jobs.leases import JobLeases, JobState
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.mirror.status import MirrorStatus
from stratagraph.store.model.errors import MirrorUnavailable, OutOfConnections
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.migrating import migrate
from stratagraph.store.postgres.probing import DatabaseState

LIMIT_S = 60.0
SHIFTED_CLOCK = """CREATE SCHEMA shifted;
CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql
AS $$SELECT pg_catalog.clock_timestamp() + make_interval(secs => {seconds})$$;"""


def health_of(database: Database, **given: Any) -> Health:
    options = {name: given.pop(name) for name in ("processes", "is_stopping") if name in given}
    measurements = replace(Measurements.of(database, JobLeases(database, owner="test"), None), **given)
    directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
    health = Health(measurements, database, directory, HealthConfig(max_lag_s=LIMIT_S), **options)
    health._began_at -= 2 * LIMIT_S
    return health


async def checks(health: Health) -> dict[str, Report]:
    return {one.name: one for one in (await health.report_to_operator()).checks}


@asynccontextmanager
async def watching(health: Health) -> AsyncIterator[None]:
    task = asyncio.create_task(health.watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure and watch without the pauses of a running service."""
    monkeypatch.setattr("stratagraph.service.measuring.FRESH_S", 0.0)
    monkeypatch.setattr("stratagraph.service.health.WATCH_S", 0.02)
    monkeypatch.setattr("stratagraph.store.postgres.probing.PROBE_WAIT_S", 0.1)


def failing(error: Exception) -> Gauge[Any]:
    async def read() -> None:
        raise error

    return Gauge(read)


ages = st.one_of(st.none(), st.floats(0, 1e6))
statuses = st.builds(
    MirrorStatus,
    followed_s=ages,
    maintained_s=ages,
    checked_s=ages,
    check_took_s=st.none(),
    drift=st.just({}),
    live_workers=st.integers(0, 2),
    is_building=st.booleans(),
    is_damaged=st.booleans(),
)
lags = st.builds(Lag, changes=st.integers(0, 10_000), seconds=st.floats(0, 1e6), dead_letters=st.integers(0, 9))
jobs = st.builds(
    replace,
    st.just(JOB),
    failures=st.integers(0, 3 * KEEPS_FAILING),
    overdue_s=st.floats(-1.0, 9 * OVERDUE_S),
    set_aside=st.integers(0, 9),
)
processes = st.builds(
    ProcessState,
    name=st.sampled_from(["background", "api-1"]),
    starts=st.integers(0, 9),
    ends_in_a_row=st.integers(0, 9),
    is_ready=st.booleans(),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    status=statuses,
    lag=st.one_of(st.none(), lags),
    states=st.lists(jobs, max_size=3),
    others=st.lists(processes, max_size=3),
    default_rows=st.integers(0, 3),
    neo4j=st.booleans(),
)
async def test_a_process_whose_database_answers_is_ready_whatever_else_is_wrong(
    database: Database,
    status: MirrorStatus,
    lag: Lag | None,
    states: list[JobState],
    others: list[ProcessState],
    default_rows: int,
    neo4j: bool,
) -> None:
    health = health_of(
        database,
        mirror=constant(status),
        lags=constant({CONSUMER: lag} if lag is not None else {}),
        jobs=constant(states),
        default_rows=constant(default_rows),
        neo4j=constant(None) if neo4j else failing(MirrorUnavailable()),
        processes=lambda: others,
    )
    assert await health.unready() == []
    assert health.is_ready
    report = await health.report_to_operator()
    assert report.ok is not any(one.fails for one in report.checks)
    assert all(not one.ok for one in report.checks if one.fails)
    keep_failing = any(one.failures >= KEEPS_FAILING for one in states)
    assert next(one for one in report.checks if one.name == "jobs").fails is keep_failing


async def test_a_process_that_was_told_to_stop_is_not_ready_without_asking_the_database(database: Database) -> None:
    health = health_of(database, is_stopping=lambda: True)
    before = database.statements
    assert await health.unready() == ["stopping"]
    assert database.statements == before
    assert not health.is_ready


async def test_a_read_only_database_is_told_reads_go_on_and_writes_come_back(
    memory: Memory, database_url: str, quick: None
) -> None:
    name = urlsplit(database_url).path.removeprefix("/")
    await memory.turn("said before")
    health = health_of(memory.database)
    with psycopg.connect(database_url, autocommit=True) as administrator, capture_logs() as logs:
        async with watching(health):
            administrator.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            await memory.database.reconnect()  # sessions keep the setting that they were opened with
            probe = await memory.database.probe()
            assert (probe.state, probe.serves) == (DatabaseState.READ_ONLY, True)
            found = (await checks(health))["database"]
            assert (found.ok, found.fails) == (False, True)
            assert found.detail == "answers, and accepts no writes, because it is read-only"
            assert await health.unready() == [], "reads are answered"
            async with Database(database_url) as of_new_process:
                directory = Directory(of_new_process, Vault(of_new_process, LocalMasterKey(bytes(32))))
                fresh = memory_of(of_new_process, directory)
                assert len((await fresh.lookup.records(memory.trust, first=10)).records) == 1
                asked = RetrieveRequest(task_descriptor="what was said before?")
                assert len((await fresh.retrieve.retrieve(memory.trust, asked)).nodes) == 1

            async def is_logged() -> bool:
                return any(one.get("part") == "database" and one["log_level"] == "warning" for one in logs)

            await until(is_logged)
            administrator.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

            async def is_sound() -> bool:
                return (await checks(health))["database"].ok

            await until(is_sound)
            await memory.turn("said after")

            async def is_logged_again() -> bool:
                return bool(logs[-1]["event"] == "part of the service works again")

            await until(is_logged_again)


@contextmanager
def login(database_url: str) -> Iterator[tuple[str, psycopg.Connection]]:
    """A login whose connections the server limits, and a connection of the administrator's."""
    role = f"limited_{secrets.token_hex(4)}"
    parts = urlsplit(database_url)
    own = urlunsplit(parts._replace(netloc=f"{role}:{role}@{parts.netloc.rpartition('@')[2]}"))
    with psycopg.connect(database_url, autocommit=True) as administrator:
        administrator.execute(f"CREATE ROLE {role} LOGIN NOINHERIT PASSWORD '{role}'")
        try:
            migrate(database_url, api_url=own, worker_url=own)
            yield own, administrator
        finally:
            administrator.execute(f"DROP OWNED BY {role}")
            administrator.execute(f"DROP ROLE {role}")


def limit(url: str, administrator: psycopg.Connection, connections: int) -> None:
    administrator.execute(f"ALTER ROLE {urlsplit(url).username} CONNECTION LIMIT {connections}")


async def test_without_free_connections_a_process_answers_with_those_that_it_has(
    database_url: str, quick: None
) -> None:
    with login(database_url) as (url, administrator):
        limit(url, administrator, 3)
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            await memory.turn("said before")
            health = health_of(database)

            async def work() -> None:
                async with database.background(Role.FEED) as connection:
                    await connection.exec_driver_sql("SELECT pg_sleep(0.02)")

            await asyncio.gather(*(work() for _ in range(5)))  # more transactions at once than connections
            for _ in range(20):
                assert await health.unready() == [], "it does not change from one look to the next"
                found = (await checks(health))["database"]
                assert not found.ok
                assert "has no free connection" in found.detail
            limit(url, administrator, -1)

            async def is_sound() -> bool:
                await asyncio.gather(*(work() for _ in range(5)))  # opens further connections
                return (await checks(health))["database"].ok

            await until(is_sound)


async def test_a_process_without_any_connection_says_that_there_is_none_and_becomes_ready_again(
    database_url: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.postgres.database.POOL_WAIT_S", 0.2)
    with login(database_url) as (url, administrator):
        limit(url, administrator, 0)
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            health = health_of(database)
            for _ in range(2):
                assert await health.unready() == ["database"]
                assert "has no free connection" in (await checks(health))["database"].detail
            with pytest.raises(OutOfConnections, match="no free connection"):
                await memory.turn("refused")
            limit(url, administrator, -1)
            assert await health.unready() == []
            await memory.turn("accepted")


@pytest.mark.parametrize(("seconds", "side"), [(-7, "7.0 s ahead of"), (7, "7.0 s behind"), (3, None)])
async def test_a_clock_that_differs_from_the_database_is_told(
    database_url: str, quick: None, seconds: int, side: str | None
) -> None:
    name = urlsplit(database_url).path.removeprefix("/")
    with psycopg.connect(database_url, autocommit=True) as administrator:
        administrator.execute(SHIFTED_CLOCK.format(seconds=seconds))
        administrator.execute(f"ALTER DATABASE {name} SET search_path = shifted, pg_catalog, public")
        async with Database(database_url) as database:
            health = health_of(database)
            with capture_logs() as logs:
                async with watching(health):
                    clock = (await checks(health))["clock"]
                    assert clock.ok is (side is None)
                    assert clock.fails is not clock.ok
                    assert await health.unready() == []
                    ahead_s = (await database.probe()).clock_ahead_s
                    assert ahead_s is not None
                    assert abs(ahead_s + seconds) < 2

                    if side is None:
                        return

                    async def is_logged() -> bool:
                        return any(one.get("part") == "clock" for one in logs)

                    await until(is_logged)
            assert side.split(" s ")[1] in clock.detail
            assert len([one for one in logs if one.get("part") == "clock"]) == 1, "told once, not at each look"
            administrator.execute(f"ALTER DATABASE {name} RESET search_path")
            await database.reconnect()
            assert (await checks(health))["clock"].ok
