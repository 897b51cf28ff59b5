"""Which operations were refused or stopped as a whole, and which requests need a slot for their body."""

from __future__ import annotations

from starlette.requests import Request
from strawberry.types import ExecutionResult

from stratagraph.store.model.errors import ClientGone, DeadlineExceeded, LimitExceeded, RateLimited, StratagraphError

LARGE_BODY_BYTES = 64 << 10  # beyond it, a body waits for one of the slots for transfers before it is read


def is_large(request: Request) -> bool:
    """Return whether the body of a request is large, or may be because its length is not announced."""
    length = request.headers.get("content-length")
    if length is None:
        return "transfer-encoding" in request.headers
    return not length.isdecimal() or int(length) > LARGE_BODY_BYTES


def refused_operation(result: ExecutionResult) -> StratagraphError | None:
    """Return the error of an operation that was refused before it ran or stopped before its end; else None."""
    if result.data is not None or len(result.errors or ()) != 1:
        return None
    original = result.errors[0].original_error if result.errors else None
    return original if isinstance(original, RateLimited | DeadlineExceeded | ClientGone | LimitExceeded) else None
