"""The impact of a revision on derived records, and the queue of their re-evaluation."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.enums import RecordState
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.propagation import impact as revision_impact
from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.store.records import reevaluations


@strawberry.type(description="A derived record, and what a retraction of its source would do to it.")
class ImpactedRecord:
    record: MemoryRecord = strawberry.field(description="The derived record as it is now.")
    becomes: RecordState = strawberry.field(
        description="State that it would have. CONTESTED means that no valid source would be left."
    )
    sources_left: int = strawberry.field(description="Number of sources that would still support it, from 0.")

    @classmethod
    def of(cls, impact: revision_impact.RevisionImpact) -> Self:
        return cls(record=MemoryRecord.of(impact.record), becomes=impact.becomes, sources_left=impact.sources_left)


@strawberry.type(description="Effect of retracting or correcting a record on the records derived from it.")
class RevisionImpact:
    records: list[ImpactedRecord] = strawberry.field(
        description=f"The derived records, nearest first, at most {propagation.BUDGET}."
    )
    complete: bool = strawberry.field(description="Whether every derived record was considered.")


@strawberry.type(description="A derived record in the queue for re-evaluation, because one of its sources changed.")
class Reevaluation:
    record_id: strawberry.ID = strawberry.field(description="Id of the derived record, a UUID.")
    cause_id: strawberry.ID = strawberry.field(description="Id of the record that changed, a UUID.")
    queued_at: datetime = strawberry.field(description="Instant in UTC at which the record was queued.")
    attempts: int = strawberry.field(description="Number of attempts so far, from 0.")
    error: str | None = strawberry.field(description="Class of the last attempt's error; null if there was none.")

    @classmethod
    def of(cls, entry: reevaluations.Reevaluation) -> Self:
        return cls(
            record_id=strawberry.ID(str(entry.record)),
            cause_id=strawberry.ID(str(entry.cause)),
            queued_at=entry.queued_at,
            attempts=entry.attempts,
            error=entry.error,
        )
