"""Answers the questions that commands on this machine ask over the local socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any

import orjson
import structlog

from stratagraph.service.local_answers import ANSWERS
from stratagraph.service.local_socket import BACKLOG, LARGEST
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import StoreUnavailable, StratagraphError

AT_A_TIME = 2  # questions; others wait
READ_WITHIN_S = 5.0  # a question
LONGEST_S = 60.0  # for a question to wait for its turn and to be answered
_TOO_LONG = {
    "code": StoreUnavailable.code,
    "message": f"The service has not answered within {LONGEST_S:g} s; try again, or look at its log.",
}
_log = structlog.get_logger(__name__)


async def serve_local(runtime: Runtime, bound: socket.socket, stop: asyncio.Event) -> None:
    """Answer questions until `stop` is set."""
    slots = asyncio.Semaphore(AT_A_TIME)
    answering: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # the command has gone, or sends nothing
            async with asyncio.timeout(READ_WITHIN_S):
                received = await _read(reader)
            try:
                async with asyncio.timeout(LONGEST_S), slots:
                    found = await _answer(runtime, received)
            except TimeoutError:
                _log.warning("local question not answered in time", seconds=LONGEST_S)
                found = _TOO_LONG
            writer.write(orjson.dumps(found, default=str))
            async with asyncio.timeout(READ_WITHIN_S):
                await writer.drain()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer), name="local question")
        answering.add(task)
        task.add_done_callback(answering.discard)
        task.add_done_callback(lambda _: writer.close())

    bound.setblocking(False)
    async with await asyncio.start_unix_server(accept, sock=bound, backlog=BACKLOG):
        await stop.wait()
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> bytes:
    received = await reader.read(LARGEST)
    while not reader.at_eof() and len(received) < LARGEST:
        received += await reader.read(LARGEST)
    return received


async def _answer(runtime: Runtime, received: bytes) -> dict[str, Any]:
    """Return the answer to a question, or what is wrong with it."""
    try:
        question = orjson.loads(received)
        return {"answer": await ANSWERS[question["name"]](runtime, question["given"])}
    except StratagraphError as error:
        return {"code": error.code, "message": error.message}
    except Exception as error:
        # Also a question of another version's command, which this one does not know.
        _log.warning("local question not answered", **error_report(error))
        return {}
