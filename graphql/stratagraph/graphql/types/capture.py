"""Capture: its input and its results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, cast

import strawberry

from stratagraph.graphql.flat_inputs import flat_input
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.receipts import CaptureReceipt
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.relations import Relation
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import (
    MAX_BATCH,
    MAX_CONTENT_BYTES,
    MAX_LABEL,
    MAX_SUMMARY,
    MAX_TAGS,
    CaptureRequest,
)
from stratagraph.store.model.payloads.working import STATES

CONTENT = f"""The content, a JSON object of at most {MAX_CONTENT_BYTES:,} bytes with `context`. Its keys by source kind:
EVENT {{event_kind?, ref?, summary?, thread_id?}};
TOOL_OUTPUT {{tool_name, args, result, thread_id?, call_id?, depends_on?: [call_id], error?}};
AGENT_TURN {{role, text, thread_id?}};
OBSERVATION {{subject, predicate, object, validity?, conditions?, evidence?, revision_policy?}};
WORKING_STATE {{thread_id, state: {" | ".join(STATES)}, next_actions?,
open_questions?, context_summary?, active_constraints?}}, later only what changes, null to clear;
OUTCOME {{thread_id | record_id, outcome_status: success | failure | partial, reason?}};
EPISODE a whole episodic payload.
An OBSERVATION with the proposedType ENTITY, COMPETENCE or PLAN_GRAPH has a payload of that type as its content.
Any other key is kept. The JSON Schema of each kind is at /schemas/NAME.json, such as /schemas/tool_output.json."""

CONTEXT = """What the content names and refers to, a JSON object:
mentions: [name | {name, type?, identifiers?: [{namespace, value}], aliases?}];
references: [record id or ref | {ref, predicate?}];
artifacts: [artifact URI]; labels: [string]. Its JSON Schema is at /schemas/context.json."""


@flat_input
@strawberry.input(description="One capture: something to remember.")
class CaptureMemoryInput:
    source: str = strawberry.field(
        description=f"Agent, tool or program that reports the content, 1 to {MAX_LABEL} characters."
    )
    source_kind: SourceKind = strawberry.field(description="Kind of source; decides the type of the record.")
    content: JSON = strawberry.field(description=CONTENT)
    context: JSON | None = strawberry.field(default=None, description=CONTEXT)
    reason_to_remember: str | None = strawberry.field(
        default=None, description=f"Reason, at most {MAX_SUMMARY:,} characters; kept in the audit log."
    )
    proposed_type: MemoryType | None = strawberry.field(
        default=None, description="Type of the record, where the source kind allows more than one; see `content`."
    )
    summary: str | None = strawberry.field(
        default=None,
        description=f"Summary, at most {MAX_SUMMARY:,} characters. Becomes the record's name; in a search its words"
        " weigh more than those of the content.",
    )
    tags: list[str] | None = strawberry.field(
        default=None, description=f"At most {MAX_TAGS} labels of 1 to {MAX_LABEL} characters each."
    )
    scope: str | None = strawberry.field(
        default=None,
        description=f"Scope of the record, at most {MAX_LABEL} characters. Default: the credential's only scope, or"
        " unscoped for a credential of all scopes.",
    )
    sensitivity: Sensitivity | None = strawberry.field(
        default=None, description="Sensitivity of the record. Default: LOW, or the credential's ceiling if lower."
    )
    timestamp: datetime | None = strawberry.field(
        default=None, description="Instant at which the content happened. Default: now."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description=f"Key of at most {MAX_LABEL} characters. A repeated request with the same key writes nothing and"
        " returns the result of the first.",
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


@strawberry.input(description="A batch of captures, stored in one transaction: all of them or none.")
class CaptureMemoriesInput:
    items: list[CaptureMemoryInput] = strawberry.field(
        description=f"The captures, 1 to {MAX_BATCH:,}, processed in this order."
    )


@strawberry.type(description="The capture was stored.")
class CaptureMemorySuccess:
    captured: strawberry.Private[Captured]

    # Made only where they are asked for: in a batch, they are most of an answer.
    @strawberry.field(description="The record that the capture became, or the existing record that it was added to.")
    def primary_record(self) -> MemoryRecord:
        return MemoryRecord.of(self.captured.primary)

    @strawberry.field(description="Every record that the capture created, its entities and its episode included.")
    def created_records(self) -> list[MemoryRecord]:
        return [MemoryRecord.of(record) for record in self.captured.created]

    @strawberry.field(description="The relations that the capture created.")
    def edges(self) -> list[Relation]:
        return [Relation.of(edge) for edge in self.captured.edges]

    @strawberry.field(description="Proof that the capture was stored.")
    def receipt(self) -> CaptureReceipt:
        captured = self.captured
        return CaptureReceipt.of(
            captured.candidate,
            captured.sequence,
            mentions=captured.mentions,
            changes=captured.changes,
            unindexed_terms=captured.unindexed_terms,
            warnings=captured.warnings,
            captured=captured.primary.id,
        )

    @strawberry.field(description="Whether this is the result of an earlier request with the same idempotency key.")
    def replayed(self) -> bool:
        return self.captured.replayed


@strawberry.type(description="Every capture of the batch was stored.")
class CaptureMemoriesSuccess:
    results: list[CaptureMemorySuccess] = strawberry.field(description="One result per item, in the order of `items`.")


CaptureMemoryResult = Annotated[
    CaptureMemorySuccess | Refusal,
    strawberry.union("CaptureMemoryResult", description="Result of a capture, or the error that refused it."),
]
CaptureMemoriesResult = Annotated[
    CaptureMemoriesSuccess | Refusal,
    strawberry.union(
        "CaptureMemoriesResult", description="Results of a batch of captures, or the error that refused the batch."
    ),
]
