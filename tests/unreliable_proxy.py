"""A proxy before a service that loses requests and answers, refuses, delays, and cuts streams, as a seed decides."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

FAULTS = ("drop", "lose", "cut", "refuse", "throttle", "delay")
STREAM_FAULTS = ("cut", "cut", "cut", "drop", "refuse")
REFUSAL = b"HTTP/1.1 %s\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class UnreliableProxy:
    """Relays each request over a connection of its own. `share` of them meet a fault; `met` counts which.

    A request is dropped before the service has it, or its answer is lost or cut; a stream is cut after some bytes, or
    goes on in silence. `target` is the URL of the service, and may change while the proxy runs.
    """

    def __init__(self, target: str, *, seed: int, share: float) -> None:
        self.target = target
        self.share = share
        self.met: Counter[str] = Counter()
        self.url = ""
        self._chance = random.Random(seed)
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one request of a connection."""
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer_one(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        body = await reader.readexactly(int(length.group(1))) if length else b""
        is_stream = b"text/event-stream" in head
        faults = STREAM_FAULTS if is_stream else FAULTS
        fault = self._chance.choice(faults) if self._chance.random() < self.share else "none"
        self.met[f"stream: {fault}" if is_stream else fault] += 1
        if fault in ("refuse", "throttle"):
            writer.write(REFUSAL % (b"503 away" if fault == "refuse" else b"429 busy"))
            await writer.drain()
        elif fault != "drop":
            await self._relay(re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head), body, writer, fault, is_stream)

    async def _relay(self, head: bytes, body: bytes, writer: asyncio.StreamWriter, fault: str, is_stream: bool) -> None:
        if fault == "delay":
            await asyncio.sleep(self._chance.uniform(0, 0.05))
        address = urlsplit(self.target)
        upstream, out = await asyncio.open_connection(address.hostname, address.port)
        try:
            out.write(head[:-2] + b"connection: close\r\n\r\n" + body)
            await out.drain()
            if is_stream:
                left = self._chance.randint(500, 6_000) if fault == "cut" else None
                while part := await upstream.read(1 << 14):
                    writer.write(part if left is None else part[:left])
                    await writer.drain()
                    if left is not None and (left := left - len(part)) <= 0:
                        return
            else:
                answer = await upstream.read(-1)
                if fault != "lose":
                    writer.write(answer[: self._chance.randrange(len(answer))] if fault == "cut" else answer)
                    await writer.drain()
        finally:
            out.close()
            with suppress(OSError):
                await out.wait_closed()


@asynccontextmanager
async def unreliable(target: str, *, seed: int, share: float = 0.5) -> AsyncIterator[UnreliableProxy]:
    """Run a proxy before the service at `target`."""
    proxy = UnreliableProxy(target, seed=seed, share=share)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield proxy
        finally:
            await proxy.close()
