"""What one round of drafts is going to write, gathered before it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.memory.capture.draft import Draft
from stratagraph.store.clock import rfc3339
from stratagraph.store.enums import SourceKind
from stratagraph.store.feed import Change
from stratagraph.store.tenancy import Directory, Reach
from stratagraph.store.writing import NewRecord, NewRelation

INTERPRETER = "capture/structural"


@dataclass(slots=True)
class Plan:
    """What a round is going to write. Relations and records are kept with the draft they belong to."""

    connection: AsyncConnection
    directory: Directory
    reach: Reach
    drafts: list[Draft]
    scopes: dict[str, int]
    at: datetime
    records: list[tuple[Draft, NewRecord]] = field(default_factory=list)
    relations: list[tuple[Draft, NewRelation]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    primaries: dict[int, UUID] = field(default_factory=dict)  # drafts whose primary record existed before
    interpretations: dict[int, dict[str, Any]] = field(default_factory=dict)
    contested: set[int] = field(default_factory=set)

    def stand_in(self, draft: Draft, record: UUID) -> None:
        """The draft makes no record of its own: `record`, which was there before, takes its place and its edges."""
        self.primaries[draft.position] = record
        self._repoint(draft.id, record)

    def known_as(self, draft: Draft, id_: UUID) -> None:
        """The draft's record gets the id that its names were claimed for."""
        self._repoint(draft.id, id_)
        draft.id = id_

    def _repoint(self, old: UUID, new: UUID) -> None:
        self.relations = [
            (
                owner,
                replace(
                    relation,
                    source=new if relation.source == old else relation.source,
                    target=new if relation.target == old else relation.target,
                ),
            )
            for owner, relation in self.relations
        ]

    def relate(self, draft: Draft, source: UUID, target: UUID, predicate: str, weight: float) -> None:
        if source != target:
            self.relations.append(
                (draft, NewRelation(source=source, target=target, predicate=predicate, weight=weight))
            )


_SOURCE_KINDS = {
    SourceKind.EVENT: "event",
    SourceKind.TOOL_OUTPUT: "tool_call",
    SourceKind.OBSERVATION: "observation",
    SourceKind.OUTCOME: "outcome",
    SourceKind.WORKING_STATE: "event",
    SourceKind.AGENT_TURN: "event",
    SourceKind.EPISODE: "event",
}


def provenance(draft: Draft) -> dict[str, Any]:
    return {"sources": [source_of(draft)], "created_by": INTERPRETER}


def source_of(draft: Draft) -> dict[str, Any]:
    """The capture itself, as evidence."""
    return {
        "kind": _SOURCE_KINDS[draft.request.source_kind],
        "ref": draft.handle or f"candidate:{draft.candidate}",
        "created_by": draft.request.source,
        "timestamp": rfc3339(draft.occurred_at),
    }
