"""Counts that a caller states are bounded, those of the service are none of the caller's, and all can be counted on."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Merge, Supersede
from stratagraph.store.model.enums import Access, MemoryType, Outcome, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import MAX_COUNT, MAX_LATENCY_MS
from stratagraph.store.records.lessons import count_lessons

Json = dict[str, Any]
SKILL: Json = {"skill_name": "ship", "triggers": [{"signal": "ship the quokka"}], "recipe": [{"step": "x"}]}
PLAN: Json = {"plan_id": "ship", "version": "1", "nodes": [{"id": "a", "op": "x"}], "edges": []}
CLAIMS: Json = {
    "frequency": 2**64 - 1,
    "retrievals": 2**64 - 1,
    "helpful_retrievals": 2**64 - 1,
    "graduated": True,
    "last_retrieved_at": "2026-01-01T00:00:00Z",
}


async def capture(memory: Memory, kind: MemoryType, payload: Json, **more: Any) -> Any:
    return (await memory.remember(SourceKind.OBSERVATION, payload, proposed_type=kind, **more)).primary


async def payload_of(memory: Memory, id_: Any) -> Json:
    record = await memory.lookup.record(memory.trust, id_)
    assert record is not None
    orjson.dumps(record.payload)  # as the API does
    return record.payload or {}


@pytest.mark.parametrize("name", ["success_count", "failure_count", "execution_count"])
async def test_a_count_beyond_the_bound_is_refused(memory: Memory, name: str) -> None:
    kind = MemoryType.PLAN_GRAPH if name == "execution_count" else MemoryType.COMPETENCE
    payload, block = (PLAN, "metrics") if kind is MemoryType.PLAN_GRAPH else (SKILL, "performance")
    with pytest.raises(InvalidInput) as refused:
        await capture(memory, kind, payload | {block: {name: MAX_COUNT + 1}})
    assert refused.value.path == ["content", block, name]


async def test_counts_at_the_bound_are_counted_on_and_merged(memory: Memory) -> None:
    most = {"success_count": MAX_COUNT, "failure_count": MAX_COUNT, "avg_latency_ms": MAX_LATENCY_MS}
    skill = await capture(memory, MemoryType.COMPETENCE, SKILL | {"performance": most})
    other = await capture(memory, MemoryType.COMPETENCE, SKILL | {"skill_name": "b", "performance": most})
    metrics = {"execution_count": MAX_COUNT, "failure_rate": 1.0, "avg_latency_ms": MAX_LATENCY_MS}
    plan = await capture(memory, MemoryType.PLAN_GRAPH, PLAN | {"intent": "ship the quokka", "metrics": metrics})
    asked = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="ship the quokka"))
    report = OutcomeReport(retrieval=asked.id, outcome=Outcome.SUCCESS, used=(skill.id, plan.id), latency_ms=1e10)
    await memory.feedback.report(memory.trust, report)
    assert (await payload_of(memory, skill.id))["performance"]["success_count"] == MAX_COUNT
    assert (await payload_of(memory, plan.id))["metrics"]["execution_count"] == MAX_COUNT
    merge = Merge(record_id=skill.id, others=(other.id,), rationale="the same")
    merged = await memory.revision.revise(memory.trust, merge)
    assert (await payload_of(memory, merged.record.id))["performance"]["failure_count"] == MAX_COUNT


@pytest.mark.parametrize("access", [Access.WRITE, Access.ADMIN])
async def test_the_standing_of_a_lesson_is_for_an_administrator_to_state(memory: Memory, access: Access) -> None:
    """A count of 2^64 - 1 made every answer with the lesson fail once the service had counted a retrieval."""
    lesson: Json = SKILL | {"lesson": {"task": "quokka", "solution": "feed it", **CLAIMS}}
    stored = await capture(memory, MemoryType.COMPETENCE, lesson, trust=trust_of(access=access))
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        await count_lessons(connection, caller.tenant, [stored.id], helpful=[stored.id], at=memory.clock.now())
    block = (await payload_of(memory, stored.id))["lesson"]
    counted = MAX_COUNT if access is Access.ADMIN else 1
    assert (block["retrievals"], block["helpful_retrievals"]) == (counted, counted)
    assert block.get("graduated", False) is (access is Access.ADMIN)
    again = await capture(memory, MemoryType.COMPETENCE, lesson, trust=trust_of(access=Access.WRITE))
    assert again.id == stored.id
    assert (await payload_of(memory, stored.id))["lesson"]["frequency"] == (MAX_COUNT if counted > 1 else 2)


async def test_a_revision_keeps_the_counts_of_a_lesson(memory: Memory) -> None:
    lesson: Json = SKILL | {"lesson": {"task": "quokka", "solution": "feed it"}}
    stored = await capture(memory, MemoryType.COMPETENCE, lesson)
    payload = SKILL | {"lesson": {"task": "quokka", "solution": "feed it well", **CLAIMS}}
    revised = await memory.revision.revise(
        memory.trust, Supersede(record_id=stored.id, rationale="better", payload=payload)
    )
    block = (await payload_of(memory, revised.record.id))["lesson"]
    assert block["solution"] == "feed it well"
    assert not {name for name in CLAIMS if block.get(name) == CLAIMS[name]}
