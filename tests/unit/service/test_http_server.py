"""The HTTP server answers what it has accepted, at a stop too, and each request with its own answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.http_server import serve_http
from stratagraph.service.listening import listen

REQUEST = b"POST /%s HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\nbody"
CLIENTS = 8


class Service:
    """A server whose requests are answered with their path once `release` is set."""

    def __init__(self) -> None:
        self.stop, self.started = asyncio.Event(), asyncio.Event()
        self.asked, self.release = asyncio.Event(), asyncio.Event()

    async def answer(self, request: Request) -> PlainTextResponse:
        await request.body()
        self.asked.set()
        await self.release.wait()
        return PlainTextResponse(request.url.path)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Run the server; yield its port, and at the end wait until it has stopped."""
        app = Starlette(routes=[Route("/{path}", self.answer, methods=["POST"])])
        with listen("127.0.0.1", 0, "PORT") as listener:
            port: int = listener.getsockname()[1]
            serving = asyncio.create_task(
                serve_http(app, listener, OpenConnections(ConnectionLimits()), self.stop, self.started.set)
            )
            await self.started.wait()
            try:
                yield port
            finally:
                self.stop.set()
                await serving


def asking(port: int, sent: bytes) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(sent)
    client.setblocking(False)
    return client


async def received(client: socket.socket) -> bytes:
    """Return all that arrives until the connection is closed, and close it here."""
    found, loop = b"", asyncio.get_running_loop()
    with client:
        while part := await loop.sock_recv(client, 1 << 16):
            found += part
    return found


def run(test: Callable[[Service], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(15):  # less than the grace time of a stop
            await test(Service())

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(bounded())


@pytest.mark.parametrize("steps", range(0, 24, 2))
def test_a_request_that_is_sent_before_a_stop_is_answered(steps: int) -> None:
    """Whatever the server was doing with the connection: it waits to be accepted, is being made, or is made."""

    async def test(service: Service) -> None:
        service.release.set()
        async with service.running() as port:
            clients = [asking(port, REQUEST % b"%d" % number) for number in range(CLIENTS)]
            for _ in range(steps):
                await asyncio.sleep(0)
            service.stop.set()
            answers = await asyncio.gather(*map(received, clients))
        for number, answer in enumerate(answers):
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
            assert answer.endswith(b"/%d" % number)

    run(test)


@pytest.mark.parametrize(
    ("behind", "status"), [(b"garbage\r\n\r\n", b"400"), (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"400")]
)
@pytest.mark.parametrize("complete", [1, 3])
def test_what_is_refused_behind_requests_does_not_take_the_place_of_their_answers(
    behind: bytes, status: bytes, complete: int
) -> None:
    async def test(service: Service) -> None:
        async with service.running() as port:
            client = asking(port, b"".join(REQUEST % b"%d" % number for number in range(complete)) + behind)
            await service.asked.wait()
            service.release.set()
            answers = (await received(client)).split(b"HTTP/1.1 ")[1:]
        assert [answer[:3] for answer in answers] == [*[b"200"] * complete, status]
        assert [answer[-2:] for answer in answers[:-1]] == [b"/%d" % number for number in range(complete)]

    run(test)


def test_a_request_whose_body_is_broken_is_refused_at_once() -> None:
    async def test(service: Service) -> None:
        async with service.running() as port:
            head = b"POST /x HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"
            answer = await received(asking(port, head + b"no number\r\n"))
        assert answer.startswith(b"HTTP/1.1 400 ")

    run(test)
