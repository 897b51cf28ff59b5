"""PUT and GET of artifacts over HTTP: bytes do not go through GraphQL.

A body is held in memory until its hash is known, in both directions: nothing is stored that does not match what was
announced, and nothing leaves that is not what was stored. So few transfers run at once, and none for long.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.failure import failure
from stratagraph.memory.artifacts import Artifacts
from stratagraph.store.model.errors import InvalidInput, LimitExceeded, StratagraphError
from stratagraph.store.model.trust import Trust

PATH = "/artifacts"
TRANSFERS = 8  # at once in one process, each holding its bytes up to twice; others wait
TRANSFER_S = 300.0  # a transfer that takes longer is cut off
CHUNK_BYTES = 256 << 10
_SHA256_BYTES = 32
_STATUS = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "LIMIT_EXCEEDED": 413,
    "UNAVAILABLE": 503,
    "INVALID_INPUT": 400,
}
# Whatever the uploader called it, a browser is to save it and never to show or run it.
_HARMLESS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",  # the right to read it may end
}
_log = structlog.get_logger(__name__)
_Handler = Callable[[Request, Trust], Awaitable[Response]]


def artifact_routes(artifacts: Artifacts, authentication: Authentication) -> list[Route]:
    """PUT /artifacts, and GET and HEAD of /artifacts/sha256:<hash>."""
    transfers = asyncio.Semaphore(TRANSFERS)

    async def put(request: Request, trust: Trust) -> Response:
        _refuse_announced(request, artifacts.max_bytes)
        uploaded = await artifacts.put(
            trust,
            request.stream(),
            media_type=request.headers.get("content-type"),
            expected=_announced_hash(request),
        )
        return JSONResponse(
            {"sha256": uploaded.sha256.hex(), "uri": uploaded.uri, "size_bytes": uploaded.size_bytes},
            status_code=201 if uploaded.is_new else 200,
            headers={"Location": f"{PATH}/{uploaded.uri}"},
        )

    async def get(request: Request, trust: Trust) -> Response:
        found = await artifacts.get(trust, request.path_params["uri"])
        headers = {
            **_HARMLESS,
            "Content-Type": found.media_type or "application/octet-stream",
            "Content-Length": str(len(found.data)),
            "Content-Disposition": f'attachment; filename="sha256-{found.sha256.hex()}"',
            "ETag": f'"{found.sha256.hex()}"',
        }
        if request.method == "HEAD":
            return Response(headers=headers)
        return StreamingResponse(_chunks(found.data), headers=headers)

    return [
        Route(PATH, _Transfer(put, authentication, transfers), methods=["PUT"]),
        Route(PATH + "/{uri}", _Transfer(get, authentication, transfers), methods=["GET"]),
    ]


class _Transfer:
    """One way of transfer: credential first, then a place among those under way, then the answer or why not."""

    def __init__(self, handler: _Handler, authentication: Authentication, transfers: asyncio.Semaphore) -> None:
        self._handler = handler
        self._authentication = authentication
        self._transfers = transfers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            trust = await self._authentication.trust_of(request)
        except StratagraphError as error:
            await _refusal(error)(scope, receive, send)
            return
        async with self._transfers:
            try:
                async with asyncio.timeout(TRANSFER_S):
                    response = await self._answer(request, trust)
                    await response(scope, receive, send)
            except TimeoutError:
                _log.warning("artifact transfer cut off", seconds=TRANSFER_S)
                raise

    async def _answer(self, request: Request, trust: Trust) -> Response:
        try:
            return await self._handler(request, trust)
        except StratagraphError as error:
            return _refusal(error)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Exception as error:
            reference = secrets.token_hex(6)
            # The type alone: messages of drivers quote rows, and rows are memories.
            _log.error("internal error", reference=reference, error=type(error).__name__, path=PATH)
            return failure(f"Something went wrong on our side; it is in the log as {reference}.", "INTERNAL", 500)


def _refusal(error: StratagraphError) -> Response:
    status = _STATUS.get(error.code, 500)
    return failure(error.message, error.code, status, headers={"WWW-Authenticate": "Bearer"} if status == 401 else None)


def _refuse_announced(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise LimitExceeded(
            f"The artifact is over {limit} bytes; send it in parts, or raise STRATAGRAPH_ARTIFACT_MAX_BYTES."
        )


def _announced_hash(request: Request) -> bytes | None:
    """What the headers say the bytes are: X-Content-SHA256 in hexadecimal, or Digest: sha-256=<base64>."""
    said = request.headers.get("x-content-sha256")
    if said is not None:
        try:
            digest = bytes.fromhex(said.strip())
        except ValueError:
            digest = b""
        if len(digest) != _SHA256_BYTES:
            _unreadable("X-Content-SHA256", "64 hexadecimal digits")
        return digest
    said = request.headers.get("digest")
    if said is None:
        return None
    digests = dict(item.strip().partition("=")[::2] for item in said.split(","))
    by_name = {name.lower(): value for name, value in digests.items()}
    try:
        digest = base64.b64decode(by_name.get("sha-256", ""), validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != _SHA256_BYTES:
        _unreadable("Digest", "sha-256=<base64 of 32 bytes>")
    return digest


def _unreadable(header: str, form: str) -> NoReturn:
    raise InvalidInput(f"{header}: must read {form}", path=[header])


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(data), CHUNK_BYTES):
        yield bytes(view[start : start + CHUNK_BYTES])
