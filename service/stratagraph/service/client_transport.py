"""A client's connection, on which the parts of a response are sent together, and nothing once it is closed."""

from __future__ import annotations

import asyncio
from typing import Any


class ClientTransport:
    """A transport that sends a write together with the next one, if that follows in the same step of the event loop.

    Uvicorn writes the head and the body of a response one after the other. Each write would be a system call that wakes
    the client, the first of them for a head without a body.

    Once the connection is closed, writing and reading do nothing, as with asyncio's own transports: uvloop's raise an
    error until the protocol is told.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held: bytes | bytearray | memoryview | None = None  # the write that waits for the next one

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._transport.is_closing():
            self._held = None
        elif self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            self._transport.writelines([held, data])

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + len(self._held or b"")

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._held = None
        self._transport.abort()

    def _flush(self) -> None:
        held, self._held = self._held, None
        if held is not None and not self._transport.is_closing():
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
