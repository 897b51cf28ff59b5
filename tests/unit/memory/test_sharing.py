"""Rounds of captures that share a transaction end whatever becomes of the tasks that wait for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.sharing import SharedTransactions
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.records.candidates import RequestKey

CALLER = cast(Caller, SimpleNamespace(tenant=SimpleNamespace(id=1), trust="trust", scopes=None))
WITHIN_S = 5.0

# Of each capture: at which turn of the loop it arrives and is cancelled, if it is; its thread; how its writing ends.
captures = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.none() | st.integers(0, 12),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from(["written", "refused"]),
    ),
    min_size=1,
    max_size=8,
)


@dataclass
class FakeDraft:
    """What of a draft decides with which others it is written, and how that ends."""

    number: int
    ends: str
    thread: str | None
    scope: str = ""
    sensitivity: int = 1
    position: int = 0


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def play(asked: list[tuple[int, int | None, str | None, str]], *, slow: int) -> None:
    """Play the captures; each one that is not cancelled must be answered, and nothing may be left waiting."""

    async def write(_: Caller, drafts: list[Draft], __: list[RequestKey]) -> list[Captured]:
        await turns(slow)
        if any(cast(Any, draft).ends == "refused" for draft in drafts):
            raise InvalidInput("refused", path=[])
        return [cast(Captured, cast(Any, draft).number) for draft in drafts]

    shared = SharedTransactions(write)

    async def capture(number: int, arrives: int, thread: str | None, ends: str) -> Any:
        await turns(arrives)

        async def alone() -> Captured:
            await turns(slow)
            if ends == "refused":
                raise InvalidInput("refused", path=[])
            return cast(Captured, number)

        draft = FakeDraft(number, ends, thread)
        return await shared.capture(CALLER, cast(Draft, draft), cast(RequestKey, SimpleNamespace(key_hash=None)), alone)

    async def leave(task: asyncio.Task[Any], at: int) -> None:
        await turns(at)
        task.cancel()

    tasks = [
        asyncio.create_task(capture(number, arrives, thread, ends))
        for number, (arrives, _, thread, ends) in enumerate(asked)
    ]
    leaving = [
        asyncio.create_task(leave(task, at)) for task, (_, at, _, _) in zip(tasks, asked, strict=True) if at is not None
    ]
    async with asyncio.timeout(WITHIN_S):
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*leaving)
        for number, (answer, (_, at, _, ends)) in enumerate(zip(answers, asked, strict=True)):
            if isinstance(answer, asyncio.CancelledError):
                assert at is not None
            else:
                assert isinstance(answer, InvalidInput) if ends == "refused" else answer == number
        # What was cancelled leaves its place, so that the next captures of its thread are written.
        for thread in ("a", "b"):
            assert await capture(99, 0, thread, "written") == 99
        await turns(3)
    assert not shared._queues


@examples(300)
@given(asked=captures, slow=st.integers(0, 6))
def test_every_capture_is_answered_and_those_that_leave_hold_up_none(
    asked: list[tuple[int, int | None, str | None, str]], slow: int
) -> None:
    asyncio.run(play(asked, slow=slow))


def test_captures_that_leave_as_their_round_begins_hold_up_none() -> None:
    """The first one is written alone while two wait; these leave at each turn of the loop around the next round."""
    for slow in range(5):
        for at in range(14):
            asyncio.run(
                play([(0, None, None, "written"), (1, at, "a", "written"), (1, at, None, "written")], slow=slow)
            )
