"""The MCP server over standard input and output, for the user of this machine, until the input ends or SIGTERM."""

from __future__ import annotations

import asyncio
import importlib.metadata
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from stratagraph.service.mcp.server import Caller, build_server
from stratagraph.service.mcp.tools import SOURCE, Session
from stratagraph_client import AsyncMemory

TIMEOUT_S = 15.0  # for one request to the API, with its retries; clients give up later


def local_memory() -> AbstractAsyncContextManager[AsyncMemory]:
    """Return the memory in the data directory of the settings: of the process that has it open, or else of this one."""
    from stratagraph.service.cli.asking import _embedded_data_dir
    from stratagraph.service.holder import holder_of

    data_dir = _embedded_data_dir()
    holder = holder_of(data_dir) if data_dir else None
    return remote_memory((holder.url if holder else None) or "http://127.0.0.1:8000")


def remote_memory(url: str) -> AsyncMemory:
    """Return a client of the service at `url`; the key is that of STRATAGRAPH_API_KEY."""
    return AsyncMemory(url, source=SOURCE, timeout_s=TIMEOUT_S)


async def serve_stdio(opening: AbstractAsyncContextManager[AsyncMemory]) -> None:
    """Answer until standard input ends, SIGTERM or SIGINT; then close the memory. Nothing else is written to stdout."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        async with opening as memory:
            caller = Caller(memory=memory, session=Session(), writes=True)

            @asynccontextmanager
            async def callers(_: ServerRequestContext[Any, Any]) -> AsyncIterator[Caller]:
                yield caller

            server = build_server(callers, version=importlib.metadata.version("stratagraph"))
            async with stdio_server() as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
