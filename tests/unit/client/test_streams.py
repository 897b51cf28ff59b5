"""How the Python client follows a stream that is cut, refused and silent: over scripts, on a clock of its own."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph_client import AsyncMemory, LimitExceeded, Memory, PositionExpired, StratagraphError, Unavailable
from stratagraph_client._async.streams import PATIENCE_S
from stratagraph_client.timing import Timing

HEARTBEAT = ":\n\n"


def change(number: int) -> dict[str, Any]:
    return {
        "position": f"p{number}",
        "kind": "GONE",
        "at": "2026-01-01T00:00:00Z",
        "recordId": f"record {number}",
        "record": None,
        "relationId": None,
        "relation": None,
        "run": None,
        "cause": None,
    }


def event(number: int) -> str:
    return f"id: p{number}\nevent: next\ndata: {json.dumps({'data': {'changed': change(number)}})}\n\n"


def failure(code: str, number: int | None = None) -> str:
    fields = {"code": code, "retryable": code == "RATE_LIMITED", "retryAfter": 2.0 if code == "RATE_LIMITED" else None}
    data = json.dumps({"errors": [{"message": "Not now.", "extensions": fields}]})
    id_ = "" if number is None else f"id: p{number}\n"
    return f"{id_}event: next\ndata: {data}\n\nevent: complete\ndata: \n\n"


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Parts of a stream; a part that is an exception is raised."""

    def __init__(self, parts: list[bytes | Exception]) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            if isinstance(part, Exception):
                raise part
            yield part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part


@dataclass
class Log:
    """A log of `length` changes, whose connections end as `script` says: after so many bytes, or before they begin."""

    length: int
    script: list[int | str]
    now: float = 0.0
    connections: int = 0
    began: list[str] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if "event-stream" not in request.headers["accept"]:  # the present position
            page = {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": "p0"}}
            return httpx.Response(200, json={"data": {"changes": page}})
        step = self.script[self.connections] if self.connections < len(self.script) else "whole"
        self.connections += 1
        self.began.append(request.headers["last-event-id"])
        if step == "refused":
            raise httpx.ConnectError("refused", request=request)
        if step == "away":
            return httpx.Response(503, headers={"retry-after": "1"}, content=b"<html>")
        begin = int(request.headers["last-event-id"][1:])
        text = HEARTBEAT + "".join(event(number) for number in range(begin + 1, self.length + 1))
        parts: list[bytes | Exception]
        if isinstance(step, int):
            parts = [text.encode()[:step]]
        elif step == "silent":
            parts = [HEARTBEAT.encode(), httpx.ReadTimeout("silence", request=request)]
        elif step == "whole":
            parts = [text.encode(), b"event: complete\ndata: \n\n"]
        else:
            parts = [step.encode()]
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(parts))

    def timing(self) -> Timing:
        async def async_sleep(seconds: float) -> None:
            self.sleep(seconds)

        return Timing(clock=lambda: self.now, sleep=self.sleep, async_sleep=async_sleep, chance=random.Random(1))

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def followed(log: Log, *, is_async: bool, after: str | None = None) -> list[str]:
    """Return the ids of the changes, in the order in which they came."""
    transport = httpx.MockTransport(log.answer)

    async def follow() -> list[str]:
        async with AsyncMemory("http://host", transport=transport) as memory:
            memory.operations.timing = log.timing()
            return [str(one.recordId) async for one in memory.changes(after)]

    if is_async:
        return asyncio.run(follow())
    with Memory("http://host", transport=transport) as memory:
        memory.operations.timing = log.timing()
        return [str(one.recordId) for one in memory.changes(after)]


STEPS = st.sampled_from(["refused", "away", "silent", failure("RATE_LIMITED")]) | st.integers(0, 2_000)


@given(st.integers(0, 6), st.lists(STEPS, max_size=8), st.booleans())
def test_every_change_comes_once_and_in_order(length: int, script: list[int | str], is_async: bool) -> None:
    log = Log(length, script)
    assert followed(log, is_async=is_async) == [f"record {number}" for number in range(1, length + 1)]
    assert log.began == sorted(log.began)
    assert log.connections <= len(script) + 1


@pytest.mark.parametrize("is_async", [True, False])
def test_a_service_that_stays_away_is_given_up(is_async: bool) -> None:
    log = Log(1, ["refused"] * 10_000)
    with pytest.raises(Unavailable):
        followed(log, is_async=is_async)
    assert PATIENCE_S - 10 < log.now <= PATIENCE_S


@pytest.mark.parametrize(("code", "class_"), [("POSITION_EXPIRED", PositionExpired), ("LIMIT_EXCEEDED", LimitExceeded)])
def test_an_error_that_stays_is_raised_with_the_position_to_go_on_from(
    code: str, class_: type[StratagraphError]
) -> None:
    log = Log(9, [event(1) + failure(code, 2)])
    got: list[str] = []
    with (
        Memory("http://host", transport=httpx.MockTransport(log.answer)) as memory,
        pytest.raises(class_) as failed,
    ):
        got.extend(str(one.recordId) for one in memory.changes("p0"))
    assert failed.value.position == "p2"
    assert followed(log, is_async=True, after="p2") == [f"record {number}" for number in range(3, 10)]
