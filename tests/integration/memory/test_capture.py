"""Capture by source kind: the record it becomes, its relations, and idempotency (docs/specification.md, Capture)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from fix_jobs import server_of
from fix_memory import NOON, ManualClock, Memory, trust_of
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    EvidenceRequired,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
)


def predicates(captured: Captured) -> list[str]:
    return sorted(edge.predicate for edge in captured.edges)


async def count(memory: Memory, table: str) -> int:
    async with memory.database.engine.begin() as connection:
        return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())  # noqa: S608


async def row_counts(memory: Memory) -> dict[str, int]:
    tables = ("record", "relation", "salience", "audit", "candidate", "sync_log", "entity_term", "episode", "fact_slot")
    return {table: await count(memory, table) for table in tables}


async def test_an_observation_becomes_a_fact_linked_to_its_subject_and_object(memory: Memory) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme", reason_to_remember="asked twice")
    assert kept.primary.type is MemoryType.SEMANTIC
    assert kept.primary.payload is not None
    assert kept.primary.payload["validity"] == {"mode": "global"}
    assert kept.primary.confidence == 0.7
    assert predicates(kept) == ["object_entity", "subject_entity"]
    assert {record.name for record in kept.created} == {"Alice", "Acme", "Alice works at Acme"}
    log = await memory.lookup.audit(memory.trust, [kept.primary.id])
    assert [(entry.action, entry.rationale) for entry in log[kept.primary.id]] == [("create", "asked twice")]


async def test_the_same_fact_again_reinforces_it_and_adds_evidence(memory: Memory) -> None:
    first = await memory.observe("Alice", "works_at", "Acme")
    memory.clock.forward(timedelta(days=30))
    again = await memory.observe("Alice", "works_at", "Acme")
    assert again.primary.id == first.primary.id
    assert again.created == ()
    assert again.primary.salience == pytest.approx(0.6, abs=0.001)
    assert again.primary.version == first.primary.version
    assert again.primary.provenance is not None
    assert len(again.primary.provenance["sources"]) == 2


async def test_facts_with_the_objects_1_and_1_0_are_the_same_fact(memory: Memory) -> None:
    first = await memory.observe("pool", "size", 1)
    again = await memory.observe("pool", "size", 1.0)
    assert again.primary.id == first.primary.id


async def test_a_replacing_observation_supersedes_what_it_contradicts(memory: Memory) -> None:
    old = await memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    new = await memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    assert "supersedes" in predicates(new)
    before = await memory.lookup.record(memory.trust, old.primary.id)
    assert before is not None
    assert before.state is RecordState.SUPERSEDED
    assert before.salience == 0
    assert before.payload is not None
    assert before.payload["revision"].keys() == {"superseded_by"}


async def test_without_a_policy_facts_of_one_subject_are_all_active(memory: Memory) -> None:
    await memory.observe("Alice", "speaks", "German")
    french = await memory.observe("Alice", "speaks", "French")
    assert french.primary.state is RecordState.ACTIVE
    assert "supersedes" not in predicates(french)


async def test_a_contesting_observation_leaves_both_facts_contested(memory: Memory) -> None:
    old = await memory.observe("Alice", "born_in", 1990, revision_policy="contest")
    new = await memory.observe("Alice", "born_in", 1991, revision_policy="contest")
    assert new.primary.state is RecordState.CONTESTED
    before = await memory.lookup.record(memory.trust, old.primary.id)
    assert before is not None
    assert before.state is RecordState.CONTESTED
    assert "contested_by" in predicates(new)


async def test_a_fork_needs_conditions_that_exclude_each_other(memory: Memory) -> None:
    await memory.observe("Alice", "prefers", "Go", conditions={"project": "backend"}, revision_policy="fork")
    fork = await memory.observe(
        "Alice", "prefers", "Python", conditions={"project": ["data", "ml"]}, revision_policy="fork"
    )
    assert fork.primary.state is RecordState.ACTIVE
    before = await row_counts(memory)
    with pytest.raises(ConditionsOverlap) as caught:
        await memory.observe("Alice", "prefers", "Rust", conditions={"team": "core"}, revision_policy="fork")
    assert caught.value.path == ["content", "validity"]
    assert await row_counts(memory) == before


async def test_facts_valid_at_different_times_do_not_conflict(memory: Memory) -> None:
    for start, end, city in (("2020", "2022", "Bern"), ("2022", "2024", "Basel")):
        kept = await memory.observe(
            "Alice",
            "lived_in",
            city,
            validity={"mode": "timeboxed", "start": f"{start}-01-01T00:00:00Z", "end": f"{end}-01-01T00:00:00Z"},
            revision_policy="fork",
        )
        assert kept.primary.state is RecordState.ACTIVE


async def test_evidence_without_a_source_is_refused(memory: Memory) -> None:
    with pytest.raises(EvidenceRequired):
        await memory.observe("Alice", "is", "tall", evidence=[{"note": "no source"}])


async def test_captures_of_a_thread_join_one_episode_in_order(memory: Memory) -> None:
    first = await memory.turn("please look at the build", thread="t1")
    second = await memory.remember(
        SourceKind.TOOL_OUTPUT,
        {"tool_name": "grep", "args": {"q": "x"}, "result": "3 hits", "thread_id": "t1", "call_id": "c1"},
    )
    third = await memory.remember(
        SourceKind.TOOL_OUTPUT,
        {"tool_name": "sed", "args": {}, "result": "ok", "thread_id": "t1", "call_id": "c2", "depends_on": ["c1"]},
    )
    episode = next(record for record in first.created if record.id != first.primary.id)
    assert "part_of" in predicates(first)
    assert {(e.predicate, e.target) for e in second.edges} >= {
        ("follows", first.primary.id),
        ("part_of", episode.id),
    }
    assert ("depends_on", second.primary.id) in {(e.predicate, e.target) for e in third.edges}
    whole = await memory.lookup.record(memory.trust, episode.id)
    assert whole is not None
    assert whole.payload is not None
    assert [event["event_kind"] for event in whole.payload["timeline"]] == ["agent_turn", "tool_output", "tool_output"]
    assert [(node["tool"], node.get("depends_on")) for node in whole.payload["tool_graph"]] == [
        ("grep", None),
        ("sed", ["c1"]),
    ]


async def test_an_outcome_closes_the_episode_and_the_next_capture_opens_one_that_follows(
    memory: Memory,
) -> None:
    first = await memory.turn("fix the build", thread="t1")
    closed = await memory.remember(
        SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "success", "reason": "tests pass"}
    )
    episode = next(record for record in first.created if record.id != first.primary.id)
    assert closed.primary.id == episode.id
    assert closed.primary.payload is not None
    assert closed.primary.payload["outcome"] == "success"
    later = await memory.turn("one more thing", thread="t1")
    reopened = next(record for record in later.created if record.id != later.primary.id)
    assert reopened.id != episode.id
    assert ("follows", reopened.id, episode.id) in {(e.predicate, e.source, e.target) for e in later.edges}


async def test_an_outcome_is_accepted_after_inactivity_closed_the_episode(memory: Memory) -> None:
    await memory.turn("fix the build", thread="t1")
    memory.clock.forward(timedelta(minutes=31))
    server = server_of(memory)
    assert (await server.run_once())["episodes_closed"] == 1
    decided = await memory.remember(SourceKind.OUTCOME, {"thread_id": "t1", "outcome_status": "failure"})
    assert decided.primary.payload is not None
    assert decided.primary.payload["outcome"] == "failure"


async def test_thirty_minutes_without_a_capture_close_an_episode(memory: Memory) -> None:
    await memory.turn("hello", thread="t1")
    server = server_of(memory)
    memory.clock.forward(timedelta(minutes=29, seconds=59))
    assert (await server.run_once())["episodes_closed"] == 0
    memory.clock.forward(timedelta(seconds=2))
    assert (await server.run_once())["episodes_closed"] == 1
    assert (await server.run_once())["episodes_closed"] == 0


async def test_a_capture_after_inactivity_closes_the_old_episode(memory: Memory) -> None:
    first = await memory.turn("hello", thread="t1")
    memory.clock.forward(timedelta(hours=2))
    later = await memory.turn("hello again", thread="t1")
    old = next(record.id for record in first.created if record.id != first.primary.id)
    assert ("follows", old) in {
        (edge.predicate, edge.target) for edge in later.edges if edge.source != later.primary.id
    }


async def test_an_outcome_without_an_episode_is_refused_with_advice(memory: Memory) -> None:
    with pytest.raises(RecordNotFound, match="capture an event with this thread_id"):
        await memory.remember(SourceKind.OUTCOME, {"thread_id": "nobody", "outcome_status": "success"})


async def test_appending_to_an_episode_takes_a_constant_number_of_statements(memory: Memory) -> None:
    costs = []
    for number in range(60):
        before = memory.database.statements
        await memory.turn(f"message {number}", thread="long")
        costs.append(memory.database.statements - before)
    assert max(costs[2:]) <= costs[2]


async def test_threads_with_the_same_id_in_different_scopes_are_separate(memory: Memory) -> None:
    one = await memory.turn("hello", thread="t", scope="project:a")
    other = await memory.turn("hello", thread="t", scope="project:b")
    episodes = {next(edge.target for edge in kept.edges if edge.predicate == "part_of") for kept in (one, other)}
    assert len(episodes) == 2


async def test_a_working_state_is_one_record_updated_in_place(memory: Memory) -> None:
    first = await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t1", "state": "planning"})
    second = await memory.remember(
        SourceKind.WORKING_STATE, {"thread_id": "t1", "state": "executing", "next_actions": ["run tests"]}
    )
    assert second.primary.id == first.primary.id
    assert second.primary.version == 2
    assert second.primary.payload is not None
    assert second.primary.payload["next_actions"] == ["run tests"]
    assert await count(memory, "record_history") == 1


async def test_a_plan_a_skill_and_an_entity_are_captured_by_proposing_their_type(memory: Memory) -> None:
    plan = await memory.remember(
        SourceKind.OBSERVATION,
        {
            "plan_id": "deploy",
            "version": "1",
            "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship"}],
            "edges": [{"from": "a", "to": "b", "kind": "control"}],
        },
        proposed_type=MemoryType.PLAN_GRAPH,
    )
    assert plan.primary.type is MemoryType.PLAN_GRAPH
    skill = await memory.remember(
        SourceKind.OBSERVATION,
        {"skill_name": "fix cache", "triggers": [{"signal": "cache mismatch"}], "recipe": [{"step": "clear it"}]},
        proposed_type=MemoryType.COMPETENCE,
    )
    assert skill.primary.type is MemoryType.COMPETENCE
    entity = {"canonical_name": "Project Orion", "primary_type": "Project", "aliases": [{"value": "Orion"}]}
    orion = await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    again = await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    assert again.primary.id == orion.primary.id
    said = await memory.turn("Did Orion ship?")
    assert {edge.target for edge in said.edges} == {orion.primary.id}


async def test_a_plan_with_a_cycle_is_refused_and_writes_nothing(memory: Memory) -> None:
    before = await row_counts(memory)
    with pytest.raises(InvalidInput, match="a -> b -> a"):
        await memory.remember(
            SourceKind.OBSERVATION,
            {
                "plan_id": "p",
                "version": "1",
                "nodes": [{"id": "a", "op": "x"}, {"id": "b", "op": "y"}],
                "edges": [{"from": "a", "to": "b", "kind": "data"}, {"from": "b", "to": "a", "kind": "data"}],
            },
            proposed_type=MemoryType.PLAN_GRAPH,
        )
    assert await row_counts(memory) == before


async def test_an_entity_is_resolved_by_identifier_then_name_then_unscoped(memory: Memory) -> None:
    ann = {"name": "Ann", "type": "Person", "identifiers": [{"namespace": "email", "value": "ann@x.org"}]}
    first = await memory.turn("hi", context={"mentions": [ann]})
    renamed = await memory.turn("hi", context={"mentions": [{**ann, "name": "Ann Other"}]})
    by_name = await memory.turn("hi", context={"mentions": ["ann"]})
    scoped = await memory.turn("hi", context={"mentions": ["Ann"]}, scope="project:x")
    targets = {edge.target for kept in (first, renamed, by_name, scoped) for edge in kept.edges}
    assert len(targets) == 1


async def test_a_capture_does_not_resolve_to_an_entity_of_higher_sensitivity(memory: Memory) -> None:
    secret = await memory.observe("Nightjar", "is", "a project", sensitivity=Sensitivity.HIGH)
    open_ = await memory.observe("Nightjar", "is", "a bird", sensitivity=Sensitivity.LOW)
    subjects = {edge.target for kept in (secret, open_) for edge in kept.edges if edge.predicate == "subject_entity"}
    assert len(subjects) == 2


async def test_records_are_referred_to_by_id_and_by_ref(memory: Memory) -> None:
    first = await memory.remember(SourceKind.EVENT, {"event_kind": "build", "ref": "ci#1", "summary": "built"})
    by_ref = await memory.turn("see there", context={"references": [{"ref": "ci#1", "predicate": "caused_by"}]})
    assert ("caused_by", first.primary.id) in {(edge.predicate, edge.target) for edge in by_ref.edges}
    by_id = await memory.turn(f"see {first.primary.id}")
    assert ("references_record", first.primary.id) in {(edge.predicate, edge.target) for edge in by_id.edges}


async def test_unknown_keys_of_the_content_are_kept(memory: Memory) -> None:
    kept = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "deploy", "ref": "d1", "summary": "deployed", "region": "eu", "n": [1, {"a": None}]},
    )
    assert kept.primary.payload is not None
    assert kept.primary.payload["timeline"][0]["content"] == {"region": "eu", "n": [1, {"a": None}]}


async def test_a_retry_with_the_same_idempotency_key_is_answered_as_a_replay(memory: Memory) -> None:
    first = await memory.turn("hello", thread="t", idempotency_key="k1")
    before = await row_counts(memory)
    again = await memory.turn("hello", thread="t", idempotency_key="k1")
    assert again.replayed
    assert again.primary.id == first.primary.id
    assert again.sequence == first.sequence
    assert {record.id for record in again.created} == {record.id for record in first.created}
    assert {edge.id for edge in again.edges} == {edge.id for edge in first.edges}
    assert await row_counts(memory) == before
    with pytest.raises(IdempotencyMismatch):
        await memory.turn("something else", thread="t", idempotency_key="k1")


async def test_concurrent_captures_with_one_idempotency_key_store_one_record(memory: Memory) -> None:
    request = CaptureRequest(
        source="s", source_kind=SourceKind.EVENT, content={"event_kind": "x", "ref": "r"}, idempotency_key="one"
    )
    answers = await asyncio.gather(*(memory.capture.capture(memory.trust, [request]) for _ in range(8)))
    assert len({answer[0].primary.id for answer in answers}) == 1
    assert await count(memory, "record") == 1
    assert sum(not answer[0].replayed for answer in answers) == 1


async def test_concurrent_mentions_of_a_new_entity_create_one(memory: Memory) -> None:
    def mention(number: int) -> CaptureRequest:
        return CaptureRequest(
            source="s",
            source_kind=SourceKind.AGENT_TURN,
            content={"role": "user", "text": f"number {number}"},
            context={"mentions": ["Zed", f"Person {number % 3}", "Yan"] if number % 2 else ["Yan", "Zed"]},
        )

    await asyncio.gather(*(memory.capture.capture(memory.trust, [mention(number)]) for number in range(12)))
    for name in ("Zed", "Yan", "Person 1"):
        assert len(await memory.lookup.entities(memory.trust, name, scope=None, first=20)) == 1


async def test_concurrent_captures_of_one_thread_share_one_episode(memory: Memory) -> None:
    requests = [
        CaptureRequest(
            source="s", source_kind=SourceKind.AGENT_TURN, content={"role": "u", "text": str(n), "thread_id": "busy"}
        )
        for n in range(10)
    ]
    await asyncio.gather(*(memory.capture.capture(memory.trust, [request]) for request in requests))
    assert await count(memory, "episode") == 1
    async with memory.database.engine.begin() as connection:
        row = (await connection.execute(text("SELECT events, (SELECT count(*) FROM episode_event) FROM episode"))).one()
    assert tuple(row) == (10, 10)


async def test_a_batch_is_stored_completely_or_not_at_all(memory: Memory) -> None:
    good = CaptureRequest(source="s", source_kind=SourceKind.AGENT_TURN, content={"role": "u", "text": "fine"})
    bad = CaptureRequest(source="s", source_kind=SourceKind.AGENT_TURN, content={"role": "u"})
    before = await row_counts(memory)
    with pytest.raises(InvalidInput) as caught:
        await memory.capture.capture(memory.trust, [good, good, bad], batch=True)
    assert caught.value.path == ["items", "2", "content", "text"]
    assert await row_counts(memory) == before


async def test_a_batch_is_processed_in_order_including_outcomes(memory: Memory) -> None:
    def turn(text_: str) -> CaptureRequest:
        return CaptureRequest(
            source="s", source_kind=SourceKind.AGENT_TURN, content={"role": "u", "text": text_, "thread_id": "t"}
        )

    outcome = CaptureRequest(
        source="s", source_kind=SourceKind.OUTCOME, content={"thread_id": "t", "outcome_status": "success"}
    )
    answers = await memory.capture.capture(
        memory.trust, [turn("a"), outcome, turn("b"), outcome, turn("c")], batch=True
    )
    episodes = [next(e.target for e in answers[n].edges if e.predicate == "part_of") for n in (0, 2, 4)]
    assert len(set(episodes)) == 3
    assert [answers[1].primary.id, answers[3].primary.id] == episodes[:2]


@pytest.mark.parametrize(
    ("kind", "content", "path"),
    [
        (SourceKind.AGENT_TURN, {"role": "user"}, ["content", "text"]),
        (SourceKind.TOOL_OUTPUT, {"args": {}}, ["content", "tool_name"]),
        (SourceKind.TOOL_OUTPUT, {"tool_name": "t", "call_id": "a", "depends_on": ["a"]}, ["content", "depends_on"]),
        (SourceKind.OBSERVATION, {"subject": "a", "predicate": "b"}, ["content", "object"]),
        (SourceKind.OBSERVATION, {"subject": "a", "predicate": "b", "object": None}, ["content", "object"]),
        (SourceKind.WORKING_STATE, {"thread_id": "t", "state": "asleep"}, ["content", "state"]),
        (SourceKind.OUTCOME, {"thread_id": "t", "outcome_status": "great"}, ["content", "outcome_status"]),
        (SourceKind.OUTCOME, {"outcome_status": "success"}, ["content"]),
        (SourceKind.EPISODE, {"timeline": []}, ["content", "timeline"]),
        (SourceKind.EVENT, {"summary": "nul \x00"}, ["content", "summary"]),
        (SourceKind.EVENT, {"blob": "x" * (1 << 20)}, ["content"]),
        (SourceKind.EVENT, {"thread_id": ""}, ["content", "thread_id"]),
    ],
)
async def test_invalid_content_names_the_field_and_writes_nothing(
    memory: Memory, kind: SourceKind, content: dict[str, Any], path: list[str]
) -> None:
    before = await row_counts(memory)
    with pytest.raises(InvalidInput) as caught:
        await memory.remember(kind, content)
    assert caught.value.path == path
    assert ".".join(path) in caught.value.message
    assert await row_counts(memory) == before


async def test_a_capture_needs_write_access_and_stays_within_the_credential(memory: Memory) -> None:
    reader = trust_of(access=Access.READ)
    with pytest.raises(Forbidden):
        await memory.turn("hello", trust=reader)
    writer = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"project:a"})
    kept = await memory.turn("hello", trust=writer)
    assert kept.primary.scope == "project:a"
    for beyond in ({"scope": "project:b"}, {"scope": ""}, {"sensitivity": Sensitivity.MEDIUM}):
        with pytest.raises(Forbidden):
            await memory.turn("hello", trust=writer, **beyond)


async def test_the_feed_logs_every_written_row(memory: Memory) -> None:
    await memory.observe("Alice", "works_at", "Acme")
    await memory.turn("hello", thread="t")
    async with memory.database.engine.begin() as connection:
        missing = await connection.execute(
            text(
                "SELECT count(*) FROM (SELECT 1 AS kind, tenant, id, row_version FROM record"
                " UNION ALL SELECT 2, tenant, id, row_version FROM relation) r"
                " WHERE NOT EXISTS (SELECT FROM sync_log l WHERE l.tenant = r.tenant AND l.kind = r.kind"
                "   AND l.id = r.id AND l.version = r.row_version)"
            )
        )
        assert missing.scalar_one() == 0


async def test_created_at_is_the_capture_time_and_occurred_at_the_callers_timestamp(memory: Memory) -> None:
    long_ago = NOON - timedelta(days=400)
    kept = await memory.turn("it was a long time ago", timestamp=long_ago)
    assert kept.primary.occurred_at == long_ago
    assert kept.primary.created_at == memory.clock.now()
    assert isinstance(memory.clock, ManualClock)


async def test_an_outcome_by_id_needs_a_fully_visible_episode(memory: Memory) -> None:
    kept = await memory.turn("secret work", thread="t", sensitivity=Sensitivity.MEDIUM, scope="project:a")
    episode = next(str(edge.target) for edge in kept.edges if edge.predicate == "part_of")
    outcome = {"record_id": episode, "outcome_status": "success"}
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"ceiling": Sensitivity.LOW}, Forbidden),
        ({"ceiling": Sensitivity.PUBLIC}, RecordNotFound),
        ({"scopes": {"project:b"}}, RecordNotFound),
        ({"tenant": "globex"}, RecordNotFound),
    ]
    for trust, error in refused:
        with pytest.raises(error):
            await memory.remember(SourceKind.OUTCOME, outcome, trust=trust_of(**trust))
    decided = await memory.remember(SourceKind.OUTCOME, outcome)
    assert decided.primary.payload is not None
    assert decided.primary.payload["outcome"] == "success"
