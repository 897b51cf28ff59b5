"""Every gauge of /metrics is what a count of the tables says, and what cannot be measured now is left out."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from fix_jobs import resources_of
from fix_memory import Memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.consolidation.jobs.take_census import TakeCensus, TakeCensusConfig
from stratagraph.graph_sync.worker import CONSUMER, mirror_feed
from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.measuring import STALE_S, Gauge, Measurements
from stratagraph.service.metrics import Metrics
from stratagraph.store.jobs.leases import JobLeases
from stratagraph.store.mirror.status import read_mirror_status
from stratagraph.store.postgres.database import Role

JOBS = ("prune", "reevaluate")
Series = dict[tuple[str, ...], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How much waits of each kind."""

    failed: int
    given_up: int
    reevaluations: int
    due: int
    to_link: int
    unlearned: int
    to_compare: int
    set_aside: int
    dead_letters: int
    workers: int
    failures: int
    late: int  # records written after the mirror's consumer last read


class Counted:
    """A memory of which the tables are counted beside the metrics."""

    def __init__(self, memory: Memory, url: str) -> None:
        self.memory = memory
        self.leases = JobLeases(memory.database, owner="test")
        self._url = url

    def sql(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def number(self, statement: str, *parameters: Any) -> float:
        return float(self.sql(statement, *parameters)[0][0] or 0)

    def measurements(self) -> Measurements:
        async def answers() -> None:
            return None

        database = self.memory.database
        gauges = Measurements.of(database, self.leases, None)
        return replace(gauges, mirror=Gauge(lambda: read_mirror_status(database, CONSUMER)), neo4j=Gauge(answers))

    async def metrics(self, measurements: Measurements | None = None) -> dict[str, Series]:
        metrics = Metrics(self.memory.database, measurements or self.measurements(), None, lambda: True)
        found: dict[str, Series] = {}
        for family in (await metrics.measure()).collect():
            for sample in family.samples:
                name = sample.name.removeprefix("stratagraph_")
                found.setdefault(name, {})[tuple(sample.labels.values())] = sample.value
        return found

    async def arrange(self, waiting: Waiting) -> None:
        """Make as much wait as `waiting` says, and nothing else."""
        memory = self.memory
        self.sql(
            "TRUNCATE link_request, duplicate_due, reevaluation, job_set_aside, sync_dead_letter, sync_worker, job,"
            " sync_cursor"
        )
        self.sql("UPDATE candidate SET state = 'committed', record = created_records[1] WHERE state = 'failed'")
        needed = waiting.failed + waiting.given_up + waiting.reevaluations + waiting.due + waiting.unlearned + 1
        for number in range(needed):
            await memory.turn(f"remark {number} of {datetime.now(UTC)}", thread=f"thread {number}")
        await mirror_feed(memory.database).register()
        for number in range(waiting.late):
            await memory.turn(f"late remark {number}")
        self.sql("UPDATE episode SET closes_at = now() + interval '1 day', learned_at = closed_at")
        self.sql(
            "UPDATE episode SET closed_at = now() WHERE ctid = ANY ("
            " ARRAY(SELECT ctid FROM episode WHERE closed_at IS NULL LIMIT %s))",
            waiting.unlearned,
        )
        self.sql(
            "INSERT INTO link_request (tenant, entity, queued_at, next_try_at)"
            " SELECT tenant, id, now(), now() FROM record LIMIT %s",
            waiting.to_link,
        )
        self.sql(
            "INSERT INTO duplicate_due (tenant, id, scope, sensitivity, about, has_keys)"
            " SELECT tenant, id, scope, sensitivity, id, true FROM record LIMIT %s",
            waiting.to_compare,
        )
        for is_retried, count in ((True, waiting.failed), (False, waiting.given_up)):
            self.sql(
                "UPDATE candidate SET state = 'failed', record = NULL, batch = gen_random_uuid(), position = 0,"
                " sensitivity = 0, next_try_at = CASE WHEN %s THEN now() END WHERE ctid = ANY (ARRAY("
                "SELECT ctid FROM candidate WHERE state = 'committed' AND created_records <> '{}' LIMIT %s))",
                *(is_retried, count),
            )
        self.sql(
            "INSERT INTO reevaluation (tenant, id, cause, queued_at, next_try_at, attempts)"
            " SELECT tenant, id, id, now(), now(), 0 FROM record LIMIT %s",
            waiting.reevaluations,
        )
        self.sql(
            "UPDATE episode SET closes_at = now() - interval '1 hour' WHERE closed_at IS NULL AND ctid = ANY ("
            " ARRAY(SELECT ctid FROM episode WHERE closed_at IS NULL LIMIT %s))",
            waiting.due,
        )
        self.sql(
            "INSERT INTO job_set_aside (job, tenant, id, error, attempts, since, next_try_at)"
            " SELECT 'prune', 1, gen_random_uuid(), 'ValueError', 1, now(), now() FROM generate_series(1, %s)",
            waiting.set_aside,
        )
        self.sql(
            "INSERT INTO sync_dead_letter (consumer, tenant, kind, id, version, error, tries, next_try)"
            " SELECT %s, 1, 1, gen_random_uuid(), 1, 'refused', 1, now() FROM generate_series(1, %s)",
            *(CONSUMER, waiting.dead_letters),
        )
        for alive_s, count in ((60, waiting.workers), (-60, 2)):
            self.sql(
                "INSERT INTO sync_worker (consumer, owner, alive_until, followed_at)"
                " SELECT %s, format('worker %%s of %%s', n, alive), now() + make_interval(secs => alive),"
                " now() - interval '10 seconds' FROM generate_series(1, %s) n, (SELECT %s::integer AS alive) a",
                *(CONSUMER, count, alive_s),
            )
        await self.leases.register(dict.fromkeys(JOBS, 0.0))
        for _ in range(waiting.failures):
            assert await self.leases.claim("prune", longest_pause_s=600.0, forced=True) is not None
            await self.leases.fail("prune", "ValueError", pause_s=600.0)
        assert await self.leases.claim("reevaluate", longest_pause_s=600.0, forced=True) is not None


small = st.integers(0, 3)


@pytest.fixture
def counted(memory: Memory, database_url: str) -> Counted:
    return Counted(memory, database_url)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    waiting=st.builds(
        Waiting,
        failed=small,
        given_up=small,
        reevaluations=small,
        due=small,
        to_link=small,
        unlearned=small,
        to_compare=small,
        set_aside=small,
        dead_letters=small,
        workers=small,
        failures=small,
        late=small,
    )
)
async def test_what_waits_is_counted_as_the_tables_have_it(counted: Counted, waiting: Waiting) -> None:
    await counted.arrange(waiting)
    found = await counted.metrics()
    assert found["queue_depth"] == {
        ("failed_captures",): waiting.failed,
        ("given_up_captures",): waiting.given_up,
        ("reevaluations",): waiting.reevaluations,
        ("texts_to_read",): 0,
        ("due_episodes",): waiting.due,
        ("entities_to_link",): waiting.to_link,
        ("unlearned_episodes",): waiting.unlearned,
        ("records_to_compare",): waiting.to_compare,
    }
    assert found["job_set_aside"] == {("prune",): waiting.set_aside, ("reevaluate",): 0}
    assert found["job_failures"] == {("prune",): waiting.failures, ("reevaluate",): 0}
    assert found["job_failed_runs_total"] == {("prune",): waiting.failures, ("reevaluate",): 0}
    assert found["job_running"] == {("prune",): 0, ("reevaluate",): 1}
    assert found["job_overdue_seconds"][("reevaluate",)] == 0
    is_due = not waiting.failures  # registered, and never run
    assert (found["job_overdue_seconds"][("prune",)] > 0) is is_due
    assert found["feed_dead_letters"] == {(CONSUMER,): waiting.dead_letters}
    assert found["mirror_workers"] == {(): waiting.workers}
    if waiting.workers:
        assert 10 <= found["mirror_followed_age_seconds"][()] < 60
    unread = counted.number(
        "SELECT count(*) FROM sync_log l, (SELECT min(snapshot) AS id FROM sync_cursor WHERE consumer = %s) c"
        " JOIN sync_snapshot s USING (id) WHERE NOT pg_visible_in_snapshot(l.xid, s.snap)",
        CONSUMER,
    )
    assert found["feed_lag_changes"] == {(CONSUMER,): unread}
    assert (unread > 0) >= (waiting.late > 0)
    assert (found["feed_lag_seconds"][(CONSUMER,)] > 0) is (unread > 0)


async def test_the_census_is_that_of_the_records(counted: Counted) -> None:
    memory = counted.memory
    for number in range(5):
        await memory.turn(f"remark {number}")
    for city in ("Rome", "Oslo"):
        await memory.observe("Ann", "lives_in", city)
    census = TakeCensus(resources_of(memory), TakeCensusConfig(interval_s=0, rest=0))
    while (await census.run_once(memory.clock.now())).more:
        pass
    found = await counted.metrics()
    assert sum(found["records"].values()) == counted.number("SELECT count(*) FROM record")
    for state, numbers in (("active", [1]), ("contested", [2]), ("past", [3, 4])):
        of_state = sum(value for (_, own), value in found["records"].items() if own == state)
        assert of_state == counted.number("SELECT count(*) FROM record WHERE state = ANY(%s)", numbers), state
    current = counted.number("SELECT count(*) FROM record WHERE state <= 2")
    assert sum(found["salience_records"].values()) == current
    (pinned,) = counted.sql("SELECT count(*) FROM record JOIN salience USING (tenant, id) WHERE pinned AND state <= 2")
    assert found["pinned_records"][()] == pinned[0]
    assert found["audit_entries"][()] == counted.number("SELECT count(*) FROM record JOIN audit USING (tenant, id)")
    mean = counted.number("SELECT avg(confidence) FROM record WHERE state <= 2")
    assert found["mean_confidence"][()] == pytest.approx(mean)


async def test_connections_and_slots_are_those_that_are_held(counted: Counted) -> None:
    database = counted.memory.database
    metrics = Metrics(database, counted.measurements(), None, lambda: False)
    clients = OpenConnections(ConnectionLimits())
    metrics.follow_connections(clients)

    class Client:
        def give_way(self) -> None:
            raise AssertionError("there is room")

    for one in (Client(), Client(), Client()):
        assert clients.admit(one, "127.0.0.1", 0.0)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(database.background(Role.FEED))
        await stack.enter_async_context(database.autonomous())
        await stack.enter_async_context(database.slots.hold("party", share=2))
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in metrics.of_process()
            for sample in family.samples
        }
    for pool, used in (("background", 2), ("autonomous", 1), ("callers", 0)):
        assert found["stratagraph_pool_connections", pool, "in_use"] == used
        assert found["stratagraph_pool_connections", pool, "waiting"] == 0
    assert found["stratagraph_slots", "database connections", "in_use"] == 1
    assert found["stratagraph_open_connections",] == 3
    assert found["stratagraph_ready",] == 0


async def test_a_measurement_that_hangs_is_left_out_and_not_shown_as_that_of_now(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    measurements = counted.measurements()
    before = await counted.metrics(measurements)
    assert before["up"][("database",)] == 1
    assert "queue_depth" in before
    monkeypatch.setattr("stratagraph.service.measuring.PATIENCE_S", 0.01)

    async def hang() -> Any:
        await asyncio.Event().wait()

    for name in ("database", "queues", "jobs", "mirror"):
        gauge: Gauge[Any] = getattr(measurements, name)
        gauge._read = hang
        gauge._since -= STALE_S + 1
    after = await counted.metrics(measurements)
    assert after["up"][("database",)] == 0
    assert after["database_state"][("unreachable",)] == 1
    assert after["measured_age_seconds"][("database",)] > STALE_S
    left_out = {"queue_depth", "mirror_workers", "mirror_building", "clock_ahead_seconds"}
    assert left_out <= before.keys()
    assert not left_out & after.keys()
    for name in ("database", "queues", "jobs", "mirror"):
        task = getattr(measurements, name)._task
        task.cancel()
        await asyncio.wait({task})
