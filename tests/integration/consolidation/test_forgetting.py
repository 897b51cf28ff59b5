"""Forgetting: due records are pruned, records still needed are kept, and tombstones block re-creation
(docs/specification.md, Forgetting and erasing).
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import resources_of, server_of
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.consolidation.jobs.prune import Prune, PruneConfig
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.records.forgetting import Forgetting, Preview
from stratagraph.memory.revise.request import Reinforce, Retract
from stratagraph.store.erasure import pruning
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED, Pruned, lock_due, prune_due, schedule_learned
from stratagraph.store.feed.changes import Kind
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.learning.episodes import fetch_due_episodes, mark_learned
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, Misconfigured
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import PRUNE_BELOW, pinned
from stratagraph.store.postgres.database import Role
from stratagraph.store.records.entities import name_key
from stratagraph.store.records.fact_keys import FactEntities, fact_keys
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.salience_rows import write_salience
from stratagraph.store.records.tombstones import (
    Cause,
    blocked_derivations,
    derivation_key,
    insert_tombstones,
    prepare_tombstones,
)

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FADED = timedelta(hours=11)  # ten half-lives of one hour bring an event's salience below the threshold
YEAR = timedelta(days=365)  # a fact's or an entity's salience is below the threshold after 300 days


async def ids(memory: Memory) -> set[UUID]:
    return {row["id"] for row in await memory.rows("SELECT id FROM record")}


async def tenant_of(memory: Memory) -> Tenant:
    found = await memory.directory.tenant("acme")
    assert found is not None
    return found


async def prune(memory: Memory, *, limit: int = 100) -> Pruned:
    """Prune batch by batch until nothing is due; return the summed counts."""
    pruned = postponed = relations = 0
    while True:
        async with memory.database.background(Role.ERASE) as connection:
            batch = await prune_due(connection, memory.directory, now=memory.clock.now(), limit=limit)
        if batch.is_done:
            return Pruned(pruned=pruned, postponed=postponed, relations=relations)
        pruned, postponed = pruned + batch.pruned, postponed + batch.postponed
        relations += batch.relations


async def learn(memory: Memory) -> int:
    """Mark every closed episode as learned, as a run of learning does; return the number newly marked."""
    tenant = await tenant_of(memory)
    marked = 0
    async with memory.database.background(Role.JOBS) as connection:
        for row in await memory.rows("SELECT scope, sensitivity FROM episode GROUP BY scope, sensitivity"):
            group = Group(tenant.id, row["scope"], Sensitivity(row["sensitivity"]))
            later = memory.clock.now() + DAY
            due = await fetch_due_episodes(connection, group, stages=["test"], now=later, limit=1_000)
            at, every = memory.clock.now(), ["test"]
            done = await mark_learned(
                connection, tenant.id, due, run_id=new_id(), stages=every, all_stages=every, at=at
            )
            assert done is not None
            await schedule_learned(connection, tenant.id, done, at=memory.clock.now())
            marked += len(done)
    return marked


async def close_silent(memory: Memory) -> None:
    """Close the open episodes, as the job does after 30 minutes of silence."""
    memory.clock.forward(HOUR)
    await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())


async def preview(memory: Memory, until: datetime, **more: Any) -> Preview:
    service = Forgetting(memory.database, memory.directory, memory.clock)
    return await service.preview(more.pop("trust", memory.trust), until, **more)


def with_policy(memory: Memory, path: Path, **rule: Any) -> Memory:
    path.write_text(json.dumps({"rules": [{"when": {}, "set": rule}]}))
    return replace(memory, capture=Capture(memory.database, memory.directory, memory.clock, Policy.load(path)))


async def relate(memory: Memory, source: UUID, target: UUID) -> None:
    tenant = await tenant_of(memory)
    numbers = await memory.directory.predicates(tenant, ["uses"])
    await memory.rows(
        "INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version)"
        " VALUES (:tenant, gen_random_uuid(), :source, :target, :predicate, 1, now(), 1) RETURNING id",
        tenant=tenant.id,
        source=source,
        target=target,
        predicate=numbers["uses"],
    )


async def test_a_record_is_pruned_at_its_due_instant_and_not_before(memory: Memory) -> None:
    kept = (await memory.turn("a passing remark")).primary
    assert kept.lifecycle is not None
    due = kept.lifecycle.due_at()
    assert due is not None
    assert due == await memory.value("SELECT due_at FROM salience")
    memory.clock.at = due - timedelta(milliseconds=1)
    assert (await prune(memory)).pruned == 0
    memory.clock.at = due
    assert kept.lifecycle.at(due) < PRUNE_BELOW
    assert (await prune(memory)).pruned == 1
    assert await ids(memory) == set()


async def test_pruning_leaves_only_a_tombstone_an_audit_entry_and_a_feed_entry(memory: Memory) -> None:
    kept = (await memory.turn("a passing remark", scope="project:x", sensitivity=Sensitivity.MEDIUM)).primary
    version = await memory.value("SELECT row_version FROM record")
    memory.clock.forward(FADED)
    await prune(memory)
    for table in ("record", "record_history", "salience", "relation", "episode", "episode_event", "entity_term"):
        assert await memory.value(f"SELECT count(*) FROM {table}") == 0, table  # noqa: S608
    (tombstone,) = await memory.rows("SELECT t.*, s.name FROM tombstone t JOIN scope s ON s.id = t.scope")
    kept_of_it = {"id": kept.id, "type": 1, "name": "project:x", "sensitivity": 2, "key_hash": None}
    assert kept_of_it | {"cause": Cause.PRUNED, "at": memory.clock.now()} == {
        name: tombstone[name] for name in (*kept_of_it, "cause", "at")
    }
    audit = await memory.rows(
        "SELECT a.*, n.rationale FROM audit a LEFT JOIN audit_note n USING (tenant, id, seq) ORDER BY seq"
    )
    assert [(row["action"], row["actor"]) for row in audit] == [("create", "tester"), ("delete", "housekeeping")]
    assert audit[-1]["rationale"] == "pruned: salience fell below 0.001"
    logged = (await memory.rows("SELECT kind, id, version, op FROM sync_log ORDER BY seq DESC LIMIT 1"))[0]
    assert tuple(logged.values()) == (Kind.RECORD, kept.id, version + 1, "D")


async def test_the_feed_reports_every_relation_deleted_with_its_record(memory: Memory) -> None:
    first, second, third = [(await memory.turn(f"remark {number}")).primary.id for number in range(3)]
    await relate(memory, first, second)
    await relate(memory, third, first)
    await memory.turn("still fresh")
    relations = {row["id"] for row in await memory.rows("SELECT id FROM relation")}
    memory.clock.forward(FADED)
    fresh = (await memory.turn("fresh")).primary.id
    assert await prune(memory, limit=1) == Pruned(pruned=4, relations=2)
    deleted = await memory.rows("SELECT id, version FROM sync_log WHERE kind = 2 AND op = 'D'")
    assert {(row["id"], row["version"]) for row in deleted} == {(id_, 2) for id_ in relations}
    assert await ids(memory) == {fresh}


@pytest.mark.parametrize(
    "rule", [{"deletion_policy": "manual_only"}, {"deletion_policy": "never"}, {"min_salience": 0.001}]
)
async def test_a_record_protected_by_its_policy_is_not_pruned(
    memory: Memory, tmp_path: Path, rule: dict[str, Any]
) -> None:
    kept = (await with_policy(memory, tmp_path / "policy.json", **rule).turn("not by itself")).primary.id
    memory.clock.forward(20 * YEAR)
    assert (await prune(memory)).is_done
    assert await ids(memory) == {kept}


async def test_a_pinned_record_is_pruned_only_after_it_is_unpinned_and_has_faded(memory: Memory) -> None:
    kept = (await memory.turn("held")).primary
    assert kept.lifecycle is not None
    tenant = await tenant_of(memory)
    held = pinned(kept.lifecycle, True, memory.clock.now())
    async with memory.database.writing((await memory.directory.resolve(memory.trust)).bounds) as connection:
        await write_salience(connection, tenant, [(kept.id, held)])
    memory.clock.forward(YEAR)
    assert (await prune(memory)).is_done
    async with memory.database.writing((await memory.directory.resolve(memory.trust)).bounds) as connection:
        await write_salience(connection, tenant, [(kept.id, pinned(held, False, memory.clock.now()))])
    assert (await prune(memory)).is_done
    memory.clock.forward(FADED)
    assert (await prune(memory)).pruned == 1


@pytest.mark.parametrize(
    ("rule", "after"),
    [
        ({"curve": "linear", "half_life_seconds": 3600}, 2 * HOUR),
        ({"max_age_seconds": 60, "min_salience": 0.5}, timedelta(minutes=1)),
        (
            {"curve": "custom", "half_life_seconds": 3600, "params": {"name": "power_law", "beta": 3}},
            9 * HOUR + timedelta(seconds=1),
        ),
    ],
)
async def test_a_policy_rule_sets_the_decay_curve_of_a_record(
    memory: Memory, tmp_path: Path, rule: dict[str, Any], after: timedelta
) -> None:
    await with_policy(memory, tmp_path / "policy.json", **rule).turn("fades by a rule")
    memory.clock.forward(after - timedelta(seconds=20))
    assert (await prune(memory)).is_done
    memory.clock.forward(timedelta(seconds=21))
    assert (await prune(memory)).pruned == 1


async def test_an_episode_and_its_members_are_kept_until_learned(memory: Memory) -> None:
    for number in range(3):
        await memory.turn(f"step {number}", thread="t1")
    await memory.turn("a passing remark")
    assert len(await ids(memory)) == 5
    memory.clock.forward(FADED)
    assert await learn(memory) == 0  # still open
    assert await prune(memory) == Pruned(pruned=1, postponed=4)
    assert (await prune(memory)).is_done  # postponed rows are not read again
    closes_at = await memory.value("SELECT closes_at FROM episode")
    assert await memory.value("SELECT min(check_at) FROM salience") == closes_at + KEEP_UNLEARNED
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "success"})
    assert await learn(memory) == 1
    assert await learn(memory) == 0
    pruned = await prune(memory, limit=2)
    assert (pruned.pruned, pruned.postponed) == (4, 0)
    assert await ids(memory) == set()


async def test_what_learning_has_not_read_is_kept_for_90_days_at_most_and_pruned_with_a_warning(
    memory: Memory,
) -> None:
    await memory.turn("never learned", thread="t1")
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "success"})
    closed_at = await memory.value("SELECT closed_at FROM episode")
    memory.clock.forward(FADED)
    job = Prune(resources_of(memory))
    assert (await job.run_once(memory.clock.now())).counts["records_pruned"] == 0
    until = closed_at + KEEP_UNLEARNED
    assert all(item.awaits_learning for item in (await preview(memory, until - timedelta(microseconds=1))).items)
    assert (await preview(memory, until)).total == 2
    memory.clock.forward(until - memory.clock.now() - timedelta(microseconds=1))
    assert (await job.run_once(memory.clock.now())).counts["records_pruned"] == 0
    memory.clock.forward(timedelta(microseconds=1))
    done = (await job.run_once(memory.clock.now())).counts
    assert (done["records_pruned"], done["pruned_unlearned"]) == (2, 2)
    assert await ids(memory) == set()


async def test_a_record_learned_before_its_due_instant_is_pruned_when_due(memory: Memory) -> None:
    await memory.turn("step", thread="t1")
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "success"})
    assert await learn(memory) == 1
    assert (await prune(memory)).is_done
    memory.clock.forward(FADED)
    assert (await prune(memory)).pruned == 2


async def test_learning_makes_only_faded_records_due(memory: Memory, tmp_path: Path) -> None:
    await memory.turn("faded", thread="t1")
    kept = (await with_policy(memory, tmp_path / "p.json", min_salience=0.5).turn("kept", thread="t1")).primary.id
    memory.clock.forward(FADED)
    await prune(memory)
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "failure"})
    await learn(memory)
    await prune(memory)
    assert await ids(memory) == {kept}


async def test_a_locked_episode_is_neither_pruned_nor_postponed(memory: Memory) -> None:
    await memory.turn("step", thread="t1")
    memory.clock.forward(FADED)
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("SELECT id FROM episode FOR UPDATE"))
        assert (await prune(memory)).is_done
    assert (await prune(memory)).postponed == 2


async def test_an_entity_is_kept_while_a_current_record_refers_to_it(memory: Memory) -> None:
    fact = await memory.observe("Alice", "likes", 7)
    alice = next(edge.target for edge in fact.edges if edge.predicate == "subject_entity")
    memory.clock.forward(200 * DAY)
    again = await memory.observe("Alice", "likes", 7)
    assert again.primary.id == fact.primary.id
    memory.clock.forward(120 * DAY)  # the entity has faded, the fact was reinforced
    assert await prune(memory) == Pruned(postponed=1)
    assert (await prune(memory)).is_done
    assert alice in await ids(memory)
    memory.clock.forward(YEAR)
    assert (await prune(memory)).pruned == 2
    assert await ids(memory) == set()


async def test_an_entity_referred_to_only_by_superseded_records_is_pruned(memory: Memory) -> None:
    old = await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    alice = next(edge.target for edge in old.edges if edge.predicate == "subject_entity")
    await memory.rows("UPDATE record SET state = 4 WHERE type = 4 RETURNING id")
    await memory.rows("UPDATE salience SET s = 0, due_at = t0 WHERE id = :id RETURNING id", id=alice)
    assert (await prune(memory)).pruned == 1
    assert alice not in await ids(memory)
    assert old.primary.id in await ids(memory)


async def test_entities_that_refer_only_to_each_other_are_pruned_together(memory: Memory) -> None:
    one, two, three = [await memory.entity(name) for name in ("One", "Two", "Three")]
    for source, target in ((one, two), (two, three), (three, one)):
        await relate(memory, source, target)
    memory.clock.forward(150 * DAY)
    late = await memory.entity("Late")
    await relate(memory, late, one)
    memory.clock.forward(151 * DAY)
    held = await prune(memory)
    assert (held.pruned, held.postponed) == (0, 3)
    assert (await prune(memory)).is_done
    memory.clock.forward(2 * YEAR)
    assert (await prune(memory)).pruned == 4


async def test_a_postponed_entity_is_checked_at_growing_intervals_of_at_most_64_days(
    memory: Memory, tmp_path: Path
) -> None:
    ruled = with_policy(memory, tmp_path / "policy.json", deletion_policy="manual_only")
    fact = (await ruled.observe("Alice", "likes", 7)).primary.id
    await memory.rows("UPDATE salience SET deletion_policy = 1, due_at = t0 WHERE id <> :id RETURNING id", id=fact)
    memory.clock.forward(301 * DAY)
    gaps = []
    for _ in range(12):
        assert (await prune(memory)).postponed == 1
        before = memory.clock.now()
        memory.clock.at = await memory.value("SELECT check_at FROM salience WHERE deletion_policy = 1")
        gaps.append(memory.clock.at - before)
    assert timedelta(0) < gaps[0] <= 2 * DAY
    assert gaps[-1] == 64 * DAY == max(gaps)
    assert len(await ids(memory)) == 2


async def test_a_superseded_record_is_kept_as_history_until_it_would_have_faded(memory: Memory) -> None:
    old = (await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")).primary.id
    new = (await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")).primary.id
    await prune(memory)
    memory.clock.forward(290 * DAY)
    await prune(memory)
    assert {old, new} <= await ids(memory)
    memory.clock.forward(20 * DAY)
    await prune(memory)
    assert not {old, new} & await ids(memory)


async def test_a_record_is_not_pruned_by_a_stale_due_instant(memory: Memory) -> None:
    kept = (await memory.turn("still wanted")).primary.id
    await memory.rows("UPDATE salience SET due_at = t0 RETURNING id")
    assert await prune(memory) == Pruned(postponed=1)
    assert await ids(memory) == {kept}
    memory.clock.forward(FADED)
    assert (await prune(memory)).pruned == 1


async def test_a_record_with_more_relations_than_a_batch_is_pruned_over_several_batches(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "RELATIONS", 2)
    hub, *others = [(await memory.turn(f"remark {number}")).primary.id for number in range(6)]
    for other in others:
        await relate(memory, other, hub)
    memory.clock.forward(FADED)
    async with memory.database.background(Role.ERASE) as connection:
        first = await prune_due(connection, memory.directory, now=memory.clock.now(), limit=1)
    assert first == Pruned(relations=2)
    assert hub in await ids(memory)
    assert await prune(memory) == Pruned(pruned=6, relations=3)
    assert await memory.value("SELECT count(*) FROM sync_log WHERE kind = 2 AND op = 'D'") == 5


async def test_two_concurrent_pruners_share_the_work_without_waiting(memory: Memory) -> None:
    turns = [(await memory.turn(f"remark {number}")).primary.id for number in range(8)]
    for source, target in pairwise(turns):
        await relate(memory, source, target)
    memory.clock.forward(FADED)
    now = memory.clock.now()
    async with memory.database.background(Role.ERASE) as first, memory.database.background(Role.ERASE) as second:
        one = await prune_due(first, memory.directory, now=now, limit=4)
        async with asyncio.timeout(5):
            two = await prune_due(second, memory.directory, now=now, limit=4)
    assert one.pruned == 4
    assert two.pruned == 3  # the record that shares a relation with the first batch is skipped
    assert (await prune(memory)).pruned == 1
    assert await ids(memory) == set()
    assert await memory.value("SELECT count(*) FROM tombstone") == 8
    assert await memory.value("SELECT count(*) FROM sync_log WHERE op = 'D'") == 8 + 7


async def test_concurrent_servers_prune_each_record_once(memory: Memory) -> None:
    for number in range(60):
        await memory.turn(f"remark {number}", thread=f"t{number % 7}" if number % 2 else None)
    for number in range(7):
        await memory.remember(SourceKind.OUTCOME, {"thread_id": f"t{number}", "outcome_status": "success"})
    count = len(await ids(memory))
    await learn(memory)
    memory.clock.forward(FADED)
    servers = [Prune(resources_of(memory), PruneConfig(batch=5)) for _ in range(3)]
    results = await asyncio.gather(*(server.run_once(memory.clock.now()) for server in servers))
    rest = (await prune(memory)).pruned  # records skipped because another server held their lock
    assert sum(result.counts["records_pruned"] for result in results) + rest == count
    assert await ids(memory) == set()
    assert await memory.value("SELECT count(*) FROM tombstone") == count
    assert await memory.value("SELECT count(*) FROM sync_log WHERE op = 'D' AND kind = 1") == count


async def test_a_locked_record_is_skipped_without_waiting(memory: Memory) -> None:
    kept = (await memory.turn("being revised")).primary.id
    memory.clock.forward(FADED)
    for table in ("record", "salience"):
        async with memory.database.engine.begin() as connection:
            await connection.execute(text(f"SELECT id FROM {table} FOR UPDATE"))  # noqa: S608
            async with asyncio.timeout(5):
                assert (await prune(memory)).is_done
    assert await ids(memory) == {kept}
    assert (await prune(memory)).pruned == 1


async def test_every_tenant_is_pruned_and_each_has_its_own_tombstones(memory: Memory) -> None:
    for name in ("acme", "globex", "initech"):
        await memory.turn("a remark", trust=trust_of(tenant=name))
    memory.clock.forward(FADED)
    assert (await prune(memory)).pruned == 3
    tombstones = await memory.rows("SELECT t.name FROM tombstone s JOIN tenant t ON t.id = s.tenant")
    assert {row["name"] for row in tombstones} == {"acme", "globex", "initech"}


async def test_a_prune_run_is_bounded_and_requests_another_while_records_are_due(memory: Memory) -> None:
    job = Prune(resources_of(memory), PruneConfig(batch=2, batches=2))
    assert job.config.interval_s == 3_600
    for number in range(9):
        await memory.turn(f"remark {number}")
    memory.clock.forward(FADED)
    results = [await job.run_once(memory.clock.now()) for _ in range(4)]
    assert [result.counts["records_pruned"] for result in results] == [4, 4, 1, 0]
    assert [result.more for result in results] == [True, True, False, False]


async def test_running_the_jobs_once_or_often_leaves_the_same_values(memory: Memory) -> None:
    async def run_story(tenant: str, passes: int) -> list[tuple[str, float]]:
        trust = trust_of(tenant=tenant)
        server = server_of(memory)
        start = memory.clock.at
        for what in (7, 8):
            await memory.observe("Alice", "likes", what, trust=trust)
        await memory.turn("a remark", trust=trust)
        for _ in range(passes):
            memory.clock.at += 15 * DAY / passes
            await server.run_once()
        memory.clock.at = start + 16 * DAY
        await memory.observe("Alice", "likes", 7, trust=trust)
        for _ in range(passes):
            memory.clock.at += 30 * DAY / passes
            await server.run_once()
        memory.clock.at = start + 60 * DAY
        page = await memory.lookup.records(trust, first=50)
        memory.clock.at = start
        return sorted((record.name or "", record.salience) for record in page.records)

    once = await run_story("once", 1)
    assert len(once) == 3  # two facts and Alice; the remark was pruned
    assert await run_story("often", 10) == once


async def test_a_tombstone_blocks_derivation_from_older_sources_only(memory: Memory) -> None:
    captured = await memory.observe("Alice", "likes", 7, scope="project:x")
    fact = captured.primary
    assert fact.payload is not None
    (entity,) = [record.id for record in captured.created if record.type is MemoryType.ENTITY]
    source = memory.clock.now()
    memory.clock.forward(YEAR)
    assert (await prune(memory)).pruned == 2
    tenant = await tenant_of(memory)
    scopes = await memory.directory.scopes(tenant, ["project:x", "project:y"], create=True)
    entities = FactEntities(subject=entity)
    key = fact_keys(tenant, fact.payload, entities).fact
    here, there = (
        derivation_key(tenant, MemoryType.SEMANTIC, scopes[name], key) for name in ("project:x", "project:y")
    )
    alice = derivation_key(tenant, MemoryType.ENTITY, scopes["project:x"], name_key(tenant, "alice"))
    pruned_at = memory.clock.now()
    async with memory.database.background(Role.JOBS) as connection:
        assert await blocked_derivations(connection, tenant, {here: source, there: source, alice: source}) == {
            here,
            alice,
        }
        assert await blocked_derivations(connection, tenant, {here: pruned_at - timedelta(microseconds=1)}) == {here}
        assert await blocked_derivations(connection, tenant, {here: pruned_at}) == set()
        assert await blocked_derivations(connection, tenant, {}) == set()
        other = fact_keys(tenant, {**fact.payload, "object": 8}, entities).fact
        eight = derivation_key(tenant, MemoryType.SEMANTIC, scopes["project:x"], other)
        assert await blocked_derivations(connection, tenant, {eight: source}) == set()


async def test_a_tombstone_has_a_key_for_named_records_and_no_content(memory: Memory) -> None:
    skill = {"skill_name": "fix cache", "triggers": [{"signal": "cache mismatch"}], "recipe": [{"step": "clear it"}]}
    plan = {"plan_id": "deploy", "version": "1", "nodes": [{"id": "a", "op": "build"}], "edges": []}
    kept = [
        await memory.remember(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE),
        await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH),
        await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t1", "state": "planning"}),
    ]
    tenant = await tenant_of(memory)
    async with memory.database.background(Role.ERASE) as connection:
        prepared = await prepare_tombstones(connection, tenant, [one.primary.id for one in kept])
        assert {one.id for one in prepared} == {one.primary.id for one in kept}
        await insert_tombstones(connection, tenant, prepared, cause=Cause.DELETED, at=memory.clock.now())
        await insert_tombstones(connection, tenant, prepared, cause=Cause.ERASED, at=memory.clock.now() + HOUR)
    tombstones = {row["type"]: row for row in await memory.rows("SELECT * FROM tombstone")}
    scope = tombstones[5]["scope"]
    assert {row["cause"] for row in tombstones.values()} == {Cause.ERASED}
    assert tombstones[2]["key_hash"] is None
    for memory_type, name in ((MemoryType.COMPETENCE, "fix cache"), (MemoryType.PLAN_GRAPH, "deploy")):
        key = derivation_key(tenant, memory_type, scope, handle_key(tenant, memory_type, name))
        assert bytes(tombstones[memory_type]["key_hash"]) == key


async def test_the_preview_lists_exactly_what_is_then_pruned(memory: Memory, tmp_path: Path) -> None:
    await memory.turn("open", thread="t1")
    await memory.turn("learned", thread="t2")
    await memory.remember(SourceKind.OUTCOME, {"thread_id": "t2", "outcome_status": "success"})
    await learn(memory)
    await memory.turn("alone")
    await memory.observe("Alice", "likes", 7)
    await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    await with_policy(memory, tmp_path / "policy.json", deletion_policy="manual_only").observe("Bob", "likes", 7)
    await prune(memory)
    for until in (HOUR, FADED, 100 * DAY, 320 * DAY):
        before = await ids(memory)
        previewed = await preview(memory, memory.clock.now() + until)
        assert [item.due_at for item in previewed.items] == sorted(item.due_at for item in previewed.items)
        assert previewed.total == len(previewed.items)
        memory.clock.forward(until)
        assert all(item.due_at <= memory.clock.now() for item in previewed.items)
        await prune(memory)
        assert before - await ids(memory) == {item.record.id for item in previewed.items if not item.awaits_learning}
    left = await memory.rows("SELECT name FROM record")
    assert sorted(row["name"].split(":")[0].split(" ")[0] for row in left) == ["Bob", "Bob"]


@pytest.mark.parametrize("seed", range(3))
async def test_the_preview_equals_what_bursts_prune_with_passes_and_changes_in_between(
    memory: Memory, seed: int
) -> None:
    """Many records fall due at once, in batches of one or two; passes before `until` make entities wait."""
    chance = random.Random(seed)
    entities = [await memory.entity(f"Thing {number}", retention=_retention(chance)) for number in range(6)]
    for _ in range(4):
        await relate(memory, *chance.sample(entities, 2))
    pruned_in_all = 0
    for step in range(7):
        for number in range(chance.randrange(4)):
            about = f"Thing {chance.randrange(8)}"
            await memory.observe(about, "has", f"{step}.{number}", retention=_retention(chance))
            thread = chance.choice([None, f"t{step % 3}"])
            await memory.turn("a remark", thread=thread, context={"mentions": [about]}, retention=_retention(chance))
        facts = await memory.rows("SELECT id FROM record WHERE type = 4 AND state = 1 ORDER BY id")
        if facts and chance.random() < 0.5:
            await memory.revision.revise(memory.trust, Retract(record_id=chance.choice(facts)["id"], rationale="wrong"))
        current = await memory.rows("SELECT id FROM record WHERE state <= 2 ORDER BY id")
        if current and chance.random() < 0.5:
            await memory.revision.revise(
                memory.trust, Reinforce(record_id=chance.choice(current)["id"], rationale="read")
            )
        if step % 3 == 1:
            await close_silent(memory)
            await learn(memory)
        before = await ids(memory)
        until = memory.clock.now() + timedelta(days=chance.uniform(1, 400))
        listed = (await preview(memory, until, first=100)).items
        previewed = {item.record.id for item in listed if not item.awaits_learning}
        for moment in sorted(memory.clock.now() + (until - memory.clock.now()) * chance.random() for _ in range(3)):
            memory.clock.at = moment
            await prune(memory, limit=chance.choice([1, 2, 100]))
        memory.clock.at = until
        await prune(memory, limit=chance.choice([1, 2]))
        assert before - await ids(memory) == previewed, step
        pruned_in_all += len(previewed)
    assert pruned_in_all > 10


def _retention(chance: random.Random) -> Retention:
    """A half-life of 1 to 30 days: a record falls due after ten of them."""
    return Retention(half_life_s=chance.uniform(1, 30) * 86_400, deletion_policy=DeletionPolicy.AUTO_PRUNE)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["open", "closed", "outcome"]), min_size=1, max_size=4), st.integers(1, 20), st.booleans()
)
async def test_the_preview_lists_every_record_of_a_thread_that_is_due(
    memory: Memory, ends: list[str], hours: int, passes: bool
) -> None:
    """Whatever the state of its thread: before learning with a mark, and after it without."""
    turns = []
    for end in ends:
        thread = str(new_id())
        turns.append((await memory.turn("a remark", thread=thread)).primary)
        if end == "outcome":
            await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"})
        if end == "closed":
            memory.clock.forward(timedelta(minutes=31))
            await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())
    if passes:  # at which the records were due and had to wait
        memory.clock.forward(timedelta(hours=11))
        await prune(memory)
    until = memory.clock.now() + timedelta(hours=hours)
    due = {turn.id for turn in turns if turn.lifecycle is not None and (turn.lifecycle.due_at() or until) <= until}
    listed = {item.record.id: item for item in (await preview(memory, until)).items}
    assert due == listed.keys() & {turn.id for turn in turns}
    assert all(listed[id_].awaits_learning and listed[id_].due_at <= until for id_ in due)
    memory.clock.forward(timedelta(hours=hours))
    await CloseEpisodes(resources_of(memory)).run_once(memory.clock.now())
    memory.clock.forward(timedelta(hours=7))
    await learn(memory)
    again = {item.record.id: item for item in (await preview(memory, memory.clock.now())).items}
    assert due <= again.keys()
    assert not any(item.awaits_learning for item in again.values())
    await prune(memory)
    assert not due & await ids(memory)


async def test_a_preview_changes_nothing(memory: Memory) -> None:
    await memory.turn("a remark")
    before = await memory.rows("SELECT * FROM salience")
    for _ in range(3):
        await preview(memory, memory.clock.now() + YEAR)
    assert await memory.rows("SELECT * FROM salience") == before


async def test_the_preview_pages_in_order_of_due_instant_without_duplicates(memory: Memory) -> None:
    turns = [(await memory.turn(f"remark {number}")).primary.id for number in range(7)]
    await memory.rows("UPDATE salience SET due_at = (SELECT min(due_at) FROM salience) RETURNING id")
    until, found, after, pages = memory.clock.now() + DAY, [], None, 0
    while True:
        page = await preview(memory, until, first=3, after=after)
        found += [item.record.id for item in page.items]
        pages += 1
        assert page.total == 7
        if not page.has_next:
            break
        after = page.end_cursor
    assert (found, pages) == (sorted(turns), 3)
    empty = await preview(memory, memory.clock.now())
    assert (empty.items, empty.total, empty.end_cursor, empty.has_next) == ((), 0, None, False)


async def test_the_preview_counts_and_lists_only_records_fully_visible_to_the_caller(memory: Memory) -> None:
    previewed = (await memory.turn("mine", scope="project:x")).primary.id
    unscoped = (await memory.turn("everybody's")).primary.id
    await memory.turn("another scope", scope="project:y")
    await memory.turn("redacted", scope="project:x", sensitivity=Sensitivity.MEDIUM)
    await memory.turn("beyond", scope="project:x", sensitivity=Sensitivity.HYPER)
    await memory.turn("another tenant", trust=trust_of(tenant="globex"))
    caller = trust_of(scopes={"project:x"}, ceiling=Sensitivity.LOW)
    page = await preview(memory, memory.clock.now() + DAY, trust=caller)
    assert {item.record.id for item in page.items} == {previewed, unscoped}
    assert (page.total, page.has_next) == (2, False)
    assert not any(item.record.redacted for item in page.items)
    assert (await preview(memory, memory.clock.now() + DAY, trust=caller, first=1)).total == 2


async def test_a_record_invisible_to_the_caller_does_not_remove_an_entity_from_its_preview(memory: Memory) -> None:
    """The entity's absence would reveal the invisible record; pruning itself still keeps the entity."""
    alice = await memory.entity("Alice")
    fact = await memory.observe("Alice", "earns", 100, sensitivity=Sensitivity.HYPER)
    assert alice in {edge.target for edge in fact.edges}
    memory.clock.forward(200 * DAY)
    await memory.observe("Alice", "earns", 100, sensitivity=Sensitivity.HYPER)
    until = memory.clock.now() + 120 * DAY
    low = await preview(memory, until, trust=trust_of(ceiling=Sensitivity.LOW))
    assert [item.record.id for item in low.items] == [alice]
    assert (await preview(memory, until)).total == 0
    memory.clock.at = until
    await prune(memory)
    assert alice in await ids(memory)


@pytest.mark.parametrize(
    ("until", "more", "expected"),
    [
        (timedelta(seconds=-1), {}, "until"),
        (timedelta(days=3_654), {}, "ten years"),
        (HOUR, {"first": 0}, "first"),
        (HOUR, {"first": 101}, "first"),
        (HOUR, {"after": "nonsense"}, "cursor"),
        (HOUR, {"after": "é"}, "cursor"),
    ],
)
async def test_an_invalid_preview_request_is_refused(
    memory: Memory, until: timedelta, more: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidInput, match=expected):
        await preview(memory, memory.clock.now() + until, **more)


async def test_a_time_without_an_offset_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="offset"):
        await preview(memory, (memory.clock.now() + HOUR).replace(tzinfo=None))


async def test_an_unregistered_custom_curve_is_refused_when_written(memory: Memory) -> None:
    kept = (await memory.turn("a remark")).primary
    assert kept.lifecycle is not None
    decay = replace(kept.lifecycle.decay, curve=type(kept.lifecycle.decay.curve).CUSTOM, params={"name": "cliff"})
    tenant = await tenant_of(memory)
    async with memory.database.writing((await memory.directory.resolve(memory.trust)).bounds) as connection:
        with pytest.raises(InvalidInput, match="power_law"):
            await write_salience(connection, tenant, [(kept.id, replace(kept.lifecycle, decay=decay))])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"curve": "custom", "params": {"name": "cliff"}}, "power_law"),
        ({"curve": "custom", "params": {"beta": 0}}, "beta"),
        ({"curve": "linear", "params": {"beta": 2}}, "custom"),
        ({"params": {"beta": 2}}, "custom"),
    ],
)
def test_a_policy_rule_with_an_invalid_curve_is_refused_when_loaded(
    memory: Memory, tmp_path: Path, rule: dict[str, Any], expected: str
) -> None:
    with pytest.raises(Misconfigured, match=expected):
        with_policy(memory, tmp_path / "policy.json", **rule)


async def test_the_retention_of_a_capture_sets_its_due_instant(memory: Memory) -> None:
    retention = Retention(half_life_s=60.0, deletion_policy=DeletionPolicy.AUTO_PRUNE)
    await memory.turn("short-lived", retention=retention)
    memory.clock.forward(timedelta(minutes=9))
    async with memory.database.background(Role.ERASE) as connection:
        assert await lock_due(connection, now=memory.clock.now(), limit=10) == []
    memory.clock.forward(timedelta(minutes=1))
    assert (await prune(memory)).pruned == 1


@pytest.mark.parametrize("scope", ["project:a", "project:hidden"])
async def test_the_preview_does_not_read_all_episodes_for_each_record(memory: Memory, scope: str) -> None:
    """It did, hidden ones too, which its time then told."""
    reader = trust_of(scopes={"project:a"})

    async def read_by_the_preview() -> int:
        caller = await memory.directory.resolve(reader)
        until = memory.clock.now() + timedelta(days=3_000)
        async with memory.database.reading(caller.bounds) as connection:
            found = await pruning.preview(connection, caller, until=until, first=5, after=None)
            assert len(found) == 5
            counted = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'episode'"
            return int((await connection.execute(text(counted))).scalar_one())

    async def capture(threads: range, *, scope: str) -> None:
        events = [
            CaptureRequest(
                source="test",
                source_kind=SourceKind.EVENT,
                content={"summary": f"step {number}", "thread_id": f"thread {number}"},
                scope=scope,
            )
            for number in threads
        ]
        await memory.capture.capture(memory.trust, events, batch=True)
        async with memory.database.engine.connect() as connection:
            as_owner = await connection.execution_options(isolation_level="AUTOCOMMIT")
            await as_owner.execute(text("ANALYZE record, salience, episode, episode_event"))

    await capture(range(5), scope="project:a")
    await capture(range(100, 400), scope=scope)
    assert await read_by_the_preview() <= 4 * 2 * 305  # records: an event and its episode of each thread
