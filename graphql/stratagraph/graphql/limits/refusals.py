"""HTTP status of operations that were refused or stopped, and which requests need a slot for their body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Send
from strawberry.types import ExecutionResult

from stratagraph.graphql.failure import refusal
from stratagraph.store.model.errors import DeadlineExceeded, LimitExceeded, RateLimited, StratagraphError

LARGE_BODY_BYTES = 64 << 10  # beyond it, a body waits for one of the slots for transfers before it is read


def is_large(request: Request) -> bool:
    """Return whether the body of a request is large, or may be because its length is not announced."""
    length = request.headers.get("content-length")
    if length is None:
        return "transfer-encoding" in request.headers
    return not length.isdecimal() or int(length) > LARGE_BODY_BYTES


def refused_operation(result: ExecutionResult) -> StratagraphError | None:
    """Return the error of an operation that was refused before it ran or stopped at its deadline; else None."""
    if result.data is not None or len(result.errors or ()) != 1:
        return None
    original = result.errors[0].original_error if result.errors else None
    return original if isinstance(original, RateLimited | DeadlineExceeded | LimitExceeded) else None


def with_refusal_status(send: Send, state: Mapping[str, Any]) -> Send:
    """Return a `send` that gives the answer to a refused operation, which `state` names, the status of its error."""

    async def wrapped(message: Message) -> None:
        refused = state.get("refused")
        if refused is not None and message["type"] == "http.response.start":
            response = refusal(refused)
            headers = MutableHeaders(scope=message)
            message["status"] = response.status_code
            if "retry-after" in response.headers:
                headers["Retry-After"] = response.headers["retry-after"]
        await send(message)

    return wrapped
