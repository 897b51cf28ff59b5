"""Error responses for requests that fail before GraphQL executes, in the form of a GraphQL error."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.responses import JSONResponse

from stratagraph.store.model.errors import RateLimited, StratagraphError

_STATUS = {
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "LIMIT_EXCEEDED": 413,
    "RATE_LIMITED": 429,
    "ARTIFACT_DAMAGED": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 503,
}


def refusal(error: StratagraphError) -> JSONResponse:
    """Return the response to a request that failed with `error`, with the HTTP status of its code."""
    status = _STATUS.get(error.code, 400)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    extensions: dict[str, object] = {}
    if isinstance(error, RateLimited):
        headers |= retry_headers(error)
        extensions["retryAfter"] = retry_after(error)
    return failure(error.message, error.code, status, headers, extensions)


def retry_after(error: RateLimited) -> float:
    """Return the seconds to wait, rounded up to a millisecond."""
    return math.ceil(error.retry_after_s * 1_000) / 1_000


def retry_headers(error: RateLimited) -> dict[str, str]:
    """Return the header that HTTP clients obey, in whole seconds."""
    return {"Retry-After": str(math.ceil(error.retry_after_s))}


def failure(
    message: str,
    code: str,
    status: int,
    headers: Mapping[str, str] | None = None,
    extensions: Mapping[str, object] | None = None,
) -> JSONResponse:
    """Return a response with one error, whose `extensions.code` is `code`, and the HTTP status `status`."""
    return JSONResponse(
        {"errors": [{"message": message, "extensions": {"code": code, **(extensions or {})}}]},
        status_code=status,
        headers=headers,
    )
