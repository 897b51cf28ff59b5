"""An HTTP endpoint on loopback that speaks JSON, for servers that tests write: kept connections, and faults."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `after_s` is how long it is kept back. With `pause_s`, its bytes are sent one by one, so far apart."""

    status: int
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    pause_s: float = 0.0


@dataclass
class Endpoint(ABC):
    """A running endpoint that answers POST requests of `path`."""

    path: ClassVar[str]
    url: str = ""
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    @abstractmethod
    async def answer(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        """Return the answer to a request; names of headers are in lower case."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            while line := await reader.readline():
                assert line == f"POST {self.path} HTTP/1.1\r\n".encode()
                headers: dict[str, str] = {}
                while (line := await reader.readline()) not in {b"\r\n", b""}:
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                reply = await self.answer(headers, body)
                head = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
                writer.write(f"HTTP/1.1 {reply.status} X\r\nContent-Length: {len(reply.body)}\r\n{head}\r\n".encode())
                for part in [bytes([byte]) for byte in reply.body] if reply.pause_s else [reply.body]:
                    await asyncio.sleep(reply.pause_s)
                    writer.write(part)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # a client that stopped waiting, or the end of the test
        finally:
            self.connections.discard(task)
            writer.close()


E = TypeVar("E", bound=Endpoint)


@asynccontextmanager
async def running(endpoint: E) -> AsyncIterator[E]:
    """Run an endpoint on a free port of loopback."""
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield endpoint
        for connection in endpoint.connections:
            connection.cancel()
