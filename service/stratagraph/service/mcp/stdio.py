"""The MCP server over standard input and output, for the user of this machine, until the input ends or SIGTERM."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

import stratagraph
from stratagraph.service.mcp.server import Callers, build_server
from stratagraph.service.mcp.tools import SOURCE, Caller, Session
from stratagraph_client import AsyncMemory

TIMEOUT_S = 10.0  # for one request to the API, with its retries; clients give up later


def local_memory() -> AbstractAsyncContextManager[AsyncMemory]:
    """Return the memory in the data directory of the settings: of the process that has it open, or else of this one."""
    return stratagraph.open(source=SOURCE, timeout_s=TIMEOUT_S)


def remote_memory(url: str) -> AbstractAsyncContextManager[AsyncMemory]:
    """Return a client of the service at `url`; the key is that of STRATAGRAPH_API_KEY."""
    return AsyncMemory(url, source=SOURCE, timeout_s=TIMEOUT_S)


async def serve_stdio(opening: AbstractAsyncContextManager[AsyncMemory], *, scope: str | None = None) -> None:
    """Answer until standard input ends, SIGTERM or SIGINT; then close the memory. Nothing else is written to stdout.

    What is stored has the scope. The client is greeted at once; its first call waits for the memory to be opened.
    Raises what opening it raises.
    """
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[AsyncMemory] = loop.create_future()
    stopped, closing = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)

    async def hold() -> None:
        async with opening as memory:
            opened.set_result(memory)
            await closing.wait()

    holding = asyncio.create_task(hold(), name="memory")
    serving = asyncio.create_task(_serve(_OneCaller(opened, scope)), name="mcp")
    stopping = asyncio.create_task(stopped.wait(), name="stop")
    await asyncio.wait({holding, serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    closing.set()
    if not opened.done():
        holding.cancel()
    await asyncio.wait({holding})
    if not holding.cancelled() and (error := holding.exception()) is not None:
        serving.add_done_callback(lambda task: task.cancelled() or task.exception())
        raise error
    if serving.done():
        serving.result()
        return
    os._exit(0)  # a thread waits for the input and cannot be ended; all else has been closed


async def _serve(callers: Callers) -> None:
    server = build_server(callers, version=importlib.metadata.version("stratagraph"))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _OneCaller:
    """The user of this machine, once the memory is open."""

    def __init__(self, opened: asyncio.Future[AsyncMemory], scope: str | None) -> None:
        self._opened = opened
        self._session = Session(scope=scope)

    def writes(self, _: ServerRequestContext[Any, Any]) -> bool:
        return True

    @asynccontextmanager
    async def caller(self, _: ServerRequestContext[Any, Any]) -> AsyncIterator[Caller]:
        yield Caller(memory=await asyncio.shield(self._opened), session=self._session)
