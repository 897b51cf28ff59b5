"""Undoing a merge of entities: the merged entity gets back its names, its facts and its relations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption, shortened
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.revise.in_place import entity_mention, rewrite_record
from stratagraph.memory.revise.merged_payloads import unmerged_entity
from stratagraph.memory.revise.rekeyed_facts import rekey_facts
from stratagraph.memory.revise.reopened_slots import find_reopened
from stratagraph.memory.revise.repointing import relate
from stratagraph.memory.revise.request import Unmerge
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork, require_version
from stratagraph.memory.revise.unmerged_facts import restore_facts, restore_salience
from stratagraph.store.learning.duplicates import ordered, reject_pair
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.entities import lock_terms, replace_terms
from stratagraph.store.records.fact_keys import FactIdentity
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.keyed_facts import KeyedFact
from stratagraph.store.records.merges import (
    EntityMerge,
    delete_merge,
    fetch_merge,
    fetch_merge_relations,
    fetch_versions,
    find_crossings,
    find_later_merge,
    replace_merge_relation,
    restore_terms,
    take_back_terms,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import end_relations

_PATH = ["recordId"]


async def unmerge(work: UnitOfWork, request: Unmerge) -> UUID:
    """Undo the merge of an entity into another one, and return the id of the entity, which is current again.

    The entity gets back its state, names, identifiers and relations, and the facts that named it before the merge. The
    other entity keeps what it learned since, and what was captured since stays with it. The two count as different from
    then on. Raises InvalidInput for an entity that was not merged, and where another merge must be undone first.
    """
    connection, tenant = work.connection, work.caller.tenant
    entity = (await work.targets([request.record_id], path=_PATH))[0]
    if entity.type is not MemoryType.ENTITY:
        raise InvalidInput(
            f"recordId: record {entity.id} is a {entity.type.label} record; only a merge of entities can be undone",
            path=_PATH,
        )
    merge = await fetch_merge(connection, tenant, entity.id)
    if merge is None:
        raise InvalidInput(
            f"recordId: no merge of entity {entity.id} into another one is stored. Give the id of the entity that was"
            " merged away; merges made before version 0016 of the schema cannot be undone",
            path=_PATH,
        )
    survivor = (await work.targets([merge.survivor], path=_PATH))[0]
    await lock_terms(connection, tenant, [entity.id, survivor.id])
    rows = await work.lock([entity.id, survivor.id], with_derived=False)
    require_version(rows[entity.id], request.expected_version)
    if await _is_changed(work, merge):
        raise StaleRead
    if survivor.state not in CURRENT:
        raise InvalidInput(
            f"recordId: entity {survivor.id}, into which it was merged, is itself {survivor.state.label}; if it was"
            " merged into another one, unmerge it first",
            path=_PATH,
        )
    await _require_latest(work, entity)
    await _restore(work, merge, entity, survivor)
    # Whoever undoes a merge says that the two are different, also to the next run of consolidation.
    await reject_pair(connection, tenant, ordered(entity.id, survivor.id), at=work.at)
    work.causes |= {entity.id, survivor.id}
    work.doubtful |= {entity.id, survivor.id}
    return entity.id


async def _is_changed(work: UnitOfWork, merge: EntityMerge) -> bool:
    """Return whether the merge was undone, and perhaps repeated, by another transaction since it was read."""
    present = await fetch_merge(work.connection, work.caller.tenant, merge.entity)
    return present is None or present.merged_at != merge.merged_at


async def _require_latest(work: UnitOfWork, entity: MemoryRecord) -> None:
    """Raise InvalidInput if a later merge builds on this one."""
    later = await find_later_merge(work.connection, work.caller.tenant, entity.id)
    if later is None:
        return
    heads = await Reader(work.connection, work.directory, work.caller, work.at).heads([later])
    which = f"the merge of entity {later}" if later in heads else "a merge that this credential may not read"
    raise InvalidInput(
        f"recordId: {which} was made later and changed the same records; merges are undone in the reverse order, so"
        " undo that one first",
        path=_PATH,
    )


async def _restore(work: UnitOfWork, merge: EntityMerge, entity: MemoryRecord, survivor: MemoryRecord) -> None:
    connection, tenant = work.connection, work.caller.tenant
    crossings = await find_crossings(connection, tenant, entity.id)
    reopened = await find_reopened(work, merge)
    facts = [record for record in merge.records if record.id != entity.id]
    await rekey_facts(
        work,
        [fact.id for fact in facts if fact.is_own],
        _renamed_back(merge),
        path=_PATH,
        inherits=False,
        also={*(fact.id for fact in facts), *(crossing.other for crossing in crossings), *reopened.facts},
    )
    await reopened.reopen(work, merge)
    await _restore_relations(work, entity.id)
    await restore_facts(work, merge, facts, crossings, reopened)
    await _restore_entities(work, merge, entity, survivor)
    await delete_merge(connection, tenant, entity.id)


def _renamed_back(merge: EntityMerge) -> Callable[[KeyedFact], FactIdentity]:
    """Return the function that puts the merged entity back into the identity of its facts."""
    own = {record.id: record for record in merge.records}

    def identity_of(fact: KeyedFact) -> FactIdentity:
        identity, record = fact.identity, own[fact.id]
        if record.is_subject and identity.subject_entity == merge.survivor:
            identity = replace(identity, subject_entity=merge.entity)
        if record.is_object and identity.object_entity == merge.survivor:
            identity = replace(identity, object_entity=merge.entity)
        return identity

    return identity_of


async def _restore_relations(work: UnitOfWork, entity: UUID) -> None:
    """End the relations that the merge inserted, and insert those again that it ended."""
    connection, tenant = work.connection, work.caller.tenant
    relations = await fetch_merge_relations(connection, tenant, entity)
    inserted = [relation for relation in relations if relation.is_new]
    work.changes += await end_relations(connection, tenant, [relation.id for relation in inserted], at=work.at)
    for relation in inserted:
        if relation.predicate == "contested_by":
            work.doubtful |= {relation.source, relation.target}
    for relation in relations:
        if relation.is_new:
            continue
        again = NewRelation(
            source=relation.source, target=relation.target, predicate=relation.predicate, weight=relation.weight
        )
        await relate(work, [again])
        await replace_merge_relation(connection, tenant, old=relation.id, new=again.id)


async def _restore_entities(work: UnitOfWork, merge: EntityMerge, entity: MemoryRecord, survivor: MemoryRecord) -> None:
    """Give both entities their payloads, names and identifiers, and the merged one its state and its salience."""
    connection, tenant = work.connection, work.caller.tenant
    entry = next(record for record in merge.records if record.id == entity.id)
    before = await fetch_versions(connection, tenant, {survivor.id: merge.survivor_before, entity.id: entry.before})
    after = await fetch_versions(connection, tenant, {survivor.id: merge.survivor_after})
    current = survivor.payload or {}
    payload = parse_payload(
        MemoryType.ENTITY, unmerged_entity(before[survivor.id].payload, after[survivor.id].payload, current)
    )
    name, text = entity_caption(payload)
    await rewrite_record(work, survivor.id, payload, shortened(name), text, action=AuditAction.REVISE)
    state = before[entity.id].state
    await work.set_state([entity.id], state if state in CURRENT else RecordState.ACTIVE, action=AuditAction.REVISE)
    await restore_salience(work, [entry])
    await take_back_terms(connection, tenant, entity.id, survivor.id)
    await replace_terms(connection, tenant, await entity_mention(work, survivor, payload), survivor.id)
    await restore_terms(connection, tenant, entity.id)
    # A merge of an earlier release remembers keys of names that captures compute in another way now.
    await replace_terms(
        connection, tenant, await entity_mention(work, entity, entity.payload or {}), entity.id, skip_taken=True
    )
