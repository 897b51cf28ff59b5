"""Errors a caller can act on, as members of result unions. Domain code raises; `HANDLERS` turns that into these."""

from __future__ import annotations

from typing import Self

import strawberry
from strawberry.types.field import StrawberryField

from stratagraph.graphql.types.enums import ErrorCode
from stratagraph.store.model import errors


@strawberry.interface(description="What went wrong, so that an agent can decide what to do.")
class MemoryError:  # noqa: A001 - the contract's name; nothing here means the builtin
    code: ErrorCode = strawberry.field(description="One thing to act on.")
    message: str = strawberry.field(description="What is wrong and what to do, for people and models.")
    retryable: bool = strawberry.field(description="Whether the same call may succeed later.")
    path: list[str] | None = strawberry.field(description="The input field it concerns.")

    @classmethod
    def of(cls, error: errors.StratagraphError) -> Self:
        return cls(code=ErrorCode(error.code), message=error.message, retryable=error.retryable, path=error.path)


@strawberry.type(description="The input is not valid; `path` names the field.")
class InvalidInput(MemoryError):
    pass


@strawberry.type(description="The credential does not allow it.")
class Forbidden(MemoryError):
    pass


@strawberry.type(description="There is no such record for this caller.")
class NotFound(MemoryError):
    pass


@strawberry.type(description="The idempotency key was used for another request.")
class IdempotencyMismatch(MemoryError):
    pass


@strawberry.type(description="Another active fact holds at the same time.")
class ConditionsOverlap(MemoryError):
    pass


@strawberry.type(description="A fact needs a source.")
class EvidenceRequired(MemoryError):
    pass


@strawberry.type(description="What happened is never edited.")
class EpisodicImmutable(MemoryError):
    pass


@strawberry.type(description="The record has changed since it was read: read it again, then decide.")
class VersionConflict(MemoryError):
    current: int = strawberry.field(description="Its version now.")

    @classmethod
    def of(cls, error: errors.StratagraphError) -> Self:
        assert isinstance(error, errors.VersionConflict)
        return cls(
            code=ErrorCode(error.code),
            message=error.message,
            retryable=error.retryable,
            path=error.path,
            current=error.current,
        )


@strawberry.type(description="The record is kept for ever: its deletion policy is NEVER.")
class DeletionForbidden(MemoryError):
    pass


@strawberry.type(description="Try again shortly; what was sent is not lost.")
class Unavailable(MemoryError):
    pass


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
    (errors.StoreUnavailable, Unavailable),
)


class _Handler:
    """Answers one domain error by one member of the field's union; an `ExceptionHandler` by its shape."""

    def __init__(self, exception_type: type[errors.StratagraphError], error_type: type[MemoryError]) -> None:
        self.exception_type = exception_type
        self.error_type = error_type

    def handle(
        self, exception: errors.StratagraphError, *, field: StrawberryField, info: strawberry.Info
    ) -> MemoryError | None:
        return self.error_type.of(exception)


HANDLERS = tuple(_Handler(exception_type, error_type) for exception_type, error_type in _PAIRS)
