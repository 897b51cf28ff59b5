"""Error responses for requests that fail before GraphQL executes, in the form of a GraphQL error."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.telemetry import RequestRecord


class Failure(JSONResponse):
    """A response with one error. Its code is recorded for the metrics when it is sent."""

    def __init__(self, message: str, code: str, status: int, headers: Mapping[str, str] | None) -> None:
        content = {"errors": [{"message": message, "extensions": {"code": code}}]}
        super().__init__(content, status_code=status, headers=headers)
        self._code = code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record: RequestRecord | None = scope.get("state", {}).get("record")
        if record is not None:
            record.codes.append(self._code)
        await super().__call__(scope, receive, send)


def failure(message: str, code: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a response with one error, whose `extensions.code` is `code`, and the HTTP status `status`."""
    return Failure(message, code, status, headers)
