"""Writes to a client are sent together, and what is done after it has gone does nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

import pytest
import uvloop
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.service.connections import ClientTransport

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

    def is_closing(self) -> bool:
        return self.ended != ""

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


async def written(steps: list[bytes]) -> tuple[ClientTransport, Sent]:
    sent = Sent()
    joined = ClientTransport(cast(asyncio.Transport, sent))
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


class Server(asyncio.Protocol):
    """Stops reading once it is asked something, so that it notices only by writing that the client has gone."""

    def __init__(self) -> None:
        self.asked, self.lost = asyncio.Event(), asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.client = ClientTransport(cast(asyncio.Transport, transport))

    def data_received(self, data: bytes) -> None:
        self.client.pause_reading()
        self.asked.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


@pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop])
@pytest.mark.parametrize("resets", [True, False])
def test_what_is_written_or_read_after_the_client_has_gone_is_no_error(
    loop: Callable[[], asyncio.AbstractEventLoop], resets: bool
) -> None:
    errors: list[object] = []

    async def run() -> None:
        running = asyncio.get_running_loop()
        running.set_exception_handler(lambda _, context: errors.append(context))
        made = Server()
        async with await running.create_server(lambda: made, "127.0.0.1", 0) as server, asyncio.timeout(20):
            with socket.create_connection(server.sockets[0].getsockname()) as client:
                if resets:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(b"a request")
                await made.asked.wait()
            while not made.lost.is_set():
                made.client.write(b"part")
                await asyncio.sleep(0)
            for step in (made.client.resume_reading, made.client.pause_reading, made.client.close, made.client.abort):
                made.client.write(b"head")
                made.client.write(b"body")
                step()
                await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    assert errors == []
