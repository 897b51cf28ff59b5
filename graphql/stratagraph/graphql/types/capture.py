"""Capture: its input, its receipt, its results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self, cast

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.graphql.types.errors import (
    ConditionsOverlap,
    EpisodicImmutable,
    EvidenceRequired,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    NotFound,
    Unavailable,
)
from stratagraph.graphql.types.records import MemoryRecord, Relation
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Captured

CONTENT = """What happened, by source kind (all other keys are kept):
EVENT {event_kind, ref, summary?, thread_id?};
TOOL_OUTPUT {tool_name, args, result, thread_id?, call_id?, depends_on?: [call_id], error?};
AGENT_TURN {role, text, thread_id?};
OBSERVATION {subject, predicate, object, validity?, conditions?, evidence?, revision_policy?};
WORKING_STATE {thread_id, state, next_actions?, open_questions?, context_summary?, active_constraints?};
OUTCOME {thread_id | record_id, outcome_status: success | failure | partial, reason?};
EPISODE a whole episodic payload.
An OBSERVATION with proposedType ENTITY, COMPETENCE or PLAN_GRAPH has that payload as its content."""

CONTEXT = """More about it: mentions: [name | {name, type?, identifiers?: [{namespace, value}], aliases?}],
references: [record id or ref | {ref, predicate?}], labels: [string]."""


@strawberry.input(description="One thing to remember.")
class CaptureMemoryInput:
    source: str = strawberry.field(description="Who says so: the agent, tool or program.")
    source_kind: SourceKind
    content: JSON = strawberry.field(description=CONTENT)
    context: JSON | None = strawberry.field(default=None, description=CONTEXT)
    reason_to_remember: str | None = strawberry.field(default=None, description="Kept in the audit log.")
    proposed_type: MemoryType | None = strawberry.field(default=None, description="See content.")
    summary: str | None = strawberry.field(default=None, description="Its words weigh most when it is searched for.")
    tags: list[str] | None = None
    scope: str | None = strawberry.field(default=None, description="Default: the credential's only scope.")
    sensitivity: Sensitivity | None = strawberry.field(default=None, description="Default: LOW, or the ceiling.")
    timestamp: datetime | None = strawberry.field(default=None, description="When it happened. Default: now.")
    idempotency_key: str | None = strawberry.field(
        default=None, description="The same key and request again answers with what the first one left."
    )

    def as_request(self) -> CaptureRequest:
        return CaptureRequest(
            source=self.source,
            source_kind=self.source_kind,
            content=cast(dict[str, Any], self.content),
            context=cast(dict[str, Any] | None, self.context),
            reason_to_remember=self.reason_to_remember,
            proposed_type=self.proposed_type,
            summary=self.summary,
            tags=tuple(self.tags or ()),
            scope=self.scope,
            sensitivity=self.sensitivity,
            timestamp=self.timestamp,
            idempotency_key=self.idempotency_key,
        )


@strawberry.input(description="Things to remember in one transaction, all or nothing; at most 1000.")
class CaptureMemoriesInput:
    items: list[CaptureMemoryInput]


@strawberry.type(description="Proof that it is stored.")
class CaptureReceipt:
    candidate_id: strawberry.ID
    sequence: str = strawberry.field(description="Give it as atLeastSequence to read your own write.")
    state: str


@strawberry.type(description="It is stored.")
class CaptureMemorySuccess:
    primary_record: MemoryRecord = strawberry.field(
        description="What the capture became, or the record it was added to."
    )
    created_records: list[MemoryRecord] = strawberry.field(description="All that is new, entities and episode too.")
    edges: list[Relation]
    receipt: CaptureReceipt
    replayed: bool = strawberry.field(description="The idempotency key was known: nothing was written again.")

    @classmethod
    def of(cls, captured: Captured) -> Self:
        return cls(
            primary_record=MemoryRecord.of(captured.primary),
            created_records=[MemoryRecord.of(record) for record in captured.created],
            edges=[Relation.of(edge) for edge in captured.edges],
            receipt=CaptureReceipt(
                candidate_id=strawberry.ID(str(captured.candidate)), sequence=captured.sequence, state="committed"
            ),
            replayed=captured.replayed,
        )


@strawberry.type(description="All of them are stored; results in the order of the items.")
class CaptureMemoriesSuccess:
    results: list[CaptureMemorySuccess]


_Refusal = (
    InvalidInput
    | Forbidden
    | NotFound
    | IdempotencyMismatch
    | ConditionsOverlap
    | EvidenceRequired
    | EpisodicImmutable
    | Unavailable
)
CaptureMemoryResult = Annotated[
    CaptureMemorySuccess | _Refusal,
    strawberry.union("CaptureMemoryResult", description="What came of a capture."),
]
CaptureMemoriesResult = Annotated[
    CaptureMemoriesSuccess | _Refusal,
    strawberry.union("CaptureMemoriesResult", description="What came of a batch of captures."),
]
