"""The write set: the rows that a group of drafts will insert, collected before they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.draft import Draft, Teaching
from stratagraph.memory.capture.interpret import reference_target
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.requests.evidence import kind_of, reference_of, time_of
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode, warning
from stratagraph.memory.secrets.masking import masked_text
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.inserting import NewRecord, NewRelation
from stratagraph.store.records.trims import Trim

INTERPRETER = "capture/structural"
MAX_SOURCES = 200  # kept per record, the newest; more sources of one record add nothing


@dataclass(slots=True)
class WriteSet:
    """The rows that a group of drafts will insert. Records and relations are paired with the draft they belong to."""

    connection: Connection
    directory: Directory
    caller: Caller
    drafts: list[Draft]
    scopes: dict[str, int]
    at: datetime
    records: list[tuple[Draft, NewRecord]] = field(default_factory=list)
    relations: list[tuple[Draft, NewRelation]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    primaries: dict[int, UUID] = field(default_factory=dict)  # existing primary records, by position of the draft
    interpretations: dict[int, dict[str, Any]] = field(default_factory=dict)
    contested: set[int] = field(default_factory=set)
    source_records: dict[int, dict[UUID | str, UUID]] = field(default_factory=dict)  # by position and reference
    withdrawn: set[UUID] = field(default_factory=set)  # records that this group took out of the current truth
    causes: set[UUID] = field(default_factory=set)  # and other records whose dependents are to be re-evaluated
    doubtful: set[UUID] = field(default_factory=set)  # records whose support this group may have changed
    teachings: list[Teaching] = field(default_factory=list)  # what the drafts teach existing entities
    newly_named: set[UUID] = field(default_factory=set)  # entities whose names earlier records may hold
    superseded: set[int] = field(default_factory=set)  # drafts that become history at once
    trims: list[Trim] = field(default_factory=list)  # to remember once the new facts are written
    successors: dict[UUID, UUID | None] = field(default_factory=dict)  # superseded facts, and those that replace them
    effects: dict[int, dict[tuple[UUID, Effect], None]] = field(default_factory=dict)  # on stored records, by position
    warnings: dict[int, list[RequestWarning]] = field(default_factory=dict)  # by position; for who may read the record
    author: str = INTERPRETER

    def warn(self, draft: Draft, code: WarningCode, path: Sequence[str], problem: str) -> None:
        """Note for the receipt what of the draft could not be used; `problem` is as for `warning`."""
        self.warnings.setdefault(draft.position, []).append(warning(code, path, problem))

    def use_existing(self, draft: Draft, record: UUID) -> None:
        """Create no record for the draft; its relations are moved to `record`, which existed before."""
        self.primaries[draft.position] = record
        self._repoint(draft.id, record)

    def note_change(self, draft: Draft, record: UUID, effect: Effect) -> None:
        """Note for the receipt what the draft did to a stored record."""
        self.effects.setdefault(draft.position, {})[record, effect] = None

    def take_id(self, draft: Draft, id_: UUID) -> None:
        """Give the draft's record, and its relations, the id under which the entity's names were registered."""
        self._repoint(draft.id, id_)
        draft.id = id_

    def _repoint(self, old: UUID, new: UUID) -> None:
        repointed = []
        for owner, relation in self.relations:
            moved = relation
            if relation.source == old:
                moved = replace(moved, source=new)
            if relation.target == old:
                moved = replace(moved, target=new)
            if moved.source != moved.target:
                repointed.append((owner, moved))
        self.relations = repointed

    def relate(self, draft: Draft, source: UUID, target: UUID, predicate: str, weight: float) -> None:
        """Add a relation of the draft; one from a record to itself is dropped."""
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


def provenance(writes: WriteSet, draft: Draft) -> dict[str, Any]:
    """Return the provenance of the draft's record: its sources, and the `author` of the write set as `created_by`."""
    return {"sources": sources_of(writes, draft), "created_by": writes.author}


def sources_of(writes: WriteSet, draft: Draft) -> list[dict[str, Any]]:
    """Return the sources of a draft: the evidence and records that it names, or else the capture itself."""
    resolved = writes.source_records.get(draft.position, {})
    sources = {str(source["ref"]): source for source in draft.inherited_sources}
    for evidence in draft.payload.get("evidence") or ():
        ref = reference_of(evidence) or "unknown"
        if draft.secrets is not None:  # the payload may have got its secrets back, but the sources are never sealed
            ref, _ = masked_text(ref, writes.caller.tenant.index_key)
        known = resolved.get(reference_target(ref))
        sources[str(known or ref)] = {
            "kind": kind_of(evidence) or "artifact",
            "ref": str(known or ref),
            "created_by": draft.request.source,
            "timestamp": time_of(evidence) or rfc3339(draft.occurred_at),
        }
    for record in resolved.values():
        own = capture_source(draft)
        sources.setdefault(str(record), {**own, "ref": str(record)})
    return list(sources.values()) or [capture_source(draft)]


def capture_source(draft: Draft) -> dict[str, Any]:
    """Return the provenance entry that names the capture itself.

    It has the capture's kind, its handle or candidate id, the request's `source`, and its time.
    """
    return {
        "kind": _SOURCE_KINDS[draft.request.source_kind],
        "ref": draft.handle or f"candidate:{draft.candidate}",
        "created_by": draft.request.source,
        "timestamp": rfc3339(draft.occurred_at),
    }
