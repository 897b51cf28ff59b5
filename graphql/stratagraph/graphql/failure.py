"""Error responses for requests that fail before GraphQL executes, in the form of a GraphQL error."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


def failure(message: str, code: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a response with one error, whose `extensions.code` is `code`, and the HTTP status `status`."""
    return JSONResponse(
        {"errors": [{"message": message, "extensions": {"code": code}}]}, status_code=status, headers=headers
    )
