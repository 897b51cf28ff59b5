"""Evidence that a fact of a merged entity got since the merge: when that is undone, it becomes the survivor's fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from stratagraph.memory.revise.repointing import relate
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.fact_keys import FactIdentity, FactKeys, Slot
from stratagraph.store.records.inserting import NewRecord, NewRelation, insert_records, latest_evidence
from stratagraph.store.records.keyed_facts import KeyedFact, fetch_keyed_facts, lock_given_slots
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import open_relations_of


async def give_to_survivor(
    work: UnitOfWork, later: Mapping[UUID, Sequence[dict[str, Any]]], *, entity: UUID, survivor: UUID
) -> dict[UUID, UUID]:
    """Write for each fact of `later` one of the survivor that says the same, with the given sources; return their ids.

    `later` maps facts, which have the keys of `entity` again, to their sources since the merge. The new facts are
    contested, and the re-evaluation at the end of the revision makes them active where their slots have room.
    """
    if not later:
        return {}
    connection, tenant, unrestricted = work.connection, work.caller.tenant, work.caller.unrestricted()
    async with elevated(connection, unrestricted.bounds):
        records = await Reader(connection, work.directory, unrestricted, work.at).records(list(later))
    keyed = await fetch_keyed_facts(connection, tenant, list(later))
    new: list[NewRecord] = []
    ids: dict[UUID, UUID] = {}
    for id_, sources in later.items():
        keys = await _keys(work, keyed[id_], records[id_], entity=entity, survivor=survivor)
        one = _record(work, records[id_], keys, sources)
        ids[id_] = one.id
        new.append(one)
    work.changes += await insert_records(
        connection, work.directory, tenant, new, actor=work.caller.trust.actor, at=work.at
    )
    work.touched += ids.values()
    work.doubtful |= set(ids.values())
    await relate(
        work,
        [
            NewRelation(
                source=ids[relation.source],
                target=survivor if relation.target == entity else relation.target,
                predicate=relation.predicate,
                weight=relation.weight,
            )
            for relation in await open_relations_of(connection, tenant, list(later))
            if relation.source in ids and relation.predicate in ("subject_entity", "object_entity", "mentions_entity")
        ],
    )
    return ids


def said_of(survivor: UUID, fact: KeyedFact, *, entity: UUID) -> FactIdentity:
    """Return the identity of a fact about `entity` with the survivor in its place."""
    identity = replace(fact.identity, subject_entity=survivor)
    return replace(identity, object_entity=survivor) if identity.object_entity == entity else identity


async def _keys(work: UnitOfWork, fact: KeyedFact, record: MemoryRecord, *, entity: UUID, survivor: UUID) -> FactKeys:
    """Return the keys of the fact with the survivor in place of the entity; locks its slot."""
    tenant, identity = work.caller.tenant, said_of(survivor, fact, entity=entity)
    slot = Slot(fact.slot.scope, fact.slot.sensitivity, identity.slot_key(tenant))
    flags = await lock_given_slots(work.connection, tenant, {slot: False})
    stated = Interval.stated_in((record.payload or {})["validity"])
    return FactKeys(
        identity=identity,
        fact=identity.fact_key(tenant),
        slot=slot.key,
        stated=stated,
        validity=stated,
        single_valued=flags[slot],
    )


def _record(work: UnitOfWork, record: MemoryRecord, keys: FactKeys, sources: Sequence[dict[str, Any]]) -> NewRecord:
    payload = {name: value for name, value in (record.payload or {}).items() if name != "revision"}
    provenance = {**(record.provenance or {}), "sources": list(sources)}
    assert record.lifecycle is not None
    return NewRecord(
        id=new_id(),
        type=MemoryType.SEMANTIC,
        scope=record.scope,
        sensitivity=record.sensitivity,
        confidence=record.confidence,
        tags=record.tags,
        name=record.name or "",
        text=record.text or "",
        payload=payload,
        provenance=provenance,
        occurred_at=latest_evidence({"sources": sources}, record.occurred_at),
        decay=record.lifecycle.decay,
        deletion_policy=record.lifecycle.deletion_policy,
        terms=record_terms(work.caller.tenant.index_key, record.text or "", ""),
        interpretation=record.interpretation,
        fact=keys,
        state=RecordState.CONTESTED,
        rationale=work.rationale,
    )
