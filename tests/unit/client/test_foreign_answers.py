"""Answers that no Stratagraph service gives: whatever they are, the Python client raises its own error, and soon."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph_client import Memory, StratagraphError, Unavailable
from stratagraph_client.timing import Timing

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["remember", "retrieveGraph", "retract", "erase", "changes", "changed", "record", "playbook"]
ERROR = st.fixed_dictionaries(
    {"message": JSON},
    optional={
        "extensions": JSON
        | st.fixed_dictionaries(
            {"code": JSON | st.sampled_from(["VERSION_CONFLICT", "RATE_LIMITED"])},
            optional={"problems": JSON | st.lists(JSON), "path": JSON, "retryAfter": JSON, "retryable": JSON},
        )
    },
)
FIELD = JSON | st.fixed_dictionaries(
    {"code": JSON, "retryable": JSON}, optional={"message": JSON, "results": JSON, "receipt": JSON, "captures": JSON}
)
ANSWER = st.one_of(
    JSON,
    st.fixed_dictionaries({"errors": JSON | st.lists(ERROR | JSON)}),
    st.fixed_dictionaries(
        {"data": JSON | st.dictionaries(st.sampled_from(NAMES), FIELD | st.builds(dict, results=JSON))}
    ),
)
CALLS: list[Callable[[Memory], Any]] = [
    lambda memory: memory.remember("x"),
    lambda memory: memory.recall("x"),
    lambda memory: memory.explain("1"),
    lambda memory: memory.forget("1", "x"),
    lambda memory: memory.forget("1", "x", erase=True),
    lambda memory: memory.lessons("x"),
    lambda memory: memory.position(),
    lambda memory: next(iter(memory.changes())),
    lambda memory: next(iter(memory.changes("p"))),
]


class Clock:
    """A clock that only pauses move; requests take 10 ms."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked_at: list[float] = []

    def ask(self) -> None:
        self.now += 0.01
        self.asked_at.append(self.now)

    def sleep(self, seconds: float) -> None:
        assert 0 <= seconds <= 1e9
        self.now += seconds


def answered(clock: Clock, response: Callable[[], httpx.Response]) -> Memory:
    """Return a client whose every request has this answer."""

    def answer(request: httpx.Request) -> httpx.Response:
        clock.ask()
        return response()

    memory = Memory("http://host", transport=httpx.MockTransport(answer))
    memory.operations.timing = Timing(clock=lambda: clock.now, sleep=clock.sleep, chance=random.Random(1))
    return memory


def stream(content: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)


BROKEN = [
    b'{"errors":"boom"}',
    b'{"errors":[1,null]}',
    b'{"errors":[{"message":"m","extensions":"x"}]}',
    b'{"errors":[{"message":"m","extensions":{"problems":[7]}}]}',
    b'{"errors":[{"message":"m","extensions":{"retryable":true,"retryAfter":NaN}}]}',
    b'{"errors":[{"message":"m","extensions":{"retryAfter":1' + b"0" * 400 + b"}}]}",
    b'{"data":[1]}',
    b'{"data":{}}',
    b'{"data":{"remember":7}}',
    b"DEEP",
    b"\xff",
]


def deep(content: bytes) -> bytes:
    return content.replace(b"DEEP", b"[" * 100_000)


@given(st.sampled_from(BROKEN) | ANSWER.map(lambda answer: json.dumps(answer).encode()), st.sampled_from(CALLS))
def test_what_a_broken_answer_raises_is_an_error_of_the_client(content: bytes, call: Callable[[Memory], Any]) -> None:
    with (
        answered(Clock(), lambda: httpx.Response(200, content=deep(content))) as memory,
        pytest.raises(StratagraphError),
    ):
        call(memory)


@given(st.sampled_from(BROKEN) | ANSWER.map(lambda answer: json.dumps(answer).encode()) | st.binary(max_size=30))
def test_so_is_what_a_broken_event_of_a_stream_raises(content: bytes) -> None:
    event = b"id: \xc3\xa9\ndata: " + deep(content) + b"\n\n"
    with answered(Clock(), lambda: stream(event)) as memory, pytest.raises(StratagraphError):
        next(iter(memory.changes("p")))


def test_a_stream_of_what_is_no_event_is_asked_for_after_growing_pauses_and_given_up() -> None:
    clock = Clock()
    with answered(clock, lambda: stream(b"data: x\n\n" * 3)) as memory, pytest.raises(Unavailable):
        next(iter(memory.changes("p")))
    assert clock.now < 700
    assert len(clock.asked_at) < 250  # about one in four seconds; 13 a second would be 7,800


@pytest.mark.parametrize("coding", ["gzip", "identity", "gzip, gzip", "br"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_larger_than_any_of_the_service_is_refused(coding: str, kind: str) -> None:
    packed = gzip.compress(b" " * (160 * 2**20), 1) if coding == "gzip" else b" " * (160 * 2**20)
    sent = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent
        for begin in range(0, len(packed), 2**16):
            sent += 2**16
            yield packed[begin : begin + 2**16]

    headers = {"content-type": kind, "content-encoding": coding}
    memory = answered(Clock(), lambda: httpx.Response(200, headers=headers, content=parts()))
    with memory, pytest.raises(Unavailable, match="not that of a Stratagraph service") as raised:
        next(iter(memory.changes("p"))) if "event" in kind else memory.recall("x")
    assert not raised.value.retryable
    assert sent < 140 * 2**20


@pytest.mark.parametrize(("given_s", "most_s"), [(2.0, 2.0), (None, 601.0)])
def test_an_erasure_ends_at_the_time_given_for_it(given_s: float | None, most_s: float) -> None:
    clock = Clock()
    with answered(clock, lambda: httpx.Response(503)) as memory, pytest.raises(Unavailable):
        memory.forget("1", "x", erase=True, timeout_s=given_s)
    assert most_s / 2 < clock.now <= most_s
