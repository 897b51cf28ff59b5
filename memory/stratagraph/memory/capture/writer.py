"""Resolve, link, commit: drafts become rows, inside the transaction (SPEC §4, steps 5 to 7).

Locks are taken in one order by every writer: entity terms, fact slots, working records, episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.capture.attachments import attach
from stratagraph.memory.capture.caption import entity_caption
from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft, Named
from stratagraph.memory.capture.policy import entity_decay
from stratagraph.memory.capture.threads import close_with_outcomes, join_threads, lock_threads
from stratagraph.memory.capture.workings import update_workings
from stratagraph.memory.capture.write_set import WriteSet, capture_source, provenance
from stratagraph.memory.propagation import reachable, reevaluate
from stratagraph.store.feed.consumer import Change
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.errors import InvalidInput, RecordNotFound
from stratagraph.store.model.predicates import DERIVATIONS, stored_direction
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.entities import Mention, Resolution, resolve
from stratagraph.store.records.facts import FactKeys
from stratagraph.store.records.handles import Referred, find_references
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.support import references
from stratagraph.store.records.writing import (
    NewRecord,
    insert_records,
    insert_relations,
    relation_changes,
)


@dataclass(slots=True)
class Written:
    """What one draft left behind."""

    primary: MemoryRecord
    created: list[MemoryRecord] = field(default_factory=list)
    edges: list[Relation] = field(default_factory=list)


@dataclass(slots=True)
class RoundWritten:
    written: dict[int, Written]
    changes: list[Change]


async def write_round(
    connection: Connection, directory: Directory, caller: Caller, drafts: Sequence[Draft], *, now: datetime
) -> RoundWritten:
    """Write drafts of which none depends on what another leaves. Returns what each left, and what the feed must say."""
    scopes = await directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=True)
    writes = WriteSet(connection, directory, caller, list(drafts), scopes, now)
    await resolve_names(writes)
    facts = await capture_facts.lock(writes)
    workings = await update_workings(writes)
    threads = await lock_threads(writes)
    displaced = [fact.id for draft in writes.drafts if draft.fact is not None for fact in facts.conflicts(draft)]
    consequences = await _lock_consequences(writes, displaced)
    writes.at = max([now, *(seen + RESOLUTION for seen in (*facts.seen, *workings.seen, *consequences))])
    await capture_facts.settle(writes, facts)
    for draft in writes.drafts:
        if not is_outcome(draft) and draft.position not in writes.primaries and draft.type is not MemoryType.ENTITY:
            writes.records.append((draft, new_record(writes, draft)))
    join_threads(writes, threads)
    await insert_write_set(writes)
    await threads.append(writes)
    await workings.apply(writes)
    await close_with_outcomes(writes, threads)
    await _propagate(writes)
    written = await _written(writes)
    await attach(writes, {position: left.primary for position, left in written.items()})
    return RoundWritten(written, writes.changes)


async def _lock_consequences(writes: WriteSet, displaced: Sequence[UUID]) -> list[datetime]:
    """Lock what was derived from facts about to be displaced; tells when each was last changed."""
    if not displaced:
        return []
    derived = await reachable(writes.connection, writes.caller, displaced)
    return [row.updated_at for row in (await lock_records(writes.connection, writes.caller.tenant, derived)).values()]


async def _propagate(writes: WriteSet) -> None:
    """What was displaced no longer holds what was derived from it; what rests on something may find that it fell."""
    writes.doubtful |= resting(writes.records)
    if writes.withdrawn or writes.doubtful:
        done = await reevaluate(
            writes.connection,
            writes.directory,
            writes.caller,
            doubtful=writes.doubtful,
            causes=writes.withdrawn,
            actor=writes.caller.trust.actor,
            at=writes.at,
        )
        writes.changes += done.changes


def resting(records: Sequence[tuple[Draft, NewRecord]]) -> set[UUID]:
    """New records that rest on others by id, which may have been withdrawn, deleted or never there."""
    return {
        record.id
        for _, record in records
        if record.type is not MemoryType.EPISODIC
        and any(isinstance(reference, UUID) for reference in references(record.provenance))
    }


async def resolve_names(writes: WriteSet) -> None:
    """Find or make the entities that drafts name, and the records they point to (the first locks of a writer)."""
    _write_entities(writes, await _resolve(writes))
    await _refer(writes)


async def _resolve(writes: WriteSet) -> Resolution:
    mentions: dict[tuple[int, int], Mention] = {}
    for draft in writes.drafts:
        for place, named in enumerate(draft.named):
            mentions[draft.position, place] = _mention(writes, draft, named)
        if draft.type is MemoryType.ENTITY:
            mentions[draft.position, -1] = _own_mention(writes, draft)
    resolution = await resolve(
        writes.connection, writes.caller.tenant, dict.fromkeys(mentions.values()), unscoped=writes.scopes.get(UNSCOPED)
    )
    for draft in writes.drafts:
        said = []
        for place, named in enumerate(draft.named):
            found = resolution.entities.get(mentions[draft.position, place])
            if found is None:
                continue
            said.append({"surface": named.name, "predicate": named.predicate, "entity_id": str(found)})
            if not is_outcome(draft):
                writes.relate(draft, draft.id, found, named.predicate, named.weight)
        writes.interpretations[draft.position] = {
            "status": "structural",
            "mentions": said,
            **({"topical_labels": draft.labels} if draft.labels else {}),
        }
        if draft.type is MemoryType.ENTITY:
            mention = mentions[draft.position, -1]
            entity = resolution.entities[mention]
            if resolution.new.pop(entity, None) is not None:
                writes.known_as(draft, entity)
                writes.records.append((draft, new_record(writes, draft)))
            else:
                writes.stand_in(draft, entity)
    return resolution


def _mention(writes: WriteSet, draft: Draft, named: Named) -> Mention:
    return Mention(
        name=named.name,
        scope=writes.scopes[draft.scope],
        sensitivity=int(draft.sensitivity),
        type=named.type,
        identifiers=named.identifiers,
        aliases=named.aliases,
        known_only=named.known_only,
    )


def _own_mention(writes: WriteSet, draft: Draft) -> Mention:
    payload = draft.payload
    return Mention(
        name=payload["canonical_name"],
        scope=writes.scopes[draft.scope],
        sensitivity=int(draft.sensitivity),
        type=payload.get("primary_type"),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in payload.get("identifiers") or ()),
        aliases=tuple(alias["value"] for alias in payload.get("aliases") or ()),
    )


def _write_entities(writes: WriteSet, resolution: Resolution) -> None:
    """Records for the entities nobody knew, kept with the first draft that named them."""
    names = {number: name for name, number in writes.scopes.items()}
    first: dict[UUID, Draft] = {}
    for draft, relation in writes.relations:
        first.setdefault(relation.target, draft)
    for entity, mention in resolution.new.items():
        draft = first.get(entity, writes.drafts[0])  # an outcome may name one without a record of its own to link
        payload: dict[str, Any] = {"kind": "entity", "canonical_name": mention.name}
        payload["primary_type"] = mention.type or "Other"
        if mention.aliases:
            payload["aliases"] = [{"value": alias} for alias in mention.aliases]
        if mention.identifiers:
            payload["identifiers"] = [{"namespace": space, "value": value} for space, value in mention.identifiers]
        name, text = entity_caption(payload)
        writes.records.append(
            (
                draft,
                NewRecord(
                    id=entity,
                    type=MemoryType.ENTITY,
                    scope=names[mention.scope],
                    sensitivity=Sensitivity(mention.sensitivity),
                    confidence=draft.confidence,
                    tags=(),
                    name=name,
                    text=text,
                    payload=payload,
                    provenance={"sources": [capture_source(draft)], "created_by": writes.author},
                    occurred_at=draft.occurred_at,
                    decay=replace(entity_decay(), half_life_s=max(entity_decay().half_life_s, draft.decay.half_life_s)),
                    deletion_policy=_kept(draft),
                    terms=record_terms(writes.caller.tenant.index_key, text, name),
                ),
            )
        )


def _kept(draft: Draft) -> DeletionPolicy:
    return draft.request.retention.deletion_policy if draft.request.retention else DeletionPolicy.AUTO_PRUNE


async def _refer(writes: WriteSet) -> None:
    """Edges to the records a draft points to, those of this round included. An unknown ref stays a word."""
    local: dict[UUID | str, Referred] = {
        draft.handle: Referred(draft.id, writes.scopes[draft.scope], draft.sensitivity)
        for draft in writes.drafts
        if draft.handle and draft.type is MemoryType.EPISODIC
    }
    wanted = {reference.target for draft in writes.drafts for reference in draft.references} - local.keys()
    known = local | await find_references(
        writes.connection,
        writes.caller,
        ids=[target for target in wanted if isinstance(target, UUID)],
        refs=[target for target in wanted if isinstance(target, str)],
    )
    for draft in writes.drafts:
        found = []
        for reference in draft.references:
            record = known.get(reference.target)
            if record is None or record.id == draft.id:
                continue
            # The record's id is told by the edge, to those who may see both ends of it.
            found.append({"ref": str(reference.target)})
            if is_outcome(draft):
                continue
            predicate, backwards = stored_direction(reference.predicate)
            source, end = (record.id, draft.id) if backwards else (draft.id, record.id)
            writes.relate(draft, source, end, predicate, reference.weight)
            if backwards and predicate in DERIVATIONS:
                _check_derivation(writes, draft, record)
                writes.rests_on.setdefault(draft.position, {})[reference.target] = record.id
        if found:
            writes.interpretations[draft.position]["references"] = found


def _check_derivation(writes: WriteSet, draft: Draft, source: Referred) -> None:
    """What is derived is at least as sensitive as its sources and stays in their scope (SPEC §3)."""
    if source.sensitivity > draft.sensitivity:
        raise InvalidInput(
            f"sensitivity: this is derived from record {source.id}, which is {source.sensitivity.label}; capture it at"
            f" {source.sensitivity.label} or above",
            path=[f"#{draft.position}", "sensitivity"],
        )
    if source.scope not in (writes.scopes[draft.scope], writes.scopes[UNSCOPED]):
        raise InvalidInput(
            f"scope: this is derived from record {source.id} of another scope; sources of different scopes are never"
            " mixed",
            path=[f"#{draft.position}", "scope"],
        )


def new_record(writes: WriteSet, draft: Draft, *, fact: FactKeys | None = None) -> NewRecord:
    """The record that a draft becomes."""
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
        terms=record_terms(writes.caller.tenant.index_key, draft.text, draft.request.summary or ""),
        interpretation=writes.interpretations[draft.position],
        handle=draft.handle,
        fact=fact or draft.fact,
        state=RecordState.CONTESTED if draft.position in writes.contested else RecordState.ACTIVE,
        rationale=draft.request.reason_to_remember,
    )


async def insert_write_set(writes: WriteSet) -> None:
    """Write the records and relations that the plan has gathered; the relations that were new stay in it."""
    actor, tenant = writes.caller.trust.actor, writes.caller.tenant
    writes.changes += await insert_records(
        writes.connection, writes.directory, tenant, [record for _, record in writes.records], actor=actor, at=writes.at
    )
    unique = {(r.source, r.predicate, r.target): (draft, r) for draft, r in reversed(writes.relations)}
    writes.relations = list(unique.values())[::-1]
    written = await insert_relations(
        writes.connection, writes.directory, tenant, [relation for _, relation in writes.relations], at=writes.at
    )
    writes.changes += relation_changes(written)
    ids = {relation.id for relation in written}
    writes.relations = [(draft, relation) for draft, relation in writes.relations if relation.id in ids]


async def _written(writes: WriteSet) -> dict[int, Written]:
    """Put together what each draft left; what was there before is read back as the caller may see it."""
    tenant = writes.caller.tenant
    records = {record.id: record.as_record(tenant, writes.at) for _, record in writes.records}
    if writes.primaries:
        everything = writes.caller.everything()
        async with elevated(writes.connection, everything.bounds):  # a rule may have lifted one above its own writer
            reader = Reader(writes.connection, writes.directory, everything, writes.at)
            records |= await reader.records(set(writes.primaries.values()))
    written: dict[int, Written] = {}
    for draft in writes.drafts:
        primary = writes.primaries.get(draft.position, draft.id)
        if primary not in records:
            raise RecordNotFound(primary)
        written[draft.position] = Written(primary=records[primary])
    for draft, record in writes.records:
        written[draft.position].created.append(records[record.id])
    for draft, relation in writes.relations:
        written[draft.position].edges.append(relation.as_relation(writes.at))
    return written
