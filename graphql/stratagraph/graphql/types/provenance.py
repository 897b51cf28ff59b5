"""Where a record comes from: its sources, and the audit log of its changes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

import strawberry

from stratagraph.store.model import records as domain


@strawberry.type(description="A source that supports a record.")
class Source:
    kind: str = strawberry.field(
        description="Kind of the source: event, artifact, tool_call, observation, outcome or human."
    )
    ref: str = strawberry.field(
        description="Reference to the source: a record's id, or an identifier outside the store."
    )
    hash: str | None = strawberry.field(description="Hash of the source's content; null where none was given.")
    created_by: str | None = strawberry.field(description="Agent, tool or program that named the source.")
    timestamp: datetime | None = strawberry.field(description="Instant in UTC at which the source arose.")


@strawberry.type(description="Sources of a record.")
class Provenance:
    sources: list[Source] = strawberry.field(description="The sources that support the record, oldest first.")
    created_by: str | None = strawberry.field(description="Part of the service that created the record.")

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        return cls(
            sources=[
                Source(
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

    @classmethod
    def of(cls, entry: domain.AuditEntry) -> Self:
        return cls(action=entry.action, actor=entry.actor, timestamp=entry.timestamp, rationale=entry.rationale)
