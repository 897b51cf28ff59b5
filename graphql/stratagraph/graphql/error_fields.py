"""The fields that every error has, whether it is a member of a result union or an entry of `errors`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stratagraph.store.model.errors import Problem, StratagraphError


def error_fields(error: StratagraphError) -> dict[str, object]:
    """Return the `extensions` of an error in `errors`; the type `MemoryError` has the same fields."""
    return extensions_of(
        error.code,
        retryable=error.retryable,
        path=error.path,
        retry_after=retry_after(error),
        problems=error.problems,
    )


def extensions_of(
    code: str,
    *,
    retryable: bool = False,
    path: Sequence[str] | None = None,
    retry_after: float | None = None,
    problems: Sequence[Problem] = (),
) -> dict[str, object]:
    """Return the `extensions` of an error that is no StratagraphError. Every key is there in every answer."""
    return {
        "code": code,
        "retryable": retryable,
        "path": list(path) if path else None,
        "retryAfter": retry_after,
        "problems": [{"code": one.code, "message": one.message, "path": list(one.path)} for one in problems],
    }


def retry_after(error: StratagraphError) -> float | None:
    """Return the seconds to wait, rounded up to a millisecond; None where they are not known."""
    seconds = error.retry_after_s
    return None if seconds is None else math.ceil(seconds * 1_000) / 1_000
