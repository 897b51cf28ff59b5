"""Errors that a caller can act on, as members of the result unions.

The domain raises `StratagraphError`s; `HANDLERS` maps each class to the GraphQL type that reports it.
"""

from __future__ import annotations

from typing import Self

import strawberry
from strawberry.types.field import StrawberryField

from stratagraph.graphql.error_fields import retry_after
from stratagraph.graphql.types.enums import ErrorCode
from stratagraph.store.model import errors


@strawberry.type(description="One wrong field of a request.")
class Problem:
    code: ErrorCode = strawberry.field(description="Code of the error, for programs.")
    message: str = strawberry.field(description="What is wrong and what to do, for people and models.")
    path: list[str] = strawberry.field(description="Path of the input field, outermost first.")


@strawberry.interface(
    description="An error that a caller can act on. Entries of `errors` have the same fields in `extensions`."
)
class MemoryError:  # noqa: A001 - the contract's name; nothing here means the builtin
    code: ErrorCode = strawberry.field(description="Code of the error, for programs.")
    message: str = strawberry.field(description="What is wrong and what to do, for people and models.")
    retryable: bool = strawberry.field(description="Whether the same request may succeed later.")
    path: list[str] | None = strawberry.field(
        description="Path of the input field that the error concerns, outermost first; null where it concerns none. Of"
        " several wrong fields, that of the first."
    )
    retry_after: float | None = strawberry.field(
        description="Seconds, at least 0, after which the same request may succeed; null where they are not known."
    )
    problems: list[Problem] = strawberry.field(
        description="All wrong fields, in the order of the request, at most 50; empty where the error concerns none."
    )

    @classmethod
    def of(cls, error: errors.StratagraphError) -> Self:
        return cls(
            code=ErrorCode(error.code),
            message=error.message,
            retryable=error.retryable,
            path=error.path or None,
            retry_after=retry_after(error),
            problems=[
                Problem(code=ErrorCode(one.code), message=one.message, path=list(one.path)) for one in error.problems
            ],
        )


@strawberry.type(description="An input field is not valid; `path` names it.")
class InvalidInput(MemoryError):
    pass


@strawberry.type(description="The credential does not allow the operation.")
class Forbidden(MemoryError):
    pass


@strawberry.type(description="The record does not exist, or is not visible to the caller.")
class NotFound(MemoryError):
    pass


@strawberry.type(description="The idempotency key was used for a different request; choose a new key.")
class IdempotencyMismatch(MemoryError):
    pass


@strawberry.type(description="Another active fact of the same subject and predicate holds at the same time.")
class ConditionsOverlap(MemoryError):
    pass


@strawberry.type(description="The operation needs at least one source as evidence.")
class EvidenceRequired(MemoryError):
    pass


@strawberry.type(description="An episodic record cannot be edited; revise what was derived from it.")
class EpisodicImmutable(MemoryError):
    pass


@strawberry.type(description="The record has changed since it was read; read it again and decide again.")
class VersionConflict(MemoryError):
    current: int = strawberry.field(description="Version that the record has now, from 1.")

    @classmethod
    def of(cls, error: errors.StratagraphError) -> Self:
        assert isinstance(error, errors.VersionConflict)
        return cls(
            code=ErrorCode(error.code),
            message=error.message,
            retryable=error.retryable,
            path=error.path or None,
            retry_after=None,
            problems=[],
            current=error.current,
        )


@strawberry.type(description="The record cannot be deleted, since its deletion policy is NEVER.")
class DeletionForbidden(MemoryError):
    pass


@strawberry.type(description="The request exceeds a limit of the service; send less in the field that `path` names.")
class LimitExceeded(MemoryError):
    pass


@strawberry.type(description="The credential has used up its share; wait `retryAfter` seconds.")
class RateLimited(MemoryError):
    pass


@strawberry.type(
    description="The service cannot answer at present; retry with back-off. The message says whether the input was"
    " kept."
)
class Unavailable(MemoryError):
    pass


# The errors of every result union. A field with such a type answers no error that a caller can act on in `errors`.
Refusal = (
    InvalidInput
    | Forbidden
    | NotFound
    | VersionConflict
    | EpisodicImmutable
    | EvidenceRequired
    | ConditionsOverlap
    | IdempotencyMismatch
    | DeletionForbidden
    | LimitExceeded
    | RateLimited
    | Unavailable
)

_PAIRS: tuple[tuple[type[errors.StratagraphError], type[MemoryError]], ...] = (
    (errors.InvalidInput, InvalidInput),
    (errors.Forbidden, Forbidden),
    (errors.RecordNotFound, NotFound),
    (errors.IdempotencyMismatch, IdempotencyMismatch),
    (errors.ConditionsOverlap, ConditionsOverlap),
    (errors.EvidenceRequired, EvidenceRequired),
    (errors.EpisodicImmutable, EpisodicImmutable),
    (errors.VersionConflict, VersionConflict),
    (errors.DeletionForbidden, DeletionForbidden),
    (errors.LimitExceeded, LimitExceeded),
    (errors.RateLimited, RateLimited),
    (errors.StoreUnavailable, Unavailable),
    (errors.MirrorUnavailable, Unavailable),
)


class _Handler:
    """Maps one domain error to one member of the field's union. Implements Strawberry's `ExceptionHandler` protocol."""

    def __init__(self, exception_type: type[errors.StratagraphError], error_type: type[MemoryError]) -> None:
        self.exception_type = exception_type
        self.error_type = error_type

    def handle(
        self, exception: errors.StratagraphError, *, field: StrawberryField, info: strawberry.Info
    ) -> MemoryError | None:
        info.context.record.codes.append(exception.code)
        return self.error_type.of(exception)


HANDLERS = tuple(_Handler(exception_type, error_type) for exception_type, error_type in _PAIRS)
