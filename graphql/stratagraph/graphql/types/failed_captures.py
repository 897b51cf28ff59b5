"""Captures that failed inside: how they are listed, retried and dropped."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

import strawberry

from stratagraph.graphql.types.enums import Sensitivity, SourceKind
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.capture import retries
from stratagraph.store.model import enums
from stratagraph.store.records import failed_captures


@strawberry.type(
    description="A capture that failed because of an internal failure. Its input is kept, and not shown here."
)
class FailedCapture:
    candidate_id: strawberry.ID = strawberry.field(description="Id of the capture, a UUID.")
    batch_id: strawberry.ID = strawberry.field(
        description="Id shared by the captures of one request, a UUID; they are retried and dropped together."
    )
    position: int = strawberry.field(description="Position of the capture in its request, from 0.")
    actor: str = strawberry.field(description="Actor that sent the capture.")
    source_kind: SourceKind = strawberry.field(description="Kind of source of the capture.")
    scope: str | None = strawberry.field(
        description="Scope of the record that the capture would become; empty for unscoped, null if it is unknown."
    )
    sensitivity: Sensitivity = strawberry.field(description="Sensitivity of the record that it would become.")
    stage: str = strawberry.field(
        description="Stage that the last attempt reached: commit if writing failed, check if the input was refused."
    )
    error: str = strawberry.field(description="Kind of the last error, never its text.")
    attempts: int = strawberry.field(
        description=f"Number of attempts so far, from 1. After {failed_captures.MAX_ATTEMPTS} it is given up."
    )
    next_try_at: datetime | None = strawberry.field(
        description="Instant in UTC of the next attempt; null where it was given up and is retried by hand only."
    )
    created_at: datetime = strawberry.field(description="Instant in UTC at which the capture failed first.")

    @classmethod
    def of(cls, listed: retries.ListedCapture) -> Self:
        capture = listed.capture
        return cls(
            candidate_id=strawberry.ID(str(capture.id)),
            batch_id=strawberry.ID(str(capture.batch)),
            position=capture.position,
            actor=capture.actor,
            source_kind=enums.SourceKind(capture.source_kind),
            scope=listed.scope,
            sensitivity=capture.sensitivity,
            stage=capture.stage,
            error=capture.error,
            attempts=capture.attempts,
            next_try_at=capture.next_try_at,
            created_at=capture.created_at,
        )


@strawberry.type(description="A page of failed captures.")
class FailedCaptureConnection:
    nodes: list[FailedCapture] = strawberry.field(description="The failed captures of this page, oldest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page.")

    @classmethod
    def of(cls, page: retries.FailedCapturePage) -> Self:
        return cls(
            nodes=[FailedCapture.of(one) for one in page.captures],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )


@strawberry.type(description="A capture that a retry has stored.")
class RetriedCapture:
    candidate_id: strawberry.ID = strawberry.field(description="Id of the capture, a UUID.")
    sequence: str = strawberry.field(
        description="Token of the write; give it as `atLeastSequence` to a retrieval that must reflect the write."
    )
    record: MemoryRecord | None = strawberry.field(
        description="Record that the capture became or was added to; null where the caller may not see it."
    )

    @classmethod
    def of(cls, stored: retries.StoredCapture) -> Self:
        return cls(
            candidate_id=strawberry.ID(str(stored.candidate)),
            sequence=stored.sequence,
            record=MemoryRecord.of(stored.record) if stored.record is not None else None,
        )


@strawberry.type(description="The captures of the request were stored.")
class RetryCaptureSuccess:
    captures: list[RetriedCapture] = strawberry.field(
        description="The captures of the request, in the order in which it had them."
    )


@strawberry.type(description="The failed captures of the request were deleted, with their input.")
class DropCaptureSuccess:
    candidate_ids: list[strawberry.ID] = strawberry.field(description="Ids of the deleted captures, UUIDs.")


RetryCaptureResult = Annotated[
    RetryCaptureSuccess | Refusal,
    strawberry.union("RetryCaptureResult", description="Result of a retry, or the error that refused it."),
]
DropCaptureResult = Annotated[
    DropCaptureSuccess | Refusal,
    strawberry.union("DropCaptureResult", description="Result of dropping a failed request, or the error."),
]
