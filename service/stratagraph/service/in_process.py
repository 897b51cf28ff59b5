"""HTTP within one process: a transport of httpx that calls an ASGI application, and passes on streams as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
from starlette.types import ASGIApp, Message

PARTS = 16  # of a body that are made before they are read
GRACE_S = 20.0  # for which operations under way may take to end at the close


class InProcess(httpx.AsyncBaseTransport):
    """Sends requests to `app`, in the event loop of the caller.

    A caller that is cancelled has hung up: the application then stops a query, and completes a mutation. Raises
    httpx.ReadTimeout where the response does not begin within the request's timeout, and httpx.ConnectError after the
    close.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._running: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        if self._is_closed:
            raise httpx.ConnectError("The application has ended.", request=request)
        exchange = _Exchange(request, body)
        task = asyncio.create_task(exchange.run(self._app), name="request")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("read")):
                start = await asyncio.shield(exchange.started)
        except TimeoutError:
            exchange.hang_up()
            raise httpx.ReadTimeout("The response did not begin in time.", request=request) from None
        except BaseException:
            exchange.hang_up()
            raise
        return httpx.Response(start["status"], headers=start["headers"], stream=exchange)

    async def aclose(self) -> None:
        """Let the requests under way end within GRACE_S, then cancel them."""
        self._is_closed = True
        if not self._running:
            return
        _, left = await asyncio.wait(self._running, timeout=GRACE_S)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)


class _Exchange(httpx.AsyncByteStream):
    """One request and its response, whose body it yields."""

    def __init__(self, request: httpx.Request, body: bytes) -> None:
        url = request.url
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": None,
            "server": None,
        }
        self._body: bytes | None = body  # None once the application has it
        self._parts: asyncio.Queue[bytes | httpx.ReadError | None] = asyncio.Queue(PARTS)
        self._gone = asyncio.Event()
        self.started: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def run(self, app: ASGIApp) -> None:
        """Have the application answer; a failure is that of the connection to it."""
        failed = True
        try:
            await app(self._scope, self._receive, self._send)
            failed = not self.started.done()
        except Exception:
            pass  # it has been logged; as with a server, the client sees the connection end
        finally:
            if not self.started.done():
                self.started.set_exception(httpx.ReadError("The application did not answer."))
                self.started.exception()  # whoever waited may have hung up
            if failed:
                self._drop_parts()
            await self._put(httpx.ReadError("The response is not complete.") if failed else None)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not self.started.done():
                self.started.set_result(message)
        elif message["type"] == "http.response.body" and message.get("body"):
            await self._put(message["body"])

    async def _put(self, part: bytes | httpx.ReadError | None) -> None:
        if not self._gone.is_set():
            await self._parts.put(part)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._parts.get()) is not None:
            if isinstance(part, httpx.ReadError):
                raise part
            yield part

    def hang_up(self) -> None:
        """Tell the application that the client has gone, and drop what it still sends."""
        self._gone.set()
        self._drop_parts()

    def _drop_parts(self) -> None:
        while not self._parts.empty():  # also lets a `put` that waits for room return
            self._parts.get_nowait()

    async def aclose(self) -> None:
        self.hang_up()
