"""Upload and download of artifacts over HTTP.

A body is held in memory until its hash is verified, in both directions: an upload that does not match its announced
hash is not stored, and damaged bytes are not sent. For that reason few transfers run at once, and none for long; each
credential has its share of the slots.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NoReturn

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.failure import failure, refusal
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.masking import internal_error
from stratagraph.graphql.web.entity_tags import NOT_MODIFIED, is_known
from stratagraph.graphql.web.ranges import NotSatisfiable, byte_range
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, LimitExceeded, StratagraphError
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.operations import working_for

PATH = "/artifacts"
TRANSFER_S = 300.0  # seconds after which a transfer is aborted
CHUNK_BYTES = 256 << 10
POINTS = 10.0  # of a transfer
POINTS_PER_MIB = 10.0  # of an upload besides, by its Content-Length, or by the size limit where it announces none
_SHA256_BYTES = 32
# A browser must save the file, never show or run it, whatever media type the uploader declared.
_DOWNLOAD_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",  # the right to read the artifact may be withdrawn
}
_log = get_logger(__name__)
_Handler = Callable[[Request, Trust], Awaitable[Response]]


def artifact_routes(artifacts: Artifacts, authentication: Authentication, admission: Admission) -> list[Route]:
    """Return the routes PUT /artifacts, and GET and HEAD /artifacts/sha256:<hash>."""

    def points(request: Request) -> float:
        if request.method != "PUT":
            return POINTS
        _check_content_length(request, artifacts.max_bytes)
        size = int(request.headers.get("content-length", artifacts.max_bytes))
        return POINTS + POINTS_PER_MIB * size / (1 << 20)

    async def put(request: Request, trust: Trust) -> Response:
        uploaded = await artifacts.put(
            trust,
            request.stream(),
            media_type=request.headers.get("content-type"),
            expected=_expected_hash(request),
        )
        return JSONResponse(
            {"sha256": uploaded.sha256.hex(), "uri": uploaded.uri, "size_bytes": uploaded.size_bytes},
            status_code=201 if uploaded.is_new else 200,
            headers={"Location": f"{PATH}/{uploaded.uri}"},
        )

    async def get(request: Request, trust: Trust) -> Response:
        found = await artifacts.get(trust, request.path_params["uri"])
        tag, size = f'"{found.sha256.hex()}"', len(found.data)
        headers = {**_DOWNLOAD_HEADERS, "ETag": tag, "Accept-Ranges": "bytes"}
        if is_known(tag, request.headers.getlist("if-none-match")):
            return Response(status_code=NOT_MODIFIED, headers=headers)
        headers |= {
            "Content-Type": found.media_type or "application/octet-stream",
            "Content-Disposition": f'attachment; filename="sha256-{found.sha256.hex()}"',
        }
        if request.method == "HEAD":  # Range is for GET alone
            return Response(headers={**headers, "Content-Length": str(size)})
        is_same = request.headers.get("if-range", tag) == tag
        try:
            part = byte_range(request.headers.get("range"), size) if is_same else None
        except NotSatisfiable:
            message = f"Range: begins after the end; the artifact has {size:,} bytes. Ask for a part of them."
            return failure(message, "INVALID_INPUT", 416, {"Content-Range": f"bytes */{size}"})
        if part is None:
            return StreamingResponse(_chunks(found.data), headers={**headers, "Content-Length": str(size)})
        headers |= {
            "Content-Range": f"bytes {part.start}-{part.stop - 1}/{size}",
            "Content-Length": str(len(part)),
        }
        return StreamingResponse(
            _chunks(memoryview(found.data)[part.start : part.stop]), status_code=206, headers=headers
        )

    return [
        Route(PATH, _Transfer(put, authentication, admission, points), methods=["PUT"]),
        Route(PATH + "/{uri}", _Transfer(get, authentication, admission, points), methods=["GET"]),
    ]


class _Transfer:
    """An endpoint that authenticates, takes the cost, waits for a slot, and runs its handler within TRANSFER_S."""

    def __init__(
        self,
        handler: _Handler,
        authentication: Authentication,
        admission: Admission,
        points: Callable[[Request], float],
    ) -> None:
        self._handler = handler
        self._authentication = authentication
        self._admission = admission
        self._points = points

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as held:
            try:
                await self._admission.enter(request)
                credential = await self._authentication.credential_of(request)
                await self._admission.pay(credential.party, self._points(request))
                await held.enter_async_context(self._admission.transfer(credential.party))
            except StratagraphError as error:
                await refusal(error)(scope, receive, send)
                return
            try:
                operation = self._admission.operation(credential.party, TRANSFER_S)
                async with asyncio.timeout(TRANSFER_S):
                    with working_for(operation):
                        response = await self._answer(request, credential.trust)
                    await response(scope, receive, send)
            except TimeoutError:
                _log.warning("artifact transfer aborted", seconds=TRANSFER_S)
                raise

    async def _answer(self, request: Request, trust: Trust) -> Response:
        try:
            return await self._handler(request, trust)
        except StratagraphError as error:
            return refusal(error)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected, so the response is not read
        except Exception as error:
            _, message = internal_error(error, place=PATH)
            return failure(message, "INTERNAL", 500)


def _check_content_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise LimitExceeded(
            f"Content-Length: {shown(length)} is not a number of at most {limit} bytes; upload the artifact in"
            " parts, or raise STRATAGRAPH_ARTIFACT_MAX_BYTES."
        )


def _expected_hash(request: Request) -> bytes | None:
    """Return the hash that the request announces, None where it announces none.

    Headers: X-Content-SHA256 in hexadecimal, or Digest: sha-256=<base64>. Raises InvalidInput for a malformed one.
    """
    header = request.headers.get("x-content-sha256")
    if header is not None:
        try:
            digest = bytes.fromhex(header.strip())
        except ValueError:
            digest = b""
        if len(digest) != _SHA256_BYTES:
            _refuse_header("X-Content-SHA256", "64 hexadecimal digits")
        return digest
    header = request.headers.get("digest")
    if header is None:
        return None
    digests = dict(item.strip().partition("=")[::2] for item in header.split(","))
    by_name = {name.lower(): value for name, value in digests.items()}
    try:
        digest = base64.b64decode(by_name.get("sha-256", ""), validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != _SHA256_BYTES:
        _refuse_header("Digest", "sha-256=<base64 of 32 bytes>")
    return digest


def _refuse_header(header: str, form: str) -> NoReturn:
    raise InvalidInput(f"{header}: must have the form {form}; correct it, or leave the header out", path=[header])


async def _chunks(data: bytes | memoryview) -> AsyncIterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(view), CHUNK_BYTES):
        yield bytes(view[start : start + CHUNK_BYTES])
