"""A thread with an event loop that runs one store, and the transports by which clients reach it from other threads."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import httpx
import uvloop

from stratagraph.service.library.store import Store
from stratagraph.store.event_log import as_a_guest

EVENTS = "text/event-stream"
T = TypeVar("T")


class Portal:
    """Runs a store in a thread. `opened` is done once it can be used, or has the error; `closed` when all has ended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._is_closing = False
        self.opened: Future[None] = Future()
        self.closed: Future[None] = Future()
        # Of a process that ends without closing it, it keeps nothing: Postgres is stopped from outside.
        self._thread = threading.Thread(target=self._run, name="stratagraph", daemon=True)

    def start(self) -> None:
        """Begin to open the store."""
        self._thread.start()

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process started the thread, and was not forked since."""
        return self._pid == os.getpid()

    def close(self) -> None:
        """Begin to close the store, also where it is still being opened."""
        self._is_closing = True
        if self._loop is not None and self._main is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._main.cancel)

    def join(self) -> None:
        """Wait for the end of the thread, which has closed the store."""
        self._thread.join()

    def send(self, request: httpx.Request) -> Future[Answer]:
        """Have a request answered. The body of an answer is complete, unless it is a stream of events."""
        return self.submit(self._answer(request))

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `work` in the thread's loop. Raises httpx.ConnectError once that has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise httpx.ConnectError("The memory is closed; open it again.")

    async def _answer(self, request: httpx.Request) -> Answer:
        response = await self._store.answer(request)
        headers = response.headers.raw
        if response.headers.get("content-type", "").startswith(EVENTS):
            return Answer(response.status_code, headers, b"", response)
        try:
            return Answer(response.status_code, headers, b"".join([part async for part in _raw(response)]), None)
        finally:
            await response.aclose()

    def _run(self) -> None:
        try:
            with (
                as_a_guest(),
                suppress(asyncio.CancelledError),
                asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
            ):
                runner.run(self._run_store())
        except BaseException as error:
            if not self.opened.done():
                self.opened.set_exception(error)
        finally:
            if not self.opened.done():
                self.opened.set_exception(asyncio.CancelledError())
            self.closed.set_result(None)

    async def _run_store(self) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        if self._is_closing:
            return
        async with self._store:
            self.opened.set_result(None)
            await asyncio.Event().wait()


class Answer:
    """An answer. Where it is a stream, `events` is the response that has it, which belongs to the thread's loop."""

    def __init__(
        self, status: int, headers: list[tuple[bytes, bytes]], body: bytes, events: httpx.Response | None
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self._events = events
        self._parts = _raw(events) if events is not None else None

    @property
    def is_stream(self) -> bool:
        return self._parts is not None

    async def next_part(self) -> bytes | None:
        """Return the next part of the stream; None at its end."""
        assert self._parts is not None
        return await anext(self._parts, None)

    async def end(self) -> None:
        """Hang up."""
        assert self._events is not None
        await self._events.aclose()


def _raw(response: httpx.Response) -> AsyncIterator[bytes]:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    return aiter(response.stream)
