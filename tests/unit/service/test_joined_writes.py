"""Writes to a client that are sent together."""

from __future__ import annotations

import asyncio
from typing import cast

from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.joined_writes import JoinedWrites

STEP = b""  # in place of a write: the event loop goes on to its next step
parts = st.lists(st.binary(min_size=1, max_size=9) | st.just(STEP), max_size=20)


class Sent:
    """A transport that notes what each system call would send."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes) -> None:
        self.calls.append(data)

    def writelines(self, data: list[bytes]) -> None:
        self.calls.append(b"".join(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


async def written(steps: list[bytes]) -> tuple[JoinedWrites, Sent]:
    sent = Sent()
    joined = JoinedWrites(cast(asyncio.Transport, sent))
    for data in steps:
        if data == STEP:
            await asyncio.sleep(0)
        else:
            joined.write(data)
    return joined, sent


@examples(60)
@given(parts)
def test_what_is_written_arrives_whole_and_in_order_by_the_next_step(steps: list[bytes]) -> None:
    async def run() -> None:
        joined, sent = await written(steps)
        assert sum(map(len, sent.calls)) + joined.get_write_buffer_size() == sum(map(len, steps))
        await asyncio.sleep(0)
        assert b"".join(sent.calls) == b"".join(steps)
        assert joined.get_write_buffer_size() == 0

    asyncio.run(run())


@examples(60)
@given(parts)
def test_closing_sends_what_is_held_and_aborting_drops_it(steps: list[bytes]) -> None:
    async def run() -> None:
        joined, sent = await written(steps)
        joined.close()
        assert (b"".join(sent.calls), sent.ended) == (b"".join(steps), "closed")
        joined, sent = await written(steps)
        before = list(sent.calls)
        joined.abort()
        await asyncio.sleep(0)
        assert (sent.calls, sent.ended) == (before, "aborted")

    asyncio.run(run())


async def test_the_head_and_the_body_of_a_response_are_one_call_and_a_lone_part_does_not_wait() -> None:
    _, sent = await written([b"head", b"body", STEP, b"part", STEP, b"part"])
    assert sent.calls == [b"headbody", b"part"]
    await asyncio.sleep(0)
    assert sent.calls == [b"headbody", b"part", b"part"]
