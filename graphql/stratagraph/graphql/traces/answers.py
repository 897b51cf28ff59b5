"""Answers of OTLP/HTTP: what was taken of a request, or the status that refuses it, in the request's encoding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.failure import retry_headers, status_of
from stratagraph.graphql.traces.bodies import Encoding, UnsupportedBody
from stratagraph.store.model.errors import LimitExceeded, RateLimited, StratagraphError

MAX_REASONS = 5  # of refused spans that an answer quotes
RETRY_S = 5  # seconds after which a request is sent again that could not be stored
_RETRYABLE = (429, 503)
# Codes of google.rpc.Code, by HTTP status.
_CODES = {400: 3, 401: 16, 403: 7, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}


class StatusAnswer(Response):
    """A refusal with a google.rpc.Status as body. The code of the error is recorded when it is sent."""

    def __init__(self, message: str, status: int, code: str, encoding: Encoding, headers: dict[str, str]) -> None:
        number = _CODES.get(status, 2)
        body = (
            orjson.dumps({"code": number, "message": message})
            if encoding is Encoding.JSON
            else _status_message(number, message)
        )
        super().__init__(body, status_code=status, headers=headers, media_type=encoding.value)
        self._code = code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["record"].codes.append(self._code)
        await super().__call__(scope, receive, send)


def accepted(refused: Sequence[str], encoding: Encoding) -> Response:
    """Return the answer to a request whose other spans were stored. `refused` has the reason for each that was not."""
    answer = ExportTraceServiceResponse()
    message = "; ".join(refused[:MAX_REASONS])
    if len(refused) > MAX_REASONS:
        message += f"; and {len(refused) - MAX_REASONS:,} more"
    if refused:
        answer.partial_success.rejected_spans = len(refused)
        answer.partial_success.error_message = message
    if encoding is Encoding.PROTOBUF:
        return Response(answer.SerializeToString(), media_type=encoding.value)
    # In OTLP/JSON, 64-bit integers are strings.
    said = {"partialSuccess": {"rejectedSpans": str(len(refused)), "errorMessage": message}} if refused else {}
    return Response(orjson.dumps(said), media_type=encoding.value)


def refused_request(error: StratagraphError, encoding: Encoding) -> Response:
    """Return the answer to a request that was not stored. A status that an exporter retries has Retry-After."""
    status = 415 if isinstance(error, UnsupportedBody) else status_of(error)
    if isinstance(error, LimitExceeded):
        status = 413
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, RateLimited):
        headers |= retry_headers(error)
    elif status in _RETRYABLE:
        headers["Retry-After"] = str(math.ceil(RETRY_S))
    return StatusAnswer(error.message, status, error.code, encoding, headers)


def _status_message(code: int, message: str) -> bytes:
    """Return a google.rpc.Status in protobuf: the code is field 1, the message field 2."""
    text = message.encode()
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(text)) + text


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
