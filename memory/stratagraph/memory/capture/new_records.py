"""The rows that drafts become: new records, and the insertion of a write set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet, provenance
from stratagraph.memory.retrieve.times import NamedTime, said_times
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, RecordState, SourceKind
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.model.words import Terms, record_terms
from stratagraph.store.records.fact_keys import FactKeys
from stratagraph.store.records.inserting import NewRecord, insert_records, insert_relations, relation_changes
from stratagraph.store.records.support import references
from stratagraph.store.records.trims import insert_trims, settle_trims

_SAYING = (SourceKind.AGENT_TURN, SourceKind.EVENT)  # captures whose times are those of somebody who tells


def new_record(writes: WriteSet, draft: Draft, *, fact: FactKeys | None = None) -> NewRecord:
    """Return the row of the record that the draft becomes; `fact`, if given, replaces the draft's own fact keys.

    The draft then has its terms.
    """
    draft.terms = draft.terms or draft_terms(writes.caller.tenant, draft)
    times = _named_times(draft)
    interpretation = writes.interpretations[draft.position] | ({"secrets": draft.secrets} if draft.secrets else {})
    if times:
        interpretation["named_times"] = [time_to_store(one) for one in times]
    return NewRecord(
        id=draft.id,
        type=draft.type,
        scope=draft.scope,
        sensitivity=draft.sensitivity,
        confidence=draft.confidence,
        tags=draft.request.tags,
        name=draft.name,
        text=draft.text,
        payload=draft.payload,
        provenance=provenance(writes, draft),
        occurred_at=draft.occurred_at,
        decay=draft.decay,
        deletion_policy=draft.deletion_policy,
        terms=draft.terms,
        interpretation=interpretation,
        learned_state=draft.learned_state,
        handle=draft.handle,
        fact=fact or draft.fact,
        state=_state(writes, draft),
        rationale=draft.request.reason_to_remember,
        lesson_authors=draft.lesson_authors or (writes.caller.trust.identity,),
        named_times=tuple(Interval(one.start, one.end) for one in times),
    )


def _named_times(draft: Draft) -> Sequence[NamedTime]:
    """Return the times that the text of an event names, as its sender meant them when it said so."""
    if draft.type is not MemoryType.EPISODIC or draft.request.source_kind not in _SAYING:
        return ()
    return said_times(draft.text, draft.occurred_at, zone=draft.request.zone)


def time_to_store(time: NamedTime) -> dict[str, str]:
    """Return a time that a text names as the interpretation of its record has it."""
    return {"words": time.words, "start": rfc3339(time.start), "end": rfc3339(time.end)}


def stored_times(interpretation: Mapping[str, Any] | None) -> tuple[Interval, ...]:
    """Return the intervals of the times that an interpretation has."""
    return tuple(Interval.stated_in(one) for one in (interpretation or {}).get("named_times") or ())


def draft_terms(tenant: Tenant, draft: Draft) -> Terms:
    """Return the terms by which the record that the draft becomes is found."""
    return record_terms(tenant.index_key, draft.text, draft.request.summary or "")


def _state(writes: WriteSet, draft: Draft) -> RecordState:
    if draft.position in writes.superseded:
        return RecordState.SUPERSEDED
    return RecordState.CONTESTED if draft.position in writes.contested else RecordState.ACTIVE


async def insert_write_set(writes: WriteSet) -> None:
    """Insert the records, relations and trims of the write set, and add their changes to it.

    Relations that existed before are removed from `writes.relations`.
    """
    actor, tenant = writes.caller.trust.actor, writes.caller.tenant
    writes.changes += await insert_records(
        writes.connection, writes.directory, tenant, [record for _, record in writes.records], actor=actor, at=writes.at
    )
    unique = {(r.source, r.predicate, r.target): (draft, r) for draft, r in reversed(writes.relations)}
    writes.relations = list(unique.values())[::-1]
    written = await insert_relations(
        writes.connection,
        writes.directory,
        tenant,
        [relation for _, relation in writes.relations],
        at=writes.at,
        new={record.id: record for _, record in writes.records},
    )
    writes.changes += relation_changes(written)
    ids = {relation.id for relation in written}
    writes.relations = [(draft, relation) for draft, relation in writes.relations if relation.id in ids]
    await insert_trims(writes.connection, tenant, writes.trims)
    if writes.successors:
        done = await settle_trims(writes.connection, writes.directory, tenant, writes.successors, at=writes.at)
        writes.changes += done.changes


def ids_with_record_sources(records: Sequence[tuple[Draft, NewRecord]]) -> set[UUID]:
    """Return the ids of the new records, episodic ones apart, that name other records as sources.

    A source named by id may be withdrawn or deleted, or may never have existed, so these records must be re-evaluated.
    """
    return {
        record.id
        for _, record in records
        if record.type is not MemoryType.EPISODIC
        and any(isinstance(reference, UUID) for reference in references(record.provenance))
    }
