"""Where a record comes from: its sources, and the audit log of its changes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self
from uuid import UUID

import strawberry

from stratagraph.graphql.context import Context, Info
from stratagraph.graphql.past import AsOf
from stratagraph.graphql.types.enums import AuditAction
from stratagraph.graphql.types.named_records import RECORD, named_record
from stratagraph.graphql.types.payload_enums import EvidenceKind
from stratagraph.memory.capture.interpret import reference_target
from stratagraph.memory.requests.evidence import KINDS
from stratagraph.store.model import records as domain


@strawberry.type(description="A source that supports a record.")
class Source:
    as_of: strawberry.Private[AsOf | None]
    context: strawberry.Private[Context | None]
    kind: str = strawberry.field(
        description="Kind of the source: event, artifact, tool_call, observation, outcome or human."
    )
    ref: str = strawberry.field(
        description="Reference to the source: a record's id, or an identifier outside the store."
    )
    hash: str | None = strawberry.field(description="Hash of the source's content; null where none was given.")
    created_by: str | None = strawberry.field(description="Agent, tool or program that named the source.")
    timestamp: datetime | None = strawberry.field(description="Instant in UTC at which the source arose.")

    @strawberry.field(
        description="Kind of the source: the same as `kind`, as a closed set; null for a kind that is none of"
        " these, from earlier versions."
    )
    def kind_code(self) -> EvidenceKind | None:
        return EvidenceKind(self.kind) if self.kind in KINDS else None

    @strawberry.field(
        graphql_type=RECORD,
        description="The record that `ref` names, as of the instant of the answer; null where it names none that the"
        " caller may see.",
    )
    async def record(self, info: Info) -> Any:
        named = reference_target(self.ref)
        return await named_record(info, named, self.as_of, self.context) if isinstance(named, UUID) else None


@strawberry.type(description="Sources of a record.")
class Provenance:
    sources: list[Source] = strawberry.field(description="The sources that support the record, oldest first.")
    created_by: str | None = strawberry.field(description="Part of the service that created the record.")

    @classmethod
    def of(cls, stored: dict[str, Any], as_of: AsOf | None = None, context: Context | None = None) -> Self:
        """Build the GraphQL sources, whose records are shown as of `as_of` and under the trust of `context`."""
        return cls(
            sources=[
                Source(
                    as_of=as_of,
                    context=context,
                    kind=source["kind"],
                    ref=source["ref"],
                    hash=source.get("hash"),
                    created_by=source.get("created_by"),
                    timestamp=datetime.fromisoformat(source["timestamp"]) if source.get("timestamp") else None,
                )
                for source in stored.get("sources", ())
            ],
            created_by=stored.get("created_by"),
        )


@strawberry.type(description="An entry of a record's audit log: one change and who made it.")
class AuditEntry:
    action: str = strawberry.field(
        description="What was done: create, append, close, revise, supersede, fork, merge, contest, retract, reinforce,"
        " decay or delete."
    )
    actor: str = strawberry.field(description="Name of the credential that made the change, or of a background job.")
    timestamp: datetime = strawberry.field(description="Instant in UTC of the change.")
    rationale: str | None = strawberry.field(description="Reason for the change; null where none was given.")

    @strawberry.field(
        description="What was done: the same as `action`, as a closed set; null for one that is none of these, from"
        " earlier versions."
    )
    def action_code(self) -> AuditAction | None:
        return next((one for one in AuditAction if one.value == self.action), None)

    @classmethod
    def of(cls, entry: domain.AuditEntry) -> Self:
        return cls(action=entry.action, actor=entry.actor, timestamp=entry.timestamp, rationale=entry.rationale)
