"""The statements of one capture: each is a round trip to the database, beside BEGIN and COMMIT."""

from __future__ import annotations

from typing import Any

import pytest
from fix_memory import Memory

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.model.enums import SourceKind

KNOWN = {"mentions": [{"name": "Ada", "type": "Person"}, {"name": "src/engine.py", "type": "File"}]}


def event(number: int, **more: Any) -> CaptureRequest:
    content = {"event_kind": "message", "ref": f"event-{number}", "summary": "what was said", "thread_id": "t"}
    return CaptureRequest(source="test", source_kind=SourceKind.EVENT, content=content, context=KNOWN, **more)


def tool_output(number: int) -> CaptureRequest:
    content = {"tool_name": "bash", "args": {"n": number}, "result": "fine", "thread_id": "t", "call_id": f"c{number}"}
    return CaptureRequest(source="test", source_kind=SourceKind.TOOL_OUTPUT, content=content, context=KNOWN)


def observation(number: int, **more: Any) -> CaptureRequest:
    content = {"subject": "Ada", "predicate": "remarked", "object": number, **more}
    return CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content=content, context=KNOWN)


async def statements(memory: Memory, *requests: CaptureRequest) -> int:
    """Return the number of statements that storing `requests` takes."""
    before = memory.database.statements
    await memory.capture.capture(memory.trust, list(requests), batch=len(requests) > 1)
    return memory.database.statements - before


# In each: enter, read the names, hold the entities, one insert into all tables.
@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (event, 5),  # and lock the episode
        (tool_output, 5),
        (observation, 7),  # and look up the predicate, lock the slot, compare the facts
    ],
)
async def test_a_capture_takes_few_statements(memory: Memory, kind: Any, most: int) -> None:
    for number in range(3):
        await statements(memory, kind(number))
    assert await statements(memory, kind(3)) <= most


async def test_an_idempotency_key_adds_two_look_ups(memory: Memory) -> None:
    for number in range(2):
        await statements(memory, event(number))
    known = await statements(memory, event(2))
    assert await statements(memory, event(3, idempotency_key="once")) <= known + 2


async def test_a_new_name_is_locked_and_read_again(memory: Memory) -> None:
    for number in range(2):
        await statements(memory, event(number))
    known = await statements(memory, event(2))
    named = event(3)
    named.context["mentions"] = [{"name": "Grace", "type": "Person"}]  # type: ignore[index]  # given above
    assert await statements(memory, named) <= known + 2


async def test_the_statements_of_a_batch_do_not_grow_with_it(memory: Memory) -> None:
    await statements(memory, event(0), event(1))
    few = await statements(memory, *(event(number) for number in range(10, 20)))
    assert await statements(memory, *(event(number) for number in range(100, 300))) <= few


async def test_neither_do_those_of_a_batch_of_facts_of_one_slot(memory: Memory) -> None:
    await statements(memory, observation(0), observation(1))
    few = await statements(memory, *(observation(number) for number in range(10, 20)))
    assert await statements(memory, *(observation(number) for number in range(100, 300))) <= few


async def test_facts_of_one_slot_that_contradict_each_other_are_written_one_after_the_other(memory: Memory) -> None:
    values = [observation(number, revision_policy="replace") for number in range(5)]
    captured = await memory.capture.capture(memory.trust, [observation(9), *values], batch=True)
    assert [one.primary.state.label for one in captured] == ["superseded"] * 5 + ["active"]
