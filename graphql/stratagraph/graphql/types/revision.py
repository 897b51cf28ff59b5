"""The results of the revisions."""

from __future__ import annotations

from typing import Annotated, Self

import strawberry

from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.receipts import CaptureReceipt
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.relations import Relation
from stratagraph.memory.revise.service import Revised


@strawberry.type(description="The revision was stored, in one transaction.")
class RevisionSuccess:
    record: MemoryRecord = strawberry.field(
        description="The record that is current after the revision: the new record after `supersede` and `fork`; the"
        " record as it last was after `deleteRecord`."
    )
    records: list[MemoryRecord] = strawberry.field(
        description="Every record that was created or changed, derived records whose state changed included."
    )
    edges: list[Relation] = strawberry.field(description="The relations that the revision created.")
    receipt: CaptureReceipt = strawberry.field(description="Proof that the revision was stored.")
    queued: int = strawberry.field(
        description="Number of derived records that wait to be re-evaluated by a background job, from 0; see"
        " `reevaluations`."
    )
    replayed: bool = strawberry.field(
        description="Whether this is the result of an earlier request with the same idempotency key."
    )

    @classmethod
    def of(cls, revised: Revised) -> Self:
        return cls(
            record=MemoryRecord.of(revised.record),
            records=[MemoryRecord.of(record) for record in revised.records],
            edges=[Relation.of(edge) for edge in revised.edges],
            receipt=CaptureReceipt.of(
                revised.candidate,
                revised.sequence,
                changes=revised.changes,
                unindexed_terms=revised.unindexed_terms,
                warnings=revised.warnings,
            ),
            queued=revised.queued,
            replayed=revised.replayed,
        )


RevisionResult = Annotated[
    RevisionSuccess | Refusal,
    strawberry.union("RevisionResult", description="Result of a revision, or the error that refused it."),
]
