"""What a caller gives that is wrong: InvalidInput with the argument's name, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph_client import InvalidInput, Memory
from stratagraph_client.operations.input_types import AgentTurnInput, FactInput, RetrieveGraphInput

WRONG_CALLS: dict[str, Callable[[Any], Any]] = {
    "text": lambda memory: memory.remember(5),
    "about": lambda memory: memory.remember("x", about=7),
    "name": lambda memory: memory.remember("x", mentions=[1]),
    "tags": lambda memory: memory.remember("x", tags="several"),
    "subject": lambda memory: memory.remember_fact(None, "age", 1),
    "predicate": lambda memory: memory.remember_fact("Tove", 5, 1),
    "value": lambda memory: memory.remember_fact("Tove", "age", {1, 2}),
    "query": lambda memory: memory.recall(None),
    "limit": lambda memory: memory.recall("x", limit="many"),
    "memoryTypes": lambda memory: memory.recall("x", types="SEMANTIC"),
    "excludeThreadIds": lambda memory: memory.recall("x", exclude_threads=5),
    "record_id": lambda memory: memory.correct(5, "x", "why"),
    "reason": lambda memory: memory.forget("id", None),
    "used_ids": lambda memory: memory.report_outcome("id", "SUCCESS", used_ids="id"),
    "task": lambda memory: memory.learn_lesson(5, "x"),
    "speaker": lambda memory: memory.thread().__enter__().say("user", "hello", speaker=5),
}


def offline() -> tuple[Memory, list[httpx.Request]]:
    """Return a client, and the requests that it has sent."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(500)

    return Memory("http://host", transport=httpx.MockTransport(answer), timeout_s=0.0), sent


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_argument_is_named_and_nothing_is_sent(name: str) -> None:
    memory, sent = offline()
    with pytest.raises(InvalidInput, match=rf"\b{name}\b") as refused:
        WRONG_CALLS[name](memory)
    assert refused.value.code == "INVALID_INPUT"
    assert refused.value.path
    assert refused.value.problems
    assert sent == []


# What JSON, or an encoding of it as text, has no form for.
LEAVES = st.sampled_from(
    [math.nan, math.inf, -math.inf, "\ud800", b"\xff", {"SECRET"}, object(), 1j, type("Own", (), {})()]
)
STEPS = st.lists(st.sampled_from(["key", "other"]) | st.integers(0, 2), max_size=4)


def nested(leaf: object, steps: list[str | int]) -> Any:
    """Return a value in which the leaf is at a place."""
    value = leaf
    for step in reversed(steps):
        value = {step: value, "fine": [1, None]} if isinstance(step, str) else [0] * step + [value, "fine"]
    return value


@given(LEAVES, STEPS)
def test_a_value_that_json_cannot_hold_is_named_by_its_place(leaf: object, steps: list[str | int]) -> None:
    memory, sent = offline()
    place = ".".join(map(str, steps))
    with pytest.raises(InvalidInput) as fact:
        memory.remember_fact("Tove", "has", nested(leaf, steps))
    with pytest.raises(InvalidInput) as changes:
        memory.correct("id", {"object": nested(leaf, steps)}, "why")
    for error, beginning in ((fact.value, "object"), (changes.value, "changes.object")):
        assert ".".join(error.path or []).endswith(f"{beginning}.{place}".rstrip("."))
        assert "SECRET" not in str(error)
    if isinstance(leaf, set | complex):  # which variables of the caller's own have as a list, and as a text
        return
    with pytest.raises(InvalidInput) as own:
        memory.operations.execute("query Q($v: JSON) { q(v: $v) }", "Q", {"v": nested(leaf, steps)})
    assert own.value.path is not None
    assert own.value.path[0] == "v"
    assert sent == []


def test_a_value_within_itself_is_refused() -> None:
    memory, sent = offline()
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidInput, match="value"):
        memory.remember_fact("Tove", "has", value)
    with pytest.raises(InvalidInput, match="v"):
        memory.operations.execute("query Q($v: JSON) { q(v: $v) }", "Q", {"v": value})
    assert sent == []


def test_inputs_of_operations_are_checked_alike_and_say_nothing_of_their_values() -> None:
    with pytest.raises(InvalidInput) as refused:
        RetrieveGraphInput(taskDescriptor=["SECRET"], rootLimit="SECRET")
    assert [one["path"] for one in refused.value.problems] == [["rootLimit"], ["taskDescriptor"]]
    assert "SECRET" not in f"{refused.value} {refused.value.problems}"
    with pytest.raises(InvalidInput, match="object"):
        FactInput(subject="a", predicate="b")  # type: ignore[call-arg]
    turn = AgentTurnInput(role="user", text="hello", threadId="1")
    with pytest.raises(InvalidInput, match="speaker"):
        turn.speaker = 5  # type: ignore[assignment]
