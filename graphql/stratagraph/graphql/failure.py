"""Media types of GraphQL responses, and error responses for requests that fail before GraphQL executes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.error_fields import error_fields, extensions_of
from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.web.quality_values import quality_values
from stratagraph.store.model.errors import RateLimited, StratagraphError

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"  # of the GraphQL-over-HTTP specification

_STATUS = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "LIMIT_EXCEEDED": 413,
    "RATE_LIMITED": 429,
    "CLIENT_GONE": 499,  # of no standard, but what proxies log for it
    "ARTIFACT_DAMAGED": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 503,
}


def media_type(accept: Iterable[str]) -> str:
    """Return the media type of the response: GRAPHQL_RESPONSE where the Accept headers prefer it, otherwise JSON."""
    quality = {JSON: 0.0, GRAPHQL_RESPONSE: 0.0} | quality_values(",".join(accept))
    return GRAPHQL_RESPONSE if quality[GRAPHQL_RESPONSE] > 0 and quality[GRAPHQL_RESPONSE] >= quality[JSON] else JSON


class Failure(JSONResponse):
    """A response with one error. Its code is recorded when it is sent."""

    def __init__(
        self,
        message: str,
        status: int,
        headers: Mapping[str, str] | None,
        extensions: Mapping[str, object],
        *,
        media_type: str,
    ) -> None:
        content = {"errors": [{"message": message, "extensions": extensions}]}
        super().__init__(content, status_code=status, headers=headers, media_type=media_type)
        self._code = str(extensions["code"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record: RequestRecord | None = scope.get("state", {}).get("record")
        if record is not None:
            record.codes.append(self._code)
        await super().__call__(scope, receive, send)


def status_of(error: StratagraphError) -> int:
    """Return the HTTP status of a request that failed with `error`."""
    return _STATUS.get(error.code, 400)


def refusal(error: StratagraphError, *, status: int | None = None, media_type: str = JSON) -> JSONResponse:
    """Return the response to a request that failed with `error`; `status` takes the place of that of its code."""
    status = status or status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if isinstance(error, RateLimited):
        headers |= retry_headers(error)
    return Failure(error.message, status, headers, error_fields(error), media_type=media_type)


def retry_headers(error: RateLimited) -> dict[str, str]:
    """Return the header that HTTP clients obey, in whole seconds."""
    return {"Retry-After": str(math.ceil(error.retry_after_s))}


def failure(
    message: str, code: str, status: int, headers: Mapping[str, str] | None = None, *, media_type: str = JSON
) -> JSONResponse:
    """Return a response with one error, whose `extensions.code` is `code`, and the HTTP status `status`."""
    return Failure(message, status, headers, extensions_of(code), media_type=media_type)
