"""The errors that the client raises: one class for each thing that a caller can act on.

StratagraphError                 code, message, path, retryable, retry_after, problems
├── InvalidInput                 the request is wrong; `path` and `problems` say where
│   ├── EvidenceRequired         give evidence
│   └── IdempotencyMismatch      the key was used for another request
├── NotFound                     or not visible to this credential
├── Forbidden                    the credential may not do it
│   └── Unauthenticated          no valid credential
├── Conflict                     read again, and decide again
│   └── VersionConflict          `current` is the version that the record has
├── LimitExceeded                ask for less
├── PositionExpired              read the present state, and follow from there
└── Unavailable                  the service cannot answer now; the client has tried again until its deadline
    ├── AnswerLost               the operation may have been carried out; read before you repeat it
    └── RateLimited              `retry_after` seconds from now the request may succeed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict


class Problem(TypedDict):
    """One wrong field of a request. `path` names it, outermost first, or is None."""

    code: str
    message: str
    path: list[str] | None


class StratagraphError(Exception):
    """An operation was refused or failed. `str()` of it says what is wrong and what to do.

    `code` is the code of the API. `path` names the input field, outermost first, or is None; `problems` are all wrong
    fields, each with `code`, `message` and `path`. `retryable` says whether the same request may succeed later, and
    `retry_after` after how many seconds, None where that is not known. `position` is where a stream of changes goes on
    after an event that could not be sent.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "INTERNAL",
        path: list[str] | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        problems: Sequence[Problem] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.path = path
        self.retryable = retryable
        self.retry_after = retry_after
        self.problems = list(problems)
        self.position: str | None = None


class InvalidInput(StratagraphError):
    """The request is wrong; `path` and `problems` say where."""


class EvidenceRequired(InvalidInput):
    """The change needs evidence."""


class IdempotencyMismatch(InvalidInput):
    """The idempotency key was used for another request."""


class NotFound(StratagraphError):
    """There is no such record, or the credential may not see it."""


class Forbidden(StratagraphError):
    """The credential may not do it."""


class Unauthenticated(Forbidden):
    """The request has no valid credential."""


class Conflict(StratagraphError):
    """The stored state does not allow the change; read again, and decide again."""


class VersionConflict(Conflict):
    """The record has another version than the expected one; `current` is the version that it has."""

    current: int | None = None


class LimitExceeded(StratagraphError):
    """The request asks for more than a limit allows."""


class PositionExpired(StratagraphError):
    """The changes after the position are no longer kept; read the present state, and follow from there."""


class Unavailable(StratagraphError):
    """The service cannot answer now, or cannot be reached."""


class AnswerLost(Unavailable):
    """The connection ended before the answer came, and the operation cannot be sent twice; it may have been done."""


class RateLimited(Unavailable):
    """The credential has used its share; `retry_after` says when the request may succeed."""


LONGEST_WAIT_S = 1e9  # beyond any deadline; more is no time to wait
_CLASSES: Mapping[str, type[StratagraphError]] = {
    "INVALID_INPUT": InvalidInput,
    "EVIDENCE_REQUIRED": EvidenceRequired,
    "IDEMPOTENCY_MISMATCH": IdempotencyMismatch,
    "NOT_FOUND": NotFound,
    "FORBIDDEN": Forbidden,
    "DELETION_FORBIDDEN": Forbidden,
    "UNAUTHENTICATED": Unauthenticated,
    "VERSION_CONFLICT": VersionConflict,
    "CONDITIONS_OVERLAP": Conflict,
    "EPISODIC_IMMUTABLE": Conflict,
    "LIMIT_EXCEEDED": LimitExceeded,
    "POSITION_EXPIRED": PositionExpired,
    "DEADLINE_EXCEEDED": Unavailable,
    "UNAVAILABLE": Unavailable,
    "RATE_LIMITED": RateLimited,
}


def error_of(fields: Mapping[str, object], message: str) -> StratagraphError:
    """Return the error that the API describes by `fields`: a member of a result union, or `extensions` of an error."""
    code = str(fields.get("code") or "INTERNAL")
    path, problems, wait_s = fields.get("path"), fields.get("problems"), fields.get("retryAfter")
    error = _CLASSES.get(code, StratagraphError)(
        message,
        code=code,
        path=[str(step) for step in path] if isinstance(path, list) else None,
        retryable=bool(fields.get("retryable")),
        retry_after=float(wait_s) if isinstance(wait_s, int | float) and 0 <= wait_s <= LONGEST_WAIT_S else None,
        problems=[
            Problem(code=str(one.get("code")), message=str(one.get("message")), path=one.get("path"))
            for one in (problems if isinstance(problems, list) else ())
            if isinstance(one, dict)
        ],
    )
    current = fields.get("current")
    if isinstance(error, VersionConflict) and isinstance(current, int):
        error.current = current
    return error
