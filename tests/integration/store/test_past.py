"""Reads as of a past instant: exact to the transaction, limited by the past and the present scope and sensitivity.

See docs/specification.md, History.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import NOON, Memory, trust_of, until
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.settling import LEEWAY, past_instant, settle
from stratagraph.store.model.clock import RESOLUTION, SystemClock
from stratagraph.store.model.enums import Curve, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import WRITERS, Role
from stratagraph.store.postgres.schema.tables import lifecycle_history
from stratagraph.store.records.past import Moment, Past

# Commits of this actor wait for a lock that the test holds, which makes slow writers without a sleep.
HOLD = 4711
SLOW_COMMIT = f"""
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NEW.actor = 'slow' THEN PERFORM pg_advisory_xact_lock({HOLD}); END IF; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();
"""
SLOW = trust_of(actor="slow")


@asynccontextmanager
async def past(memory: Memory, trust: Trust | None = None) -> AsyncIterator[Past]:
    caller = await memory.directory.resolve(trust or memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        yield Past(connection, memory.directory, caller)


async def at(memory: Memory, id_: UUID, instant: datetime, trust: Trust | None = None) -> MemoryRecord | None:
    async with past(memory, trust) as reader:
        return (await reader.records([Moment(id_, instant)])).get(Moment(id_, instant))


@asynccontextmanager
async def held_commits(memory: Memory) -> AsyncIterator[AsyncConnection]:
    """Make commits by `slow` wait until this block ends or releases the lock."""
    async with memory.database.engine.begin() as connection:
        for statement in SLOW_COMMIT.strip().split(";\nCREATE CONSTRAINT"):
            await connection.exec_driver_sql(
                statement if statement.startswith("CREATE FUNCTION") else f"CREATE CONSTRAINT{statement}"
            )
    async with memory.database.engine.connect() as connection:
        await connection.exec_driver_sql(f"SELECT pg_advisory_lock({HOLD})")
        await connection.rollback()  # the lock belongs to the session, not to the transaction
        try:
            yield connection
        finally:
            await connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
            await connection.rollback()


async def waits_at_commit(memory: Memory) -> bool:
    async with memory.database.engine.begin() as connection:
        held = await connection.exec_driver_sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return held.first() is not None


async def test_a_record_has_its_earlier_content_before_a_change_and_is_absent_before_its_creation(
    memory: Memory,
) -> None:
    state: dict[str, Any] = {"thread_id": "t", "state": "planning", "context_summary": "first"}
    first = await memory.remember(SourceKind.WORKING_STATE, state)
    created_at = memory.clock.now()
    memory.clock.forward(timedelta(minutes=10))
    await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": "second", "state": "blocked"})
    changed = memory.clock.now()
    id_ = first.primary.id
    assert await at(memory, id_, created_at - RESOLUTION) is None
    for instant in (created_at, changed - RESOLUTION):
        then = await at(memory, id_, instant)
        assert then is not None
        assert then.payload is not None
        assert (then.payload["context_summary"], then.version, then.updated_at) == ("first", 1, created_at)
    now = await at(memory, id_, changed)
    assert now is not None
    assert now.payload is not None
    assert (now.payload["context_summary"], now.version, now.updated_at) == ("second", 2, changed)
    assert now == await memory.lookup.record(memory.trust, id_)


async def test_past_salience_is_computed_from_the_last_event_before_the_instant(memory: Memory) -> None:
    kept = await memory.observe("Alice", "likes", "tea")
    created_at = memory.clock.now()
    memory.clock.forward(timedelta(days=30))
    await memory.observe("Alice", "likes", "tea")  # again: reinforced
    again = memory.clock.now()
    before = await at(memory, kept.primary.id, again - RESOLUTION)
    after = await at(memory, kept.primary.id, again)
    assert before is not None
    assert before.lifecycle is not None
    assert before.salience == pytest.approx(0.5, abs=1e-5)
    assert (before.lifecycle.t0, before.lifecycle.last_reinforced_at) == (created_at, created_at)
    assert after is not None
    assert after.lifecycle is not None
    assert after.salience == pytest.approx(0.6, abs=1e-5)
    assert (after.lifecycle.t0, after.lifecycle.last_reinforced_at) == (again, again)


async def test_a_record_decays_as_it_did_until_its_lifecycle_changed(memory: Memory) -> None:
    """A half-life of an hour, then of a day, then a pin: each applies to its own interval, to the microsecond."""
    kept = await memory.turn("hello")
    created_at = memory.clock.now()
    slower, pinned = created_at + timedelta(hours=1), created_at + timedelta(hours=25)
    tenant = (await memory.directory.resolve(memory.trust)).tenant.id
    old = {"curve": int(Curve.EXPONENTIAL), "min_salience": 0.0, "reinforcement_gain": 0.1, "deletion_policy": 1}
    async with memory.database.engine.begin() as connection:
        for to_at, half_life_s in ((slower, 3_600.0), (pinned, 86_400.0)):
            await connection.execute(
                lifecycle_history.insert().values(
                    tenant=tenant, id=kept.primary.id, to_at=to_at, half_life_s=half_life_s, pinned=False, **old
                )
            )
        for seq, (instant, value) in enumerate(((slower, 0.5), (pinned, 0.25)), 2):
            await connection.exec_driver_sql(
                "INSERT INTO audit (tenant, id, seq, action, actor, at, salience, hash)"
                " VALUES (%s, %s, %s, 'revise', 'x', %s, %s, sha256(''))",
                (tenant, kept.primary.id, seq, instant, value),
            )
        await connection.exec_driver_sql(
            "UPDATE salience SET s = 0.25, t0 = %s, pinned = true, half_life_s = 86400", (pinned,)
        )
    for instant, half_life_s, is_pinned, value in (
        (slower - RESOLUTION, 3_600.0, False, 0.5),
        (slower, 86_400.0, False, 0.5),
        (pinned - RESOLUTION, 86_400.0, False, 0.25),
        (pinned, 86_400.0, True, 0.25),
        (pinned + timedelta(days=400), 86_400.0, True, 0.25),
    ):
        then = await at(memory, kept.primary.id, instant)
        assert then is not None
        assert then.lifecycle is not None
        assert (then.lifecycle.decay.half_life_s, then.lifecycle.pinned) == (half_life_s, is_pinned)
        assert then.salience == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("then", "now"), [("low", "high"), ("high", "low")])
async def test_the_higher_of_the_past_and_the_present_sensitivity_applies(memory: Memory, then: str, now: str) -> None:
    """A record readable by only one of the two sensitivities is absent, not redacted, even at one level above."""
    kept = await memory.remember(
        SourceKind.WORKING_STATE,
        {"thread_id": "t", "state": "planning"},
        sensitivity=Sensitivity.parse(then, path=["then"]),
    )
    created_at = memory.clock.now()
    memory.clock.forward(timedelta(hours=1))
    await keep_version(memory, kept.primary.id, memory.clock.now())
    await memory.rows("UPDATE record SET sensitivity = :level", level=int(Sensitivity.parse(now, path=["now"])))
    for ceiling in (Sensitivity.LOW, Sensitivity.MEDIUM):
        caller = trust_of(ceiling=ceiling)
        assert await at(memory, kept.primary.id, created_at, caller) is None
        async with past(memory, caller) as reader:
            versions = await reader.versions(kept.primary.id, now=memory.clock.now(), first=10, before=None)
        assert [version.record.sensitivity for version in versions] == ([Sensitivity.LOW] if now == "low" else [])
    whole = await at(memory, kept.primary.id, created_at, trust_of(ceiling=Sensitivity.HIGH))
    assert whole is not None
    assert (whole.sensitivity.label, whole.redacted) == (then, False)
    assert whole.payload is not None  # sealed or not
    assert whole.payload["state"] == "planning"


@pytest.mark.parametrize(("then", "now"), [("project:a", "project:b"), ("project:b", "project:a")])
async def test_the_caller_needs_the_past_and_the_present_scope_of_a_record(memory: Memory, then: str, now: str) -> None:
    kept = await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": "planning"}, scope=then)
    await memory.turn("so that the scope exists", scope=now)
    created_at = memory.clock.now()
    memory.clock.forward(timedelta(hours=1))
    await keep_version(memory, kept.primary.id, memory.clock.now())
    await memory.rows(
        "UPDATE record SET scope = (SELECT id FROM scope WHERE name = :now) WHERE id = :id",
        now=now,
        id=kept.primary.id,
    )
    for scopes, seen in (({then}, False), ({now}, False), ({then, now}, True)):
        assert (await at(memory, kept.primary.id, created_at, trust_of(scopes=scopes)) is not None) is seen


async def keep_version(memory: Memory, id_: UUID, instant: datetime) -> None:
    """Copy the record's current version to the history, as a writer does before a change at `instant`."""
    await memory.rows(
        "WITH kept AS (INSERT INTO record_history (tenant, id, row_version, from_at, to_at, type, scope, sensitivity,"
        " state, confidence, tags, name, text, payload, provenance, interpretation, sealed, occurred_at, version,"
        " terms, impacts)"
        " SELECT tenant, id, row_version, updated_at, :at, type, scope, sensitivity, state, confidence, tags, name,"
        " text, payload, provenance, interpretation, sealed, occurred_at, version, terms, impacts FROM record"
        " WHERE id = :id)"
        " UPDATE record SET updated_at = :at, row_version = row_version + 1 WHERE id = :id",
        at=instant,
        id=id_,
    )


async def test_past_relations_are_those_that_existed_at_the_instant(memory: Memory) -> None:
    fact = await memory.observe("Alice", "works_at", "Acme")
    created_at = memory.clock.now()
    edges = {edge.id: edge for edge in fact.edges}
    ended = next(edge for edge in fact.edges if edge.predicate == "object_entity")
    closed = created_at + timedelta(minutes=5)
    await memory.rows("UPDATE relation SET ended_at = :at WHERE id = :id", at=closed, id=ended.id)
    moments = [
        Moment(fact.primary.id, instant)
        for instant in (created_at - RESOLUTION, created_at, closed - RESOLUTION, closed)
    ]
    async with past(memory) as reader:
        found = await reader.relations_of(moments, limit=10)
        by_id = {moment: await reader.relations(list(edges), at=moment.at) for moment in moments}
    for moment, wanted in zip(moments, (set(), set(edges), set(edges), set(edges) - {ended.id}), strict=True):
        assert {relation.id for relation in found[moment]} == wanted
        assert {relation.id for relation in by_id[moment]} == wanted
        assert all(relation == edges[relation.id] for relation in found[moment])


async def test_both_ends_of_a_relation_must_be_readable_in_full(memory: Memory) -> None:
    fact = await memory.observe("Alice", "works_at", "Acme")
    created_at = memory.clock.now()
    end = next(edge.target for edge in fact.edges if edge.predicate == "object_entity")
    await keep_version(memory, end, created_at + timedelta(minutes=1))
    caller = trust_of(ceiling=Sensitivity.LOW)

    async def predicates() -> tuple[set[str], set[str]]:
        moment = Moment(fact.primary.id, created_at)
        async with past(memory, caller) as reader:
            near = (await reader.relations_of([moment], limit=10))[moment]
            named = await reader.relations([edge.id for edge in fact.edges], at=created_at)
        return {relation.predicate for relation in near}, {relation.predicate for relation in named}

    both = {"subject_entity", "object_entity"}
    assert await predicates() == (both, both)
    await memory.rows("UPDATE record SET sensitivity = 2 WHERE id = :id", id=end)  # redacted now
    assert await predicates() == ({"subject_entity"}, {"subject_entity"})
    await memory.rows("UPDATE record SET sensitivity = 0 WHERE id = :id", id=end)
    assert await predicates() == (both, both)
    await memory.rows("UPDATE record_history SET sensitivity = 2 WHERE id = :id", id=end)  # redacted then
    assert await predicates() == ({"subject_entity"}, {"subject_entity"})


async def test_versions_cover_time_without_gaps_and_are_paged(memory: Memory) -> None:
    state: dict[str, Any] = {"thread_id": "t", "state": "planning"}
    id_ = (await memory.remember(SourceKind.WORKING_STATE, state)).primary.id
    created_at = memory.clock.now()
    for number in range(6):
        await memory.remember(SourceKind.WORKING_STATE, state | {"context_summary": f"summary {number}"})
    async with past(memory) as reader:
        whole = await reader.versions(id_, now=memory.clock.now(), first=100, before=None)
        page = await reader.versions(id_, now=memory.clock.now(), first=3, before=whole[2].number)
    assert [version.record.version for version in whole] == [7, 6, 5, 4, 3, 2, 1]
    assert whole[0].valid_to is None
    assert [version.valid_to for version in whole[1:]] == [version.valid_from for version in whole[:-1]]
    assert whole[-1].valid_from == created_at
    assert [version.number for version in page] == [version.number for version in whole[3:6]]
    for version in whole:
        last = version.valid_to - RESOLUTION if version.valid_to is not None else memory.clock.now()
        assert version.record == await at(memory, id_, last)


async def tenant_of(memory: Memory) -> int:
    return (await memory.directory.resolve(memory.trust)).tenant.id


async def begin_writing(connection: AsyncConnection, tenant: int) -> None:
    """Receive a transaction id as a writer of the tenant does."""
    await connection.exec_driver_sql("SELECT pg_advisory_xact_lock_shared(%s, %s)", (WRITERS, tenant))
    await connection.exec_driver_sql("SELECT pg_current_xact_id()")


async def test_an_old_instant_is_read_without_waiting_for_current_writers(memory: Memory) -> None:
    """Transactions that began after the snapshot of the instant are not waited for."""
    memory.clock.at = SystemClock().now()
    await memory.turn("long ago")
    await Feed(memory.database, "test").take_snapshot()
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE sync_snapshot SET at = at - interval '1 hour'")
    async with memory.database.engine.begin() as writer:
        await begin_writing(writer, await tenant_of(memory))
        began = time.monotonic()
        await settle(memory.database, await tenant_of(memory), SystemClock().now() - timedelta(hours=2), within_s=0.0)
        assert time.monotonic() - began < 1.0
        with pytest.raises(StoreUnavailable):
            await settle(memory.database, await tenant_of(memory), SystemClock().now(), within_s=0.0)


async def test_a_transaction_that_only_reads_is_not_waited_for(memory: Memory) -> None:
    await memory.turn("hello")
    async with memory.database.engine.begin() as reader:
        await reader.exec_driver_sql("SELECT count(*) FROM record")
        await settle(memory.database, await tenant_of(memory), SystemClock().now(), within_s=0.0)


async def test_a_writer_with_the_highest_transaction_id_is_waited_for(memory: Memory) -> None:
    """Its transaction id is not below the xmax of the stored snapshot, although it began before the instant."""
    memory.clock.at = SystemClock().now()
    await memory.turn("hello")
    instant = SystemClock().now()
    async with memory.database.engine.begin() as writer:
        await begin_writing(writer, await tenant_of(memory))
        await Feed(memory.database, "test").take_snapshot()
        async with memory.database.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE sync_snapshot SET at = %s", (instant + timedelta(hours=1),))
        with pytest.raises(StoreUnavailable):
            await settle(memory.database, await tenant_of(memory), instant, within_s=0.0)
    await settle(memory.database, await tenant_of(memory), instant, within_s=0.0)


async def test_a_snapshot_within_the_leeway_of_clocks_is_not_used(memory: Memory) -> None:
    memory.clock.at = SystemClock().now()
    await memory.turn("hello")
    await Feed(memory.database, "test").take_snapshot()
    instant = SystemClock().now()
    for later, waits in ((LEEWAY - RESOLUTION, True), (LEEWAY, False)):
        async with memory.database.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE sync_snapshot SET at = %s", (instant + later,))
        async with memory.database.engine.begin() as writer:
            await begin_writing(writer, await tenant_of(memory))
            if waits:
                with pytest.raises(StoreUnavailable):
                    await settle(memory.database, await tenant_of(memory), instant, within_s=0.0)
            else:
                await settle(memory.database, await tenant_of(memory), instant, within_s=0.0)


async def test_only_writers_of_the_tenant_and_background_work_across_tenants_are_waited_for(memory: Memory) -> None:
    memory.clock.at = SystemClock().now()
    await memory.turn("hello")
    own = await tenant_of(memory)
    other = replace(memory.trust, tenant="other")
    await memory.turn("hello", trust=other)
    bounds = (await memory.directory.resolve(other)).bounds
    async with memory.database.writing(bounds) as connection:
        await connection.exec_driver_sql("SELECT pg_current_xact_id()")
        await settle(memory.database, own, SystemClock().now(), within_s=0.0)
        with pytest.raises(StoreUnavailable):
            await settle(memory.database, bounds.tenant, SystemClock().now(), within_s=0.0)
    for role, tenant, waits in (
        (Role.JOBS, None, True),
        (Role.ERASE, None, True),
        (Role.ERASE, bounds.tenant, False),
        (Role.ERASE, own, True),
        (Role.FEED, None, False),
    ):
        async with memory.database.background(role, tenant=tenant) as connection:
            await connection.exec_driver_sql("SELECT pg_current_xact_id()")
            if waits:
                with pytest.raises(StoreUnavailable):
                    await settle(memory.database, own, SystemClock().now(), within_s=0.0)
            else:
                await settle(memory.database, own, SystemClock().now(), within_s=0.0)
    await settle(memory.database, own, SystemClock().now(), within_s=0.0)


async def test_a_write_in_progress_is_waited_for_and_included(memory: Memory) -> None:
    memory.clock.at = SystemClock().now()
    async with held_commits(memory) as holder:
        writing = asyncio.create_task(memory.turn("the slow one", trust=SLOW))
        await until(lambda: waits_at_commit(memory))
        written_at = memory.clock.now()
        memory.clock.forward(timedelta(seconds=1))
        reading = asyncio.create_task(
            memory.lookup.records(memory.trust)  # the present does not include the open write
        )
        assert (await reading).records == ()
        own = await tenant_of(memory)
        settling = asyncio.create_task(
            settle(memory.database, own, written_at + timedelta(milliseconds=1), within_s=30)
        )
        attempts = iter(range(10))
        await until(lambda: _exhausted(attempts))  # long enough for several attempts
        assert not settling.done()
        assert not writing.done()
        await holder.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        await settling
        kept = (await writing).primary
    assert kept.created_at == written_at
    found = await memory.lookup.record(memory.trust, kept.id, as_of=written_at + timedelta(milliseconds=1))
    assert found is not None
    assert found.text == kept.text


async def _exhausted(rounds: Iterator[int]) -> bool:
    return next(rounds, None) is None


async def test_a_writer_that_never_commits_is_reported_at_the_deadline(memory: Memory) -> None:
    memory.clock.at = SystemClock().now()
    kept = await memory.turn("before")
    async with held_commits(memory) as holder:
        writing = asyncio.create_task(memory.turn("the stuck one", trust=SLOW))
        await until(lambda: waits_at_commit(memory))
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="earlier instant") as caught:
            await memory.lookup.record(memory.trust, kept.primary.id, as_of=memory.clock.now())
        assert 1.5 < time.monotonic() - began < 4.0
        assert caught.value.path == ["asOf"]
        assert caught.value.retryable
        await holder.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        await writing
    assert await memory.lookup.record(memory.trust, kept.primary.id, as_of=memory.clock.now()) is not None


def test_an_instant_in_the_future_or_without_an_offset_is_refused() -> None:
    assert past_instant(NOON, now=NOON) == NOON
    for wrong in (NOON + RESOLUTION, NOON.replace(tzinfo=None)):
        with pytest.raises(InvalidInput) as caught:
            past_instant(wrong, now=NOON)
        assert caught.value.path == ["asOf"]


async def test_a_record_that_never_existed_has_no_past(memory: Memory) -> None:
    await memory.turn("hello")
    assert await at(memory, uuid4(), memory.clock.now()) is None
    async with past(memory) as reader:
        assert await reader.versions(uuid4(), now=memory.clock.now(), first=10, before=None) == []
        assert await reader.records([]) == {}
