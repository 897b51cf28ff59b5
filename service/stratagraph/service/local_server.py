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
from stratagraph.store.model.errors import StratagraphError

AT_A_TIME = 2  # questions; others wait
LONGEST_S = 60.0  # for a question to arrive, and for it to be answered
_log = structlog.get_logger(__name__)


async def serve_local(runtime: Runtime, bound: socket.socket, stop: asyncio.Event) -> None:
    """Answer questions until `stop` is set."""
    slots = asyncio.Semaphore(AT_A_TIME)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(LONGEST_S), slots:
                received = await reader.read(LARGEST)
                while not reader.at_eof() and len(received) < LARGEST:
                    received += await reader.read(LARGEST)
                writer.write(orjson.dumps(await _answer(runtime, received), default=str))
                await writer.drain()
        writer.close()

    bound.setblocking(False)
    async with await asyncio.start_unix_server(answer, sock=bound, backlog=BACKLOG):
        await stop.wait()


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
