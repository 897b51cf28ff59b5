"""The answer to one capture, as far as its caller may see what it stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.draft import Draft, MentionResult
from stratagraph.memory.capture.naming import Names
from stratagraph.memory.capture.noting import ambiguous_names, unused_tags
from stratagraph.memory.capture.writer import Written
from stratagraph.memory.records.changes import RecordChange, as_visible, visible_changes
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The answer to one capture, as visible to the caller.

    `primary` is the record that the capture became or was added to, `created` are all records and `edges` all relations
    that it created, each as it is after the whole request. `candidate` is the id of its stored trace, and `sequence`
    the token for reading one's own write. `mentions` are the names in it and what became of each, `changes` what it did
    to stored records. `unindexed_terms` is how many of its terms do not find it. `warnings` say what of the request was
    not used. With `replayed` it is the answer of an earlier request with the same idempotency key, without these three,
    and with the warnings that the request alone gives rise to.
    """

    primary: MemoryRecord
    created: tuple[MemoryRecord, ...]
    edges: tuple[Relation, ...]
    candidate: UUID
    sequence: str
    mentions: tuple[MentionResult, ...] = ()
    changes: tuple[RecordChange, ...] = ()
    unindexed_terms: int = 0
    warnings: tuple[RequestWarning, ...] = ()
    replayed: bool = False


def answer(caller: Caller, draft: Draft, written: Written, sequence: str, names: Names, at: datetime) -> Captured:
    """Return the answer to a capture as visible to the caller.

    A policy rule may have raised the record above the caller's ceiling; the caller then gets it redacted, or a
    stand-in where it may not see it at all.
    """
    trust = caller.trust
    primary = as_visible(trust, written.primary) or _stand_in(caller, draft, at)
    created = [as_visible(trust, record) for record in written.created]
    return Captured(
        primary=primary,
        created=tuple(record for record in created if record is not None),
        edges=() if primary.redacted else tuple(written.edges),
        candidate=draft.candidate,
        sequence=sequence,
        mentions=() if primary.redacted else names.results(draft),
        changes=visible_changes(trust, written.changed, written.effects),
        unindexed_terms=draft.terms.left_out if draft.terms is not None else 0,
        warnings=(*draft.warnings, *(() if primary.redacted else _stored(draft, written, primary, names))),
    )


def _stored(draft: Draft, written: Written, primary: MemoryRecord, names: Names) -> list[RequestWarning]:
    """Return the warnings that depend on what is stored, which only a reader of the record is told."""
    return [*written.warnings, *ambiguous_names(draft, names.results(draft)), *unused_tags(draft, primary)]


def _stand_in(caller: Caller, draft: Draft, at: datetime) -> MemoryRecord:
    """Return a redacted record in place of one that the writer may not see, with the id of the stored trace.

    The record may be new or have existed, and its writer must not learn which.
    """
    return MemoryRecord(
        id=draft.candidate,
        tenant=caller.tenant.name,
        type=draft.type,
        scope=draft.scope,
        sensitivity=draft.sensitivity,
        state=RecordState.ACTIVE,
        confidence=draft.confidence,
        salience=1.0,
        tags=tuple(draft.request.tags),
        created_at=at,
        occurred_at=at,
        updated_at=at,
        version=0,
        redacted=True,
    )
