"""The measures of memory, as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.enums import MemoryType
from stratagraph.memory.records.measures import Measured


@strawberry.type(description="The number of records of one type that the caller may read in full.")
class TypeCount:
    type: MemoryType = strawberry.field(description="Type of the records.")
    total: int = strawberry.field(description="Number of records, from 0, superseded and retracted ones included.")
    current: int = strawberry.field(description="Number of active and contested records, from 0.")


@strawberry.type(description="How many rows of the tenant wait for a background job.")
class QueueDepth:
    queue: str = strawberry.field(description="Name of the queue: failed_captures, given_up_captures, reevaluations.")
    depth: int = strawberry.field(description="Number of rows, from 0, counted to 10,000.")


@strawberry.type(
    description="Measures of the records that the caller may read in full, as of `countedAt`. Current records are"
    " active and contested ones. A rate is null where there is nothing to take it of."
)
class Metrics:
    counted_at: datetime | None = strawberry.field(
        description="The instant as of which the records were counted, some seconds to minutes ago; null before the"
        " first count, when all numbers are 0."
    )
    total: int = strawberry.field(description="Number of records, from 0, superseded and retracted ones included.")
    by_type: list[TypeCount] = strawberry.field(description="The same for each type that has records.")
    active: int = strawberry.field(description="Number of active records, from 0.")
    contested: int = strawberry.field(description="Number of contested records, from 0.")
    pinned: int = strawberry.field(description="Number of current records that are pinned, from 0.")
    audit_entries: int = strawberry.field(description="Number of audit entries of these records, from 0.")
    mean_salience: float | None = strawberry.field(description="Mean salience of the current records, 0 to 1.")
    mean_confidence: float | None = strawberry.field(description="Mean confidence of the current records, 0 to 1.")
    salience_distribution: list[int] = strawberry.field(
        description="Numbers of current records by salience: below 0.2, 0.4, 0.6, 0.8, and from 0.8 to 1."
    )
    created_last_day: int = strawberry.field(description="Number of records created in the last 24 hours, from 0.")
    growth_rate: float | None = strawberry.field(
        description="Records created in the last 24 hours as a share of those from before, from 0; 1 is a doubling."
    )
    competence_success_rate: float | None = strawberry.field(
        description="Share of the executions of current competences that succeeded, 0 to 1. Sealed payloads are left"
        " out."
    )
    plan_reuse_frequency: float | None = strawberry.field(
        description="Mean number of executions of a current plan, from 0. Sealed payloads are left out."
    )
    contradiction_rate: float | None = strawberry.field(
        description="Share of the current records that are contested, 0 to 1."
    )
    revision_rate: float | None = strawberry.field(
        description="Share of all records that were revised or superseded, 0 to 1."
    )
    retrieval_usefulness: float | None = strawberry.field(
        description="Share of the records returned by retrievals with a reported outcome that were used, 0 to 1, of the"
        " whole tenant; null for a credential that may not read all of it."
    )
    mirror_lag_seconds: float | None = strawberry.field(
        description="How far the mirror is behind, in seconds, from 0; null without a mirror."
    )
    queue_depths: list[QueueDepth] | None = strawberry.field(
        description="What waits for background jobs, of the whole tenant; null for a credential that may not read all"
        " of it."
    )

    @classmethod
    def of(cls, found: Measured) -> Self:
        total = found.total
        return cls(
            counted_at=found.counted_at,
            total=total.records,
            by_type=[
                TypeCount(type=type_, total=counts.records, current=counts.current)
                for type_, counts in sorted(found.by_type.items())
            ],
            active=total.active,
            contested=total.contested,
            pinned=total.pinned,
            audit_entries=total.audit_entries,
            mean_salience=found.mean_salience,
            mean_confidence=found.mean_confidence,
            salience_distribution=list(total.fifths),
            created_last_day=total.created_lately,
            growth_rate=found.growth_rate,
            competence_success_rate=found.competence_success_rate,
            plan_reuse_frequency=found.plan_reuse_frequency,
            contradiction_rate=found.contradiction_rate,
            revision_rate=found.revision_rate,
            retrieval_usefulness=found.usefulness,
            mirror_lag_seconds=found.mirror_lag_s,
            queue_depths=(
                [QueueDepth(queue=name, depth=depth) for name, depth in found.queues.items()]
                if found.queues is not None
                else None
            ),
        )
