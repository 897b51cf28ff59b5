"""What a capture says stays: an outcome's reason, fields of a working state, versions of plans and skills, a null."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import MemoryType, Outcome, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord

Json = dict[str, Any]
PLAN: Json = {
    "plan_id": "release",
    "version": "1",
    "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "ship it", "params": {"tool": "kubectl"}}],
    "edges": [{"from": "a", "to": "b", "kind": "control"}],
}
SKILL: Json = {
    "skill_name": "fix cache",
    "triggers": [{"signal": "cache of billing-api mismatch", "conditions": {"os": "macos", "team": ["Platform Crew"]}}],
    "recipe": [{"step": "clear it", "tool": "shell"}],
    "required_tools": ["bazel"],
}
FAILURES = {
    Outcome.FAILURE: "why did it fail",
    Outcome.SUCCESS: "why did it succeed",
    Outcome.PARTIAL: "why did it succeed in part",
}


async def outcome(memory: Memory, thread: str, status: str, reason: str | None, **more: Any) -> Captured:
    content = {"thread_id": thread, "outcome_status": status} | ({"reason": reason} if reason else {})
    return await memory.remember(SourceKind.OUTCOME, content, **more)


async def work(memory: Memory, **content: Any) -> Captured:
    return await memory.remember(SourceKind.WORKING_STATE, content)


async def procedure(memory: Memory, payload: Json, **more: Any) -> Captured:
    kind = MemoryType.PLAN_GRAPH if "plan_id" in payload else MemoryType.COMPETENCE
    return await memory.remember(SourceKind.OBSERVATION, payload, proposed_type=kind, **more)


async def payload_of(memory: Memory, captured: Captured) -> Json:
    found = await read(memory, captured)
    assert found.payload is not None
    return found.payload


async def read(memory: Memory, captured: Captured) -> MemoryRecord:
    found = await memory.lookup.record(memory.trust, captured.primary.id)
    assert found is not None
    return found


async def first_root(memory: Memory, question: str) -> object:
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question))
    return found.nodes[0].record.id if found.nodes else None


# Outcomes


@pytest.mark.parametrize("status", [one.label for one in Outcome])
async def test_an_episode_is_found_by_the_reason_of_its_outcome(memory: Memory, status: str) -> None:
    for thread in ("t1", "t2"):
        await memory.turn(f"deploy of {thread}", thread=thread)
    await outcome(memory, "t2", "success", "nothing special")
    done = await outcome(memory, "t1", status, "the certificate of the registry had expired")
    payload = await payload_of(memory, done)
    assert (payload["outcome"], payload["outcome_reason"]) == (status, "the certificate of the registry had expired")
    assert await first_root(memory, "expired certificate") == done.primary.id
    assert await first_root(memory, f"{FAILURES[Outcome.parse(status, path=[])]}: registry") == done.primary.id


async def test_the_reason_outlasts_many_events_and_a_closing_by_silence(memory: Memory) -> None:
    for number in range(40):
        await memory.turn(f"step {number} of the migration of the ledger tables", thread="t")
    memory.clock.forward(timedelta(hours=2))
    await memory.turn("something else", thread="t")  # the silent episode is closed first
    done = await outcome(memory, "t", "failure", "quota exhausted")
    assert (await payload_of(memory, done))["outcome_reason"] == "quota exhausted"
    assert await first_root(memory, "quota exhausted") == done.primary.id


async def test_an_episode_captured_as_a_whole_keeps_its_words_and_gains_its_outcome(memory: Memory) -> None:
    timeline = [{"t": "2026-06-01T10:00:00Z", "event_kind": "note", "ref": "", "summary": "The zeppelin took off"}]
    whole = await memory.remember(SourceKind.EPISODE, {"timeline": timeline, "thread_id": "flight"})
    done = await outcome(memory, "flight", "failure", "helium leaked")
    assert done.primary.id == whole.primary.id
    found = await read(memory, done)
    assert found.name == whole.primary.name
    assert found.payload is not None
    assert (found.payload["outcome_reason"], found.payload["timeline"]) == ("helium leaked", timeline)
    for question in ("zeppelin", "helium leaked"):
        assert await first_root(memory, question) == done.primary.id
    named = await memory.remember(
        SourceKind.EPISODE, {"timeline": timeline, "outcome": "failure", "outcome_reason": "thunder struck"}
    )
    assert await first_root(memory, "thunder struck") == named.primary.id


async def test_the_summary_of_an_outcome_stands_in_for_its_reason(memory: Memory) -> None:
    await memory.turn("go", thread="t")
    done = await outcome(memory, "t", "failure", None, summary="the disk was full")
    assert (await payload_of(memory, done))["outcome_reason"] == "the disk was full"


async def test_a_reason_is_not_shown_below_its_sensitivity(memory: Memory) -> None:
    said = await memory.turn("go", thread="t", sensitivity=Sensitivity.LOW)
    episode = next(edge.target for edge in said.edges if edge.predicate == "part_of")
    content = {"record_id": str(episode), "outcome_status": "failure", "reason": "the merger is secret"}
    with pytest.raises(InvalidInput, match="becomes part of the episode") as refused:
        await memory.remember(SourceKind.OUTCOME, content, sensitivity=Sensitivity.HIGH)
    assert refused.value.path == ["sensitivity"]
    for reason in (7, ["x"], "x" * 10_001):
        with pytest.raises(InvalidInput, match=r"content\.reason"):
            await memory.remember(SourceKind.OUTCOME, {**content, "reason": reason})


# Working state

FIELDS = {
    "state": st.sampled_from(["planning", "executing", "blocked", "waiting", "done"]),
    "next_actions": st.none() | st.lists(st.sampled_from(["build", "test"]), max_size=2),
    "open_questions": st.none() | st.just(["why?"]),
    "context_summary": st.none() | st.sampled_from(["migrating", "waiting for review"]),
    "owner": st.none() | st.sampled_from(["ann", "bob"]),  # a field that the schema does not know
}
UPDATES = st.lists(st.fixed_dictionaries({}, optional=FIELDS), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(updates=UPDATES, cuts=st.sets(st.integers(0, 5)))
async def test_a_working_state_is_the_sum_of_its_updates_however_they_are_batched(
    memory: Memory, updates: list[Json], cuts: set[int]
) -> None:
    thread = f"t{memory.clock.now().timestamp()}"
    expected: Json = {"kind": "working", "thread_id": thread, "state": "planning"}
    contents = [{"thread_id": thread, "state": "planning"}, *({"thread_id": thread, **one} for one in updates)]
    for content in contents:
        expected = {key: value for key, value in (expected | content).items() if value is not None}
    batches: list[list[CaptureRequest]] = [[]]
    for position, content in enumerate(contents):
        if position in cuts:
            batches.append([])
        batches[-1].append(CaptureRequest(source="test", source_kind=SourceKind.WORKING_STATE, content=content))
    for batch in filter(None, batches):
        memory.clock.forward(timedelta(seconds=1))
        last = (await memory.capture.capture(memory.trust, batch, batch=True))[-1]
    found = await read(memory, last)
    assert found.payload == expected
    assert all(word in (found.text or "") for word in expected.get("next_actions", []))


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, Sensitivity.HIGH])
async def test_an_update_keeps_what_it_does_not_mention_and_a_null_clears(
    memory: Memory, sensitivity: Sensitivity
) -> None:
    first = {"thread_id": "t", "state": "planning", "next_actions": ["sign the zeppelin"], "context_summary": "flight"}
    await memory.remember(SourceKind.WORKING_STATE, first, sensitivity=sensitivity)
    second = {"thread_id": "t", "state": "blocked", "context_summary": None}
    done = await memory.remember(SourceKind.WORKING_STATE, second, sensitivity=sensitivity)
    payload = await payload_of(memory, done)
    assert (payload["next_actions"], payload["state"], "context_summary" in payload) == (
        ["sign the zeppelin"],
        "blocked",
        False,
    )
    assert await first_root(memory, "sign the zeppelin") == done.primary.id


async def test_the_first_working_state_of_a_thread_must_name_its_state(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="must name its state") as refused:
        await work(memory, thread_id="t", next_actions=["x"])
    assert refused.value.path == ["content", "state"]
    await work(memory, thread_id="t", state="planning")
    with pytest.raises(InvalidInput, match="cannot be cleared"):
        await work(memory, thread_id="t", state=None)
    with pytest.raises(InvalidInput, match="thread_id"):
        await work(memory, state="planning")


# Tool calls


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, Sensitivity.HIGH])
async def test_a_result_of_null_differs_from_no_result(memory: Memory, sensitivity: Sensitivity) -> None:
    for fields in ({}, {"result": None}, {"args": None}, {"args": {"q": None}, "result": None}):
        call = await memory.remember(SourceKind.TOOL_OUTPUT, {"tool_name": "find", **fields}, sensitivity=sensitivity)
        (node,) = (await payload_of(memory, call))["tool_graph"]
        assert {key: node[key] for key in ("args", "result") if key in node} == fields
        node = {"id": "c", "tool": "find", **fields}
        whole = await memory.remember(SourceKind.EPISODE, {"tool_graph": [node]}, sensitivity=sensitivity)
        assert (await payload_of(memory, whole))["tool_graph"] == [node]


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, Sensitivity.HIGH])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"error": "hydraulic valve jammed"}, "failed: hydraulic valve jammed"),
        ({"error": {"part": "valve", "fault": "jammed"}}, 'failed: {"part":"valve","fault":"jammed"}'),
        ({"error": "valve jammed", "result": "half up"}, "half up; failed: valve jammed"),
        ({"error": True}, "failed"),
        ({"error": True, "result": "valve jammed"}, "valve jammed; failed"),
        ({"error": False, "result": "up"}, "up"),
        ({"result": "up"}, "up"),
    ],
)
async def test_a_failed_tool_call_is_found_and_rendered_with_its_error(
    memory: Memory, sensitivity: Sensitivity, fields: Json, said: str
) -> None:
    content = {"tool_name": "crane_lift", "args": {"kg": 900}, **fields}
    call = await memory.remember(SourceKind.TOOL_OUTPUT, content, sensitivity=sensitivity)
    assert call.primary.text == 'crane_lift({"kg":900}) → ' + said
    if "jammed" in said:
        request = RetrieveRequest(task_descriptor="which valve jammed", token_budget=1_000)
        found = await memory.retrieve.retrieve(memory.trust, request)
        assert [node.record.id for node in found.nodes if node.root] == [call.primary.id]
        assert "jammed" in (found.rendering or "")


# Plans and skills


@pytest.mark.parametrize("payload", [PLAN, SKILL, SKILL | {"version": "7"}], ids=["plan", "skill", "named"])
async def test_a_plan_or_skill_captured_again_gains_a_source(memory: Memory, payload: Json) -> None:
    first = await procedure(memory, payload)
    memory.clock.forward(timedelta(days=5))
    again = await procedure(memory, payload)
    assert (again.primary.id, again.created, again.primary.version) == (first.primary.id, (), first.primary.version)
    assert again.primary.salience > 0.9
    assert len((again.primary.provenance or {})["sources"]) == 2


async def test_a_plan_version_has_one_content(memory: Memory) -> None:
    first = await procedure(memory, PLAN)
    changed = PLAN | {"nodes": [{"id": "a", "op": "build"}], "edges": []}
    with pytest.raises(InvalidInput, match="stored with other content") as refused:
        await procedure(memory, changed)
    assert refused.value.path == ["content", "version"]
    second = await procedure(memory, changed | {"version": "2"})
    assert ("supersedes", first.primary.id) in {(edge.predicate, edge.target) for edge in second.edges}
    assert (await read(memory, first)).state is RecordState.SUPERSEDED
    with pytest.raises(InvalidInput, match="a later one superseded it"):
        await procedure(memory, PLAN)
    for version, expected in (("1", first), ("2", second), (None, second)):
        found = await memory.lookup.plan(memory.trust, "release", version)
        assert found is not None
        assert found.record.id == expected.primary.id


async def test_a_skill_captured_with_other_content_is_its_next_version(memory: Memory) -> None:
    first = await procedure(memory, SKILL)
    second = await procedure(memory, SKILL | {"recipe": [{"step": "delete it"}]})
    assert (await payload_of(memory, second))["version"] == "2"
    assert (await read(memory, first)).state is RecordState.SUPERSEDED
    third = await procedure(memory, SKILL)
    assert (await payload_of(memory, third))["version"] == "3"
    elsewhere = await procedure(memory, SKILL | {"recipe": [{"step": "wait"}]}, scope="project:x")
    assert "version" not in (await payload_of(memory, elsewhere))
    assert (await read(memory, third)).state is RecordState.ACTIVE


async def test_a_skill_for_other_conditions_stands_beside(memory: Memory) -> None:
    first = await procedure(memory, SKILL)
    trigger = SKILL["triggers"][0] | {"conditions": {"os": "linux"}}
    variant = await procedure(memory, SKILL | {"triggers": [trigger], "recipe": [{"step": "purge"}]})
    assert [(await read(memory, one)).state for one in (first, variant)] == [RecordState.ACTIVE] * 2
    assert (await payload_of(memory, variant))["version"] == "2"


def skill_of(recipe: str, conditions: dict[str, Json | None]) -> Json:
    """A skill with a trigger of each signal, under the conditions given for it."""
    triggers = [{"signal": signal, **({"conditions": one} if one else {})} for signal, one in conditions.items()]
    return SKILL | {"triggers": triggers, "recipe": [{"step": recipe}]}


@pytest.mark.parametrize(
    ("one", "other", "are_variants"),
    [
        ({"s": None}, {"s": {"os": "linux"}}, True),
        ({"s": {"os": "macos"}}, {"s": {"os": "linux"}}, True),
        ({"s": None}, {"s": None}, False),
        ({"s": {"os": "linux"}}, {"s": {"os": ["linux", "macos"]}}, False),
        ({"s": None, "t": None}, {"s": {"os": "linux"}, "t": None}, False),
        ({"s": None, "t": {"os": "macos"}}, {"s": {"os": "linux"}, "t": {"os": "linux"}}, True),
        ({"s": None}, {"t": {"os": "linux"}}, False),
    ],
)
async def test_a_skill_with_conditions_specialises_one_without_for_the_same_signal(
    memory: Memory, one: dict[str, Json | None], other: dict[str, Json | None], are_variants: bool
) -> None:
    for scope, pair in (("project:a", (one, other)), ("project:b", (other, one))):
        first, second = [
            await procedure(memory, skill_of(recipe, conditions), scope=scope)
            for recipe, conditions in zip(("purge", "wipe"), pair, strict=True)
        ]
        expected = RecordState.ACTIVE if are_variants else RecordState.SUPERSEDED
        assert (await read(memory, first)).state is expected
        assert (await read(memory, second)).state is RecordState.ACTIVE


async def test_statistics_do_not_make_a_version(memory: Memory) -> None:
    first = await procedure(memory, SKILL)
    again = await procedure(memory, SKILL | {"performance": {"success_count": 3}})
    assert again.primary.id == first.primary.id
    assert (await payload_of(memory, again))["performance"] == {"success_count": 3}


async def test_versions_of_one_batch_follow_each_other(memory: Memory) -> None:
    steps = ["clear it", "clear it", "delete it", "wipe it"]
    requests = [
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content=SKILL | {"recipe": [{"step": step}]},
            proposed_type=MemoryType.COMPETENCE,
        )
        for step in steps
    ]
    done = await memory.capture.capture(memory.trust, requests, batch=True)
    assert done[0].primary.id == done[1].primary.id
    found = [await read(memory, one) for one in done]
    assert [(one.state, (one.payload or {}).get("version")) for one in found[1:]] == [
        (RecordState.SUPERSEDED, None),
        (RecordState.SUPERSEDED, "2"),
        (RecordState.ACTIVE, "3"),
    ]


async def test_two_first_captures_of_a_plan_at_once_are_one_record(memory: Memory) -> None:
    same = await asyncio.gather(*(procedure(memory, PLAN) for _ in range(5)))
    assert len({one.primary.id for one in same}) == 1
    other = [PLAN | {"plan_id": "other", "intent": f"intent {number}"} for number in range(5)]
    done = await asyncio.gather(*(procedure(memory, one) for one in other), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["Captured"] + ["InvalidInput"] * 4
    async with memory.database.engine.begin() as connection:
        plans = await connection.execute(text("SELECT count(*) FROM record WHERE type = 6"))
        assert plans.scalar_one() == 2


async def test_a_plan_of_another_sensitivity_is_another_plan(memory: Memory) -> None:
    await procedure(memory, PLAN, sensitivity=Sensitivity.HIGH)
    low = trust_of(ceiling=Sensitivity.LOW)
    done = await procedure(memory, PLAN | {"intent": "other"}, trust=low)
    assert done.primary.state is RecordState.ACTIVE


async def test_a_plan_without_steps_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="at least one step") as refused:
        await procedure(memory, PLAN | {"nodes": [], "edges": []})
    assert refused.value.path == ["content", "nodes"]


async def test_a_walk_reaches_the_tools_and_trigger_entities_of_a_procedure(memory: Memory) -> None:
    service = {"canonical_name": "billing-api", "primary_type": "Service"}
    team = {"canonical_name": "Platform Crew", "primary_type": "Organization"}
    for entity in (service, team):
        await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    skill, plan = await procedure(memory, SKILL), await procedure(memory, PLAN)
    linked = {
        one.primary.id: {
            (edge.predicate, (found.name if (found := await memory.lookup.record(memory.trust, edge.target)) else None))
            for edge in (await memory.lookup.relations(memory.trust, [one.primary.id]))[one.primary.id]
        }
        for one in (skill, plan)
    }
    assert linked[skill.primary.id] == {
        ("uses", "shell"),
        ("uses", "bazel"),
        ("mentions_entity", "billing-api"),
        ("mentions_entity", "Platform Crew"),
    }
    assert linked[plan.primary.id] == {("uses", "build"), ("uses", "kubectl")}
