"""Typed captures and revisions are those of JSON: the same requests, records, errors and warnings."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import Access
from stratagraph.store.model.trust import Trust

SCHEMA = build_schema()
STORED = "replayed primaryRecord { id type payload confidence } receipt { warnings { code path message } }"
CAPTURED = f"{{ __typename ... on MemoryError {{ code message path }} ... on CaptureMemorySuccess {{ {STORED} }} }}"
REMEMBER = f"mutation($input: RememberInput!) {{ remember(input: $input) {CAPTURED} }}"
CAPTURE = f"mutation($input: CaptureMemoryInput!) {{ captureMemory(input: $input) {CAPTURED} }}"
REMEMBER_ALL = f"""mutation($input: RememberAllInput!) {{ rememberAll(input: $input) {{ __typename
  ... on MemoryError {{ message path }} ... on CaptureMemoriesSuccess {{ results {{ {STORED} }} }} }} }}"""
REVISED = """{ __typename ... on MemoryError { code message path }
  ... on RevisionSuccess { record { id state payload } receipt { warnings { code path } } } }"""
SUPERSEDE = f"mutation($input: SupersedeRecordInput!) {{ supersedeRecord(input: $input) {REVISED} }}"
FORK = f"mutation($input: ForkRecordInput!) {{ forkRecord(input: $input) {REVISED} }}"
T = "2026-01-01T00:00:00Z"


async def run(memory: Memory, document: str, given: Any, trust: Trust | None = None) -> Any:
    context = Context(trust or memory.trust, services_of(memory))
    result = await SCHEMA.execute(document, variable_values={"input": given}, context_value=context)
    if result.errors:
        return [error.message for error in result.errors]
    assert result.data is not None
    return next(iter(result.data.values()))


SAME: list[tuple[dict[str, Any], tuple[str, str | None, dict[str, Any]]]] = [
    (
        {"event": {"eventKind": "deploy", "ref": "d7", "summary": "up", "threadId": "t", "extra": {"own": [1]}}},
        ("EVENT", None, {"event_kind": "deploy", "ref": "d7", "summary": "up", "thread_id": "t", "own": [1]}),
    ),
    (
        {"toolOutput": {"toolName": "grep", "args": {"a": 1}, "result": None, "callId": "c", "error": True}},
        ("TOOL_OUTPUT", None, {"tool_name": "grep", "args": {"a": 1}, "result": None, "call_id": "c", "error": True}),
    ),
    (
        {"note": {"text": "The demo is on Friday", "extra": {"mood": "glad"}}},
        (
            "OBSERVATION",
            None,
            {"subject": "notes", "predicate": "memory", "object": "The demo is on Friday", "mood": "glad"},
        ),
    ),
    (
        {"note": {"text": "likes tea", "about": "Ann"}},
        ("OBSERVATION", None, {"subject": "Ann", "predicate": "memory", "object": "likes tea"}),
    ),
    ({"agentTurn": {"role": "user", "text": "hello"}}, ("AGENT_TURN", None, {"role": "user", "text": "hello"})),
    (
        {
            "fact": {
                "subject": "Ann",
                "predicate": "knows",
                "object": "Bo",
                "objectType": "Person",
                "validity": {"mode": "TIMEBOXED", "start": T},
                "evidence": [{"kind": "HUMAN", "ref": "x", "timestamp": T}],
                "revisionPolicy": "REPLACE",
            }
        },
        (
            "OBSERVATION",
            None,
            {
                "subject": "Ann",
                "predicate": "knows",
                "object": "Bo",
                "object_type": "Person",
                "validity": {"mode": "timeboxed", "start": T},
                "evidence": [{"kind": "human", "ref": "x", "timestamp": T}],
                "revision_policy": "replace",
            },
        ),
    ),
    (
        {"workingState": {"threadId": "t", "state": "PLANNING", "nextActions": ["a"], "openQuestions": None}},
        ("WORKING_STATE", None, {"thread_id": "t", "state": "planning", "next_actions": ["a"], "open_questions": None}),
    ),
    (
        {
            "episode": {
                "timeline": [{"t": T, "eventKind": "e", "ref": ""}],
                "toolGraph": [{"id": "a", "tool": "x"}, {"id": "b", "tool": "y", "dependsOn": ["a"]}],
                "outcome": "PARTIAL",
                "threadId": "t",
            }
        },
        (
            "EPISODE",
            None,
            {
                "timeline": [{"t": T, "event_kind": "e", "ref": ""}],
                "tool_graph": [{"id": "a", "tool": "x"}, {"id": "b", "tool": "y", "depends_on": ["a"]}],
                "outcome": "partial",
                "thread_id": "t",
            },
        ),
    ),
    (
        {
            "entity": {
                "canonicalName": "Kit",
                "aliases": [{"value": "K"}],
                "identifiers": [{"namespace": "n", "value": "v"}],
            }
        },
        (
            "OBSERVATION",
            "ENTITY",
            {"canonical_name": "Kit", "aliases": [{"value": "K"}], "identifiers": [{"namespace": "n", "value": "v"}]},
        ),
    ),
    (
        {
            "competence": {
                "skillName": "s",
                "triggers": [{"signal": "x", "conditions": {"a": "b"}}],
                "recipe": [{"step": "do", "tool": "grep"}],
                "performance": {"successCount": 1, "successRate": 0.5},
            }
        },
        (
            "OBSERVATION",
            "COMPETENCE",
            {
                "skill_name": "s",
                "triggers": [{"signal": "x", "conditions": {"a": "b"}}],
                "recipe": [{"step": "do", "tool": "grep"}],
                "performance": {"success_count": 1, "success_rate": 0.5},
            },
        ),
    ),
    (
        {
            "plan": {
                "planId": "p",
                "version": "1",
                "nodes": [{"id": "a", "op": "x"}, {"id": "b", "op": "y", "guards": {"k": 1}}],
                "edges": [{"source": "a", "target": "b", "kind": "CONTROL"}],
            }
        },
        (
            "OBSERVATION",
            "PLAN_GRAPH",
            {
                "plan_id": "p",
                "version": "1",
                "nodes": [{"id": "a", "op": "x"}, {"id": "b", "op": "y", "guards": {"k": 1}}],
                "edges": [{"from": "a", "to": "b", "kind": "control"}],
            },
        ),
    ),
]


@pytest.mark.parametrize(("typed", "json"), SAME, ids=[next(iter(typed)) for typed, _ in SAME])
async def test_a_typed_capture_is_the_same_request_as_one_with_json(
    memory: Memory, typed: dict[str, Any], json: tuple[str, str | None, Any]
) -> None:
    kind, proposed, content = json
    more = {"source": "test", "idempotencyKey": "k", "tags": ["a"], "summary": "s", "timestamp": T}
    context = {"mentions": [{"name": "Ann", "type": "Person"}], "references": [{"ref": "nothing"}], "labels": ["l"]}
    first = await run(memory, REMEMBER, {"memory": typed, "context": context, **more})
    assert first["__typename"] == "CaptureMemorySuccess"
    assert [one["code"] for one in first["receipt"]["warnings"]] == ["REFERENCE_NOT_FOUND"]
    given = {"sourceKind": kind, "content": content, "context": context, "proposedType": proposed, **more}
    again = await run(memory, CAPTURE, given)
    assert again["replayed"], again  # only the same request is
    assert again["primaryRecord"]["id"] == first["primaryRecord"]["id"]


async def test_an_outcome_closes_the_episode_that_it_names(memory: Memory) -> None:
    await memory.turn("hello", thread="t")
    given = {"source": "test", "memory": {"outcome": {"outcomeStatus": "SUCCESS", "threadId": "t", "reason": "done"}}}
    done = await run(memory, REMEMBER, given)
    assert done["primaryRecord"]["payload"]["outcome_reason"] == "done"


async def test_errors_and_warnings_name_the_fields_of_the_typed_input(memory: Memory) -> None:
    async def remembered(typed: dict[str, Any], context: Any = None) -> Any:
        return await run(memory, REMEMBER, {"source": "test", "memory": typed, "context": context})

    call = await remembered({"toolOutput": {"toolName": ""}})
    assert (call["__typename"], call["path"]) == ("InvalidInput", ["memory", "toolOutput", "toolName"])
    assert call["message"].startswith("memory.toolOutput.toolName: ")
    plan = {"planId": "p", "version": "1", "nodes": [{"id": "a", "op": " "}], "edges": []}
    refused = await remembered({"plan": plan})
    assert refused["path"] == ["memory", "plan", "nodes", "0", "op"]
    slip = await remembered({"event": {"extra": {"threadId": "t"}}})
    assert slip["path"] == ["memory", "event", "extra", "threadId"]
    assert slip["message"].startswith("memory.event.extra.threadId: write thread_id")
    twice = await remembered({"event": {"summary": "a", "extra": {"summary": "b"}}})
    assert twice["path"] == ["memory", "event", "extra", "summary"]
    assert twice["message"].startswith("memory.event.extra.summary: ")
    context = {"references": [{"ref": "x", "predicate": "supersedes"}]}
    lineage = await remembered({"event": {}}, context)
    assert lineage["path"] == ["context", "references", "0", "predicate"]
    call = await remembered({"toolOutput": {"toolName": "x", "dependsOn": ["c"]}})
    (warned,) = call["receipt"]["warnings"]
    assert warned["path"] == ["memory", "toolOutput", "dependsOn"]
    assert warned["message"].startswith("memory.toolOutput.dependsOn: ")
    batch: dict[str, Any] = {
        "items": [
            {"source": "a", "memory": {"event": {}}},
            {"source": "a", "memory": {"agentTurn": {"role": "", "text": "x"}}},
        ]
    }
    refused = await run(memory, REMEMBER_ALL, batch)
    assert refused["path"] == ["items", "1", "memory", "agentTurn", "role"]
    assert "memory.agentTurn.role: " in refused["message"]
    assert await memory.value("SELECT count(*) FROM record") == 2


async def test_a_typed_batch_is_stored_in_one_transaction(memory: Memory) -> None:
    items: list[Any] = [
        {"source": "a", "memory": {"event": {"ref": "a"}}},
        {"source": "a", "memory": {"agentTurn": {"role": "u", "text": "x"}}},
    ]
    done = await run(memory, REMEMBER_ALL, {"items": items})
    assert [one["primaryRecord"]["type"] for one in done["results"]] == ["EPISODIC", "EPISODIC"]


@pytest.mark.parametrize("memory_given", [{}, {"event": {}, "agentTurn": {"role": "u", "text": "x"}}, {"event": None}])
async def test_exactly_one_kind_is_given(memory: Memory, memory_given: dict[str, Any]) -> None:
    refused = await run(memory, REMEMBER, {"source": "a", "memory": memory_given})
    assert isinstance(refused, list)
    assert (
        "MemoryInput" in refused[0] or "exactly one" in refused[0].lower() or "must be non-null" in refused[0].lower()
    ), refused
    assert await memory.value("SELECT count(*) FROM record") == 0


async def test_a_record_is_superseded_and_forked_by_a_typed_payload(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo")).primary
    replacement = {"fact": {"subject": "Ann", "predicate": "lives_in", "object": "Rome", "extra": {"own": 1}}}
    given: dict[str, Any] = {"recordId": str(fact.id), "replacement": replacement, "rationale": "moved"}
    assert (await run(memory, SUPERSEDE, given))["__typename"] == "EvidenceRequired"
    given["evidence"] = [{"kind": "HUMAN", "ref": "ticket-7"}]
    done = await run(memory, SUPERSEDE, given)
    assert (done["record"]["payload"]["object"], done["record"]["payload"]["own"]) == ("Rome", 1)
    variant = {"fact": {"subject": "Ann", "predicate": "lives_in", "object": "Bonn"}}
    forked = await run(
        memory,
        FORK,
        {
            "recordId": done["record"]["id"],
            "variant": variant,
            "conditions": {"season": "summer"},
            "evidence": given["evidence"],
            "rationale": "summers",
        },
    )
    assert forked["record"]["payload"]["validity"] == {"mode": "conditional", "conditions": {"season": "summer"}}
    wrong = await run(
        memory,
        SUPERSEDE,
        {**given, "recordId": forked["record"]["id"], "replacement": {"entity": {"canonicalName": "x"}}},
    )
    assert (wrong["__typename"], wrong["path"]) == ("InvalidInput", ["replacement", "entity"])
    bad = {"fact": {"subject": "Ann", "predicate": "lives_in", "object": "x", "validity": {"mode": "CONDITIONAL"}}}
    refused = await run(memory, SUPERSEDE, {**given, "recordId": forked["record"]["id"], "replacement": bad})
    assert refused["path"] == ["replacement", "fact", "validity"]


async def test_an_entity_keeps_what_a_typed_payload_leaves_out_and_a_null_removes(memory: Memory) -> None:
    id_ = await memory.entity("Kit", summary="a cat", primary_type="Pet")
    given = {
        "recordId": str(id_),
        "replacement": {"entity": {"canonicalName": "Kit", "summary": None}},
        "rationale": "x",
    }
    done = await run(memory, SUPERSEDE, given)
    assert done["record"]["payload"] == {"kind": "entity", "canonical_name": "Kit", "primary_type": "Pet"}


async def test_merge_contest_and_erase_take_typed_alternatives(memory: Memory) -> None:
    one, other = await memory.entity("Kit"), await memory.entity("Kitt")
    merge = f"mutation($input: MergeInput!) {{ merge(input: $input) {REVISED} }}"
    ids = {"recordIds": [str(one), str(other)], "rationale": "same"}
    both = await run(memory, merge, {**ids, "payload": {}, "merged": {"entity": {"canonicalName": "Kit"}}})
    assert both["path"] == ["merged"]
    done = await run(memory, merge, {**ids, "merged": {"entity": {"canonicalName": "Kit", "summary": "one"}}})
    assert done["record"]["payload"]["summary"] == "one"
    fact, rival = [(await memory.observe("Ann", "lives_in", place)).primary for place in ("Oslo", "Rome")]
    contest = f"mutation($input: ContestInput!) {{ contest(input: $input) {REVISED} }}"
    given: dict[str, Any] = {"recordId": str(fact.id), "rationale": "doubt"}
    assert (await run(memory, contest, given))["__typename"] == "EvidenceRequired"
    refused = await run(memory, contest, {**given, "because": {"recordId": "x"}, "contestingId": str(rival.id)})
    assert refused["path"] == ["because"]
    refused = await run(memory, contest, {**given, "because": {"recordId": "x"}})
    assert refused["path"] == ["because", "recordId"]
    unused = await run(
        memory, contest, {**given, "contestingId": str(rival.id), "evidence": [{"kind": "human", "ref": "x"}]}
    )
    assert unused["receipt"]["warnings"] == [{"code": "VALUE_NOT_USED", "path": ["evidence"]}]
    doubted = await run(memory, contest, {**given, "because": {"evidence": [{"kind": "HUMAN", "ref": "x"}]}})
    assert doubted["record"]["state"] == "CONTESTED"
    erase = """mutation($input: EraseInput!) { erase(input: $input) { __typename ... on MemoryError { path }
      ... on EraseSuccess { receipt { kind } } } }"""
    refused = await run(memory, erase, {"target": {"scope": "a"}, "recordId": str(fact.id), "rationale": "x"})
    assert refused["path"] == ["target"]
    refused = await run(memory, erase, {"target": {"recordId": "x"}, "rationale": "x"})
    assert refused["path"] == ["target", "recordId"]
    erased = await run(memory, erase, {"target": {"recordId": str(rival.id)}, "rationale": "asked"})
    assert erased["receipt"]["kind"] == "record"
    assert await memory.lookup.record(memory.trust, UUID(str(rival.id))) is None


async def test_a_reader_may_not_remember(memory: Memory) -> None:
    reader = trust_of(access=Access.READ)
    refused = await run(memory, REMEMBER, {"source": "a", "memory": {"event": {}}}, reader)
    assert refused["__typename"] == "Forbidden"


async def test_a_note_is_a_lasting_text_that_is_strengthened_when_it_is_told_again(memory: Memory) -> None:
    document = """mutation($input: RememberInput!) { remember(input: $input) { __typename
      ... on MemoryError { message path }
      ... on CaptureMemorySuccess { primaryRecord { id type name text } createdRecords { id } } } }"""
    told = {"source": "test", "memory": {"note": {"text": "The demo is on Friday"}}}
    first = await run(memory, document, told)
    second = await run(memory, document, told)
    assert first["primaryRecord"]["name"] == first["primaryRecord"]["text"] == "The demo is on Friday"
    assert first["primaryRecord"]["type"] == "SEMANTIC"
    assert second["primaryRecord"]["id"] == first["primaryRecord"]["id"]
    assert second["createdRecords"] == []
    other = await run(memory, document, {"source": "test", "memory": {"note": {"text": "likes tea", "about": "Ann"}}})
    assert other["primaryRecord"]["text"] == "Ann: likes tea"
    empty = await run(memory, document, {"source": "test", "memory": {"note": {"text": ""}}})
    assert (empty["__typename"], empty["path"]) == ("InvalidInput", ["memory", "note", "text"])
    nobody = await run(memory, document, {"source": "test", "memory": {"note": {"text": "x", "about": " "}}})
    assert (nobody["__typename"], nobody["path"]) == ("InvalidInput", ["memory", "note", "about"])
