"""What one round of drafts is going to write, gathered before it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.interpret import reference_target
from stratagraph.store.feed.consumer import Change
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.writing import NewRecord, NewRelation

INTERPRETER = "capture/structural"


@dataclass(slots=True)
class WriteSet:
    """What a round is going to write. Relations and records are kept with the draft they belong to."""

    connection: Connection
    directory: Directory
    caller: Caller
    drafts: list[Draft]
    scopes: dict[str, int]
    at: datetime
    records: list[tuple[Draft, NewRecord]] = field(default_factory=list)
    relations: list[tuple[Draft, NewRelation]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    primaries: dict[int, UUID] = field(default_factory=dict)  # drafts whose primary record existed before
    interpretations: dict[int, dict[str, Any]] = field(default_factory=dict)
    contested: set[int] = field(default_factory=set)
    rests_on: dict[int, dict[UUID | str, UUID]] = field(default_factory=dict)  # what drafts were derived from
    withdrawn: set[UUID] = field(default_factory=set)  # records that this round took out of the current truth
    doubtful: set[UUID] = field(default_factory=set)  # records whose support this round may have changed
    author: str = INTERPRETER

    def stand_in(self, draft: Draft, record: UUID) -> None:
        """The draft makes no record of its own: `record`, which was there before, takes its place and its edges."""
        self.primaries[draft.position] = record
        self._repoint(draft.id, record)

    def known_as(self, draft: Draft, id_: UUID) -> None:
        """The draft's record gets the id that its names were claimed for."""
        self._repoint(draft.id, id_)
        draft.id = id_

    def _repoint(self, old: UUID, new: UUID) -> None:
        repointed = [
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
        self.relations = [(owner, relation) for owner, relation in repointed if relation.source != relation.target]

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


_EVIDENCE_KINDS = frozenset({"event", "artifact", "tool_call", "observation", "outcome", "human"})


def provenance(writes: WriteSet, draft: Draft) -> dict[str, Any]:
    return {"sources": sources_of(writes, draft), "created_by": writes.author}


def sources_of(writes: WriteSet, draft: Draft) -> list[dict[str, Any]]:
    """What a draft rests on: the evidence and the records it names; the capture itself where it names none."""
    resolved = writes.rests_on.get(draft.position, {})
    sources = {str(source["ref"]): source for source in draft.carried}
    for evidence in draft.payload.get("evidence") or ():
        ref = str(evidence.get("source_id") or evidence.get("ref") or evidence.get("source_type"))
        kind = evidence.get("kind") or evidence.get("source_type")
        known = resolved.get(reference_target(ref))
        sources[str(known or ref)] = {
            "kind": kind if kind in _EVIDENCE_KINDS else "artifact",
            "ref": str(known or ref),
            "created_by": draft.request.source,
            "timestamp": _time_of(evidence) or rfc3339(draft.occurred_at),
        }
    for record in resolved.values():
        own = capture_source(draft)
        sources.setdefault(str(record), {**own, "ref": str(record)})
    return list(sources.values()) or [capture_source(draft)]


def _time_of(evidence: Mapping[str, Any]) -> str | None:
    """When the evidence is from, where it says so in a form that can be read."""
    said = evidence.get("timestamp")
    try:
        when = datetime.fromisoformat(said) if isinstance(said, str) else None
    except ValueError:
        return None
    return rfc3339(when) if when is not None and when.tzinfo is not None else None


def capture_source(draft: Draft) -> dict[str, Any]:
    """The capture itself, as evidence."""
    return {
        "kind": _SOURCE_KINDS[draft.request.source_kind],
        "ref": draft.handle or f"candidate:{draft.candidate}",
        "created_by": draft.request.source,
        "timestamp": rfc3339(draft.occurred_at),
    }
