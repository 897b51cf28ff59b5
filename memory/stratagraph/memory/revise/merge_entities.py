"""Merging entities: one takes the names, facts and relations of the others. `unmerge` undoes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption, shortened
from stratagraph.memory.capture.secrets import refuse_secret_names
from stratagraph.memory.revise.in_place import entity_mention, rewrite_record
from stratagraph.memory.revise.merged_payloads import merged_entity
from stratagraph.memory.revise.rekeyed_facts import MAX_REKEYED, rekey_facts
from stratagraph.memory.revise.repointing import relate, repoint
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.unit_of_work import UnitOfWork, require_current, require_version
from stratagraph.memory.secrets.masking import masked
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput, LimitExceeded
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.entities import lock_terms, replace_terms
from stratagraph.store.records.fact_keys import FactIdentity
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.keyed_facts import (
    KeyedFact,
    count_facts_about,
    count_facts_naming,
    find_facts_naming,
)
from stratagraph.store.records.link_requests import insert_link_requests
from stratagraph.store.records.merges import EntityMerge, MergedRecord, insert_merge, move_terms, row_versions

_PATH = ["recordIds"]


async def merge_entities(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: Mapping[UUID, int | None]
) -> UUID:
    """Merge entities of one scope and sensitivity into the one with the most current facts; return its id.

    Facts that the caller may not read do not decide which one that is; of several, it is the first in the request. The
    others are merged one after another, each at an instant of its own, so that each can be undone.
    """
    if len({record.sensitivity for record in records}) > 1:
        raise InvalidInput(
            "recordIds: the entities have different sensitivities; entities are merged only within one scope and"
            " sensitivity",
            path=_PATH,
        )
    ids = [record.id for record in records]
    connection, tenant = work.connection, work.caller.tenant
    await lock_terms(connection, tenant, ids)
    rows = await work.lock(ids, with_derived=False)
    for id_, version in expected.items():
        require_version(rows[id_], version)
    require_current(rows)
    # All entities are locked by now, so that no fact that names one of them can appear.
    counts = await count_facts_about(connection, work.caller, ids)
    survivor = max(records, key=lambda record: counts.get(record.id, 0))
    losers = [record for record in records if record.id != survivor.id]
    named = await count_facts_naming(connection, work.caller, [loser.id for loser in losers], most=MAX_REKEYED + 1)
    if named > MAX_REKEYED:
        raise LimitExceeded(
            f"recordIds: more than {MAX_REKEYED} facts name the entities to be merged away; merge fewer entities at"
            " once, or erase facts that are no longer needed",
            path=_PATH,
        )
    payload = survivor.payload or {}
    for index, loser in enumerate(losers):
        payload = merged_entity([payload, loser.payload or {}])
        if request.payload is not None and index == len(losers) - 1:
            refuse_secret_names(MemoryType.ENTITY, request.payload, path=["payload"])
            payload = request.payload
        payload, _ = masked(parse_payload(MemoryType.ENTITY, payload), work.caller.tenant.index_key)
        await _absorb(work, survivor, loser, payload)
        work.after(work.at)
    # Names that were ambiguous between them are clear now.
    await insert_link_requests(connection, tenant, [survivor.id], at=work.at)
    work.causes |= set(ids)
    work.doubtful.add(survivor.id)
    return survivor.id


async def _absorb(work: UnitOfWork, survivor: MemoryRecord, loser: MemoryRecord, payload: dict[str, Any]) -> None:
    """Merge the locked entity `loser` into the locked entity `survivor`, whose payload becomes `payload`."""
    connection, tenant = work.connection, work.caller.tenant
    named = await find_facts_naming(connection, tenant, [loser.id])
    rekeyed = await rekey_facts(work, named, _renamed(loser.id, survivor.id), path=_PATH)
    before = await row_versions(connection, tenant, [survivor.id, loser.id])
    moved = rekeyed.relations
    moved.add(await repoint(work, [loser.id], survivor.id))
    name, text = entity_caption(payload)
    await rewrite_record(work, survivor.id, payload, shortened(name), text, action=AuditAction.MERGE)
    moved.add(
        await relate(work, [NewRelation(source=survivor.id, target=loser.id, predicate="supersedes", weight=1.0)])
    )
    after = await row_versions(connection, tenant, [survivor.id, *rekeyed.facts, *rekeyed.others])
    entry = before[loser.id]
    merge = EntityMerge(
        entity=loser.id,
        survivor=survivor.id,
        merged_at=work.at,
        survivor_before=before[survivor.id].row_version,
        survivor_after=after[survivor.id].row_version,
        records=[
            MergedRecord(
                id=loser.id,
                is_subject=False,
                is_object=False,
                before=entry.row_version,
                after=entry.row_version,
                s=entry.s,
                t0=entry.t0,
                last_reinforced_at=entry.last_reinforced_at,
            ),
            *(
                _remembered(fact, loser.id, after[fact.id].row_version)
                for fact in [*rekeyed.facts.values(), *rekeyed.others.values()]
            ),
        ],
        slots=rekeyed.slots,
    )
    await insert_merge(connection, tenant, merge, ended=list(moved.ended), inserted=list(moved.inserted))
    await move_terms(connection, tenant, loser.id, survivor.id)
    mention = await entity_mention(work, survivor, payload)
    await replace_terms(connection, tenant, mention, survivor.id)
    # Last, because the terms of an entity that is withdrawn are deleted.
    await work.replace([loser.id], RecordState.SUPERSEDED, by=survivor.id, keep_disputes=True)


def _renamed(old: UUID, new: UUID) -> Callable[[KeyedFact], FactIdentity]:
    """Return the function that replaces the entity `old` by `new` in the identity of a fact."""

    def identity_of(fact: KeyedFact) -> FactIdentity:
        identity = fact.identity
        if identity.subject_entity == old:
            identity = replace(identity, subject_entity=new)
        return replace(identity, object_entity=new) if identity.object_entity == old else identity

    return identity_of


def _remembered(fact: KeyedFact, loser: UUID, after: int) -> MergedRecord:
    return MergedRecord(
        id=fact.id,
        is_subject=fact.identity.subject_entity == loser,
        is_object=fact.identity.object_entity == loser,
        before=fact.row_version,
        after=after,
        s=fact.s,
        t0=fact.t0,
        last_reinforced_at=fact.last_reinforced_at,
    )
