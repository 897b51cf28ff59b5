"""The transports of httpx by which the clients reach a store in another thread, asynchronously and not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import httpx

from stratagraph.service.library.portal import Answer, Portal


class AsyncPortalTransport(httpx.AsyncBaseTransport):
    """Sends requests through a portal, from any event loop of asyncio. A task that is cancelled hangs up."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = _copy(request, await request.aread())
        answer = await asyncio.wrap_future(self._portal.send(sent))
        stream = _AsyncEvents(self._portal, answer) if answer.is_stream else httpx.ByteStream(answer.body)
        return httpx.Response(answer.status, headers=answer.headers, stream=stream)


class PortalTransport(httpx.BaseTransport):
    """Sends requests through a portal, from any thread."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        future = self._portal.send(_copy(request, request.read()))
        try:
            answer = future.result()
        except BaseException:
            future.cancel()  # at Ctrl-C
            raise
        stream = _Events(self._portal, answer) if answer.is_stream else httpx.ByteStream(answer.body)
        return httpx.Response(answer.status, headers=answer.headers, stream=stream)


def _copy(request: httpx.Request, body: bytes) -> httpx.Request:
    """Return a request of its own for the other thread."""
    return httpx.Request(
        request.method, request.url, headers=request.headers, content=body, extensions=request.extensions
    )


class _AsyncEvents(httpx.AsyncByteStream):
    def __init__(self, portal: Portal, answer: Answer) -> None:
        self._portal = portal
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await asyncio.wrap_future(self._portal.submit(self._answer.next_part()))) is not None:
            yield part

    async def aclose(self) -> None:
        with suppress(httpx.ConnectError):  # where the memory is closed, the stream is too
            await asyncio.wrap_future(self._portal.submit(self._answer.end()))


class _Events(httpx.SyncByteStream):
    def __init__(self, portal: Portal, answer: Answer) -> None:
        self._portal = portal
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._portal.submit(self._answer.next_part()).result()) is not None:
            yield part

    def close(self) -> None:
        with suppress(httpx.ConnectError):
            self._portal.submit(self._answer.end()).result()
