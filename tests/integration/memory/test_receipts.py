"""Receipts list every stored record that a capture changed, also plans, skills, working states and episodes."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import Memory

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.records.changes import Effect
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.records import MemoryRecord

PLAN = {"plan_id": "release", "version": "1", "nodes": [{"id": "a", "op": "build"}], "edges": []}
SKILL = {"skill_name": "fix cache", "triggers": [{"signal": "mismatch"}], "recipe": [{"step": "clear it"}]}
OTHERS = {
    "release": PLAN | {"version": "2", "intent": "ship"},
    "fix cache": SKILL | {"recipe": [{"step": "delete it"}]},
}


def procedure(content: dict[str, Any]) -> CaptureRequest:
    kind = MemoryType.PLAN_GRAPH if "plan_id" in content else MemoryType.COMPETENCE
    return CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content=content, proposed_type=kind)


def work(**content: Any) -> CaptureRequest:
    return CaptureRequest(source="test", source_kind=SourceKind.WORKING_STATE, content={"thread_id": "t", **content})


def changes(captured: Captured) -> list[tuple[Effect, MemoryRecord]]:
    return [(change.effect, change.record) for change in captured.changes]


def handle(content: dict[str, Any]) -> str:
    return str(content.get("plan_id") or content["skill_name"])


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a batch"])
@pytest.mark.parametrize("content", [PLAN, SKILL], ids=handle)
async def test_receipts_list_versions_that_are_repeated_and_superseded(
    memory: Memory, content: dict[str, Any], together: bool
) -> None:
    requests = [procedure(one) for one in (content, content, OTHERS[handle(content)])]
    first, again, second = await capture(memory, requests, together=together)
    assert changes(first) == []
    ((effect, repeated),) = changes(again)
    assert (effect, repeated.id) == (Effect.REINFORCED, first.primary.id)
    assert repeated.state is (RecordState.SUPERSEDED if together else RecordState.ACTIVE)
    ((effect, displaced),) = changes(second)
    assert (effect, displaced.id, displaced.state) == (Effect.SUPERSEDED, first.primary.id, RecordState.SUPERSEDED)
    if together:
        assert repeated == displaced == first.primary, "all answers show the record as it is after the batch"


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a batch"])
async def test_receipts_list_updated_working_states(memory: Memory, together: bool) -> None:
    requests = [work(state="planning"), work(state="executing"), work(state="done")]
    first, second, third = await capture(memory, requests, together=together)
    assert changes(first) == []
    for captured, then in ((second, "executing"), (third, "done")):
        ((effect, record),) = changes(captured)
        assert (effect, record) == (Effect.REVISED, captured.primary)
        assert (record.payload or {})["state"] == ("done" if together else then)


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "in a batch"])
async def test_the_receipt_of_an_outcome_lists_the_episode_that_it_closes(memory: Memory, together: bool) -> None:
    said = CaptureRequest(
        source="test",
        source_kind=SourceKind.AGENT_TURN,
        content={"role": "user", "text": "go", "thread_id": "t"},
    )
    closing = CaptureRequest(
        source="test", source_kind=SourceKind.OUTCOME, content={"thread_id": "t", "outcome_status": "success"}
    )
    turn, outcome = await capture(memory, [said, closing], together=together)
    assert changes(turn) == []
    # An episode that the same request opened is no stored record that it changed.
    expected = [] if together else [(Effect.REVISED, outcome.primary)]
    assert changes(outcome) == expected


async def capture(memory: Memory, requests: list[CaptureRequest], *, together: bool) -> list[Captured]:
    if together:
        return await memory.capture.capture(memory.trust, requests, batch=True)
    return [(await memory.capture.capture(memory.trust, [request]))[0] for request in requests]
