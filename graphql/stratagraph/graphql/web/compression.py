"""Compression of answers, where the client asks for it: brotli or gzip.

Whole answers and files are compressed, streams of events never, since a compressor holds back what it has. Bytes that
are compressed already, such as pictures, are left as they are.

An answer that is compressed shows by its length how much of it repeats. What that may tell is in docs/security.md.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import Protocol

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stratagraph.graphql.web.quality_values import quality_values

LEAST_BYTES = 1_024  # of an answer that is compressed
MANY_BYTES = 32 << 10  # compressed apart from the event loop
BROTLI_QUALITY = 4  # as fast as gzip at its level 6, and smaller
GZIP_LEVEL = 6
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # with the header of a gzip file
_TYPES = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/graphql-response+json",
        "application/schema+json",
        "application/xml",
        "application/x-ndjson",
        "image/svg+xml",
    }
)
_NEVER = frozenset({"text/event-stream"})
_WHOLE = frozenset({200, 201, 400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 500, 503})


class _Compressor(Protocol):
    def add(self, data: bytes) -> bytes: ...

    def end(self) -> bytes: ...


class _Brotli:
    def __init__(self) -> None:
        self._made = brotli.Compressor(quality=BROTLI_QUALITY)

    def add(self, data: bytes) -> bytes:
        return bytes(self._made.process(data))

    def end(self) -> bytes:
        return bytes(self._made.finish())


class _Gzip:
    def __init__(self) -> None:
        self._made = zlib.compressobj(GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def add(self, data: bytes) -> bytes:
        return self._made.compress(data)

    def end(self) -> bytes:
        return self._made.flush()


_CODINGS: dict[str, Callable[[], _Compressor]] = {"br": _Brotli, "gzip": _Gzip}  # the preferred one first


def accepted_coding(header: str) -> str | None:
    """Return the coding that a header Accept-Encoding prefers, among those offered; None for no compression.

    >>> accepted_coding("gzip, deflate, br"), accepted_coding("gzip;q=1, br;q=0.5"), accepted_coding("br;q=0, *;q=0.1")
    ('br', 'gzip', 'gzip')
    >>> accepted_coding("identity"), accepted_coding("identity;q=1, *;q=0.5"), accepted_coding("gzip;q=x")
    (None, None, None)
    """
    quality = quality_values(header)
    others = quality.get("*", 0.0)
    offered = {name: quality.get(name, others) for name in _CODINGS}
    best = max(offered, key=offered.__getitem__)
    return best if offered[best] > 0 and offered[best] >= quality.get("identity", 0.0) else None


class Compression:
    """Compresses the answers of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding").decode("latin-1")
        if not accepted and scope["method"] == "POST":  # which no cache keeps, so that the answer says nothing of it
            await self._app(scope, receive, send)
            return
        coding = accepted_coding(accepted) if accepted and scope["method"] != "HEAD" else None
        await self._app(scope, receive, _Answer(send, coding).send)


class _Answer:
    """One answer on its way. Its head waits for its first bytes, which decide whether it is compressed."""

    def __init__(self, send: Send, coding: str | None) -> None:
        self._send = send
        self._coding = coding
        self._head: Message | None = None
        self._compressor: _Compressor | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not _is_compressible(message):
                await self._send(message)
                return
            MutableHeaders(scope=message).add_vary_header("Accept-Encoding")
            if self._coding is None:
                await self._send(message)
            else:
                self._head = message
        elif message["type"] == "http.response.body" and (self._head is not None or self._compressor is not None):
            await self._send_part(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            await self._send(message)

    async def _send_part(self, data: bytes, *, is_last: bool) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            if not (is_last and len(data) < LEAST_BYTES):
                self._compressor = _CODINGS[str(self._coding)]()
                _say_compressed(MutableHeaders(scope=head), str(self._coding))
            if is_last and self._compressor is not None:
                data = await self._compressed(data, is_last=True)
                MutableHeaders(scope=head)["Content-Length"] = str(len(data))
                self._compressor = None
            await self._send(head)
        if self._compressor is not None:
            data = await self._compressed(data, is_last=is_last)
        await self._send({"type": "http.response.body", "body": data, "more_body": not is_last})

    async def _compressed(self, data: bytes, *, is_last: bool) -> bytes:
        compressor = self._compressor
        assert compressor is not None

        def compress() -> bytes:
            made = compressor.add(data)
            return made + compressor.end() if is_last else made

        return await asyncio.to_thread(compress) if len(data) > MANY_BYTES else compress()


def _is_compressible(head: Message) -> bool:
    headers = Headers(raw=head["headers"])
    if head["status"] not in _WHOLE or "content-encoding" in headers or "content-range" in headers:
        return False
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    return kind not in _NEVER and (kind.startswith("text/") or kind in _TYPES)


def _say_compressed(headers: MutableHeaders, coding: str) -> None:
    headers["Content-Encoding"] = coding
    del headers["Content-Length"]
    if "accept-ranges" in headers:
        del headers["Accept-Ranges"]  # positions are those of the bytes as they are
    tag = headers.get("etag")
    if tag is not None and not tag.startswith("W/"):
        headers["ETag"] = f"W/{tag}"  # other bytes than those that the tag is of
