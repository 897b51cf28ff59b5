"""How a request that did not get as far as GraphQL is refused: in the same form as an error of GraphQL's own."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


def failure(message: str, code: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(
        {"errors": [{"message": message, "extensions": {"code": code}}]}, status_code=status, headers=headers
    )
