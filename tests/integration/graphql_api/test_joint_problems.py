"""Over GraphQL, all that is wrong with an input is one answer that writes nothing; a wrong kind of record is named."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust

SCHEMA = build_schema()
PROBLEMS = "__typename ... on MemoryError { code path problems { code path message } }"
EVENT = {"source": "s", "sourceKind": "EVENT", "content": {"event_kind": "build", "ref": "r"}}


async def ask(memory: Memory, document: str, trust: Trust | None = None, **variables: Any) -> Any:
    context = Context(trust or memory.trust, services_of(memory))
    return await SCHEMA.execute(document, variable_values=variables, context_value=context)


async def paths_of(memory: Memory, field: str, input_type: str, given: dict[str, Any]) -> list[str]:
    kind = "query" if field == "retrieveGraph" else "mutation"
    result = await ask(
        memory, f"{kind}($input: {input_type}!) {{ {field}(input: $input) {{ {PROBLEMS} }} }}", input=given
    )
    assert result.errors is None, result.errors
    answer = result.data[field]
    assert answer["__typename"] in ("InvalidInput", "EvidenceRequired", "LimitExceeded"), answer
    assert answer["path"] == answer["problems"][0]["path"]
    return [".".join(one["path"]) for one in answer["problems"]]


async def test_all_items_and_fields_of_a_batch_are_reported_together_and_none_is_stored(memory: Memory) -> None:
    turn = {"source": "s", "sourceKind": "AGENT_TURN", "content": {"role": "user"}}
    items = [EVENT, EVENT | {"source": "", "scope": "x" * 300}, EVENT, turn, EVENT | {"content": "text", "tags": [""]}]
    assert await paths_of(memory, "captureMemories", "CaptureMemoriesInput", {"items": items}) == [
        *("items.1.source", "items.1.scope", "items.3.content.text", "items.4.tags", "items.4.content")
    ]
    assert await memory.value("SELECT count(*) FROM record") == 0
    facts = [EVENT | {"idempotencyKey": "k"}] * 2
    assert await paths_of(memory, "captureMemories", "CaptureMemoriesInput", {"items": facts}) == [
        "items.1.idempotencyKey"
    ]


async def test_the_fields_of_a_payload_are_reported_beside_the_others(memory: Memory) -> None:
    plan = {"plan_id": "p", "version": "1", "nodes": [{"id": 1}], "edges": "none"}
    given = {"source": "s", "sourceKind": "OBSERVATION", "proposedType": "PLAN_GRAPH", "content": plan, "scope": "\0"}
    paths = await paths_of(memory, "captureMemory", "CaptureMemoryInput", given)
    assert paths[0] == "scope"
    assert {"content.nodes.0.op", "content.edges"} <= set(paths)


async def test_wrong_ids_are_reported_with_the_other_fields_of_an_input(memory: Memory) -> None:
    bad = {"recordId": "x", "rationale": " ", "expectedVersion": 0, "payload": []}
    assert await paths_of(memory, "supersede", "SupersedeInput", bad) == [
        *("recordId", "rationale", "expectedVersion", "payload")
    ]
    merge = {"recordIds": ["a", str(uuid4()), "b"], "rationale": ""}
    assert await paths_of(memory, "merge", "MergeInput", merge) == ["recordIds.0", "recordIds.2", "rationale"]
    report = {"retrievalId": "r", "outcome": "SUCCESS", "usedRecordIds": ["u"], "latencyMs": -1.0}
    assert await paths_of(memory, "reportOutcome", "ReportOutcomeInput", report) == [
        *("retrievalId", "usedRecordIds.0", "latencyMs")
    ]
    erase = {"recordId": "x", "rationale": ""}
    assert await paths_of(memory, "erase", "EraseInput", erase) == ["recordId", "rationale"]
    asked = {"taskDescriptor": "", "maxHops": 9, "rootLimit": 0}
    assert await paths_of(memory, "retrieveGraph", "RetrieveGraphInput", asked) == [
        *("taskDescriptor", "rootLimit", "maxHops")
    ]


async def test_all_items_of_a_batch_of_revisions_or_reports_are_reported_together(memory: Memory) -> None:
    good = {"pin": {"recordId": str(uuid4()), "pinned": True, "rationale": "because"}}
    bad = {"penalize": {"recordId": str(uuid4()), "amount": -1.0, "rationale": ""}}
    assert await paths_of(memory, "reviseRecords", "ReviseRecordsInput", {"items": [bad, good, bad]}) == [
        *("items.0.penalize.rationale", "items.0.penalize.amount"),
        *("items.2.penalize.rationale", "items.2.penalize.amount"),
    ]
    report = {"retrievalId": "x", "outcome": "SUCCESS", "usedRecordIds": [], "latencyMs": -1.0}
    assert await paths_of(memory, "reportOutcomes", "ReportOutcomesInput", {"items": [report, report]}) == [
        *("items.0.retrievalId", "items.0.latencyMs", "items.1.retrievalId", "items.1.latencyMs")
    ]


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("query($id: ID!) { planGraph(id: $id) { id } }", "id"),
        ('query($id: String!) { planDiff(planId: $id, from: "1", to: "2") { planId } }', "planId"),
    ],
)
async def test_a_record_of_the_wrong_kind_is_named_to_who_may_read_it(memory: Memory, document: str, name: str) -> None:
    entity = await memory.entity("Alice", sensitivity=Sensitivity.MEDIUM)
    result = await ask(memory, document, id=str(entity))
    (error,) = map(coded, result.errors)
    assert error.extensions is not None
    assert (error.extensions["code"], error.extensions["path"]) == ("INVALID_INPUT", [name])
    assert "type entity, not a plan" in error.message
    low = trust_of(ceiling=Sensitivity.LOW)
    hidden = await ask(memory, document, trust=low, id=str(entity))
    unknown = await ask(memory, document, trust=low, id=str(uuid4()))
    assert hidden.errors is None
    assert hidden.data == unknown.data
