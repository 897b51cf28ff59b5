"""Background re-keying after an upgrade: names and facts of an earlier release get the keys that captures compute now.

A tenant's entities and facts are read once, in id order, while captures go on. Facts that become equal collapse into
the oldest, and facts that contradict each other in a single-valued slot become a dispute. See docs/data-model.md,
Facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.literals import is_value
from stratagraph.memory.reevaluating import everything_of
from stratagraph.memory.retrying import StaleRead
from stratagraph.memory.revise.in_place import entity_mention
from stratagraph.memory.revise.rekeyed_facts import rekey_facts
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.jobs.set_aside import due_set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.fact_predicates import LITERAL, FactPredicate
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.postgres.database import Connection, Database, Role, elevated
from stratagraph.store.records.entities import delete_terms, insert_terms, lock_terms, terms_of
from stratagraph.store.records.fact_keys import FactEntities, FactKeys, Slot, fact_keys
from stratagraph.store.records.facts import lock_slots
from stratagraph.store.records.old_keys import (
    FactLink,
    OldFact,
    fetch_fact_links,
    fetch_old_facts,
    finish_rekeying,
    hold_records,
    insert_fact_rows,
    list_rekeyable,
    lock_rekeying,
    note_progress,
)
from stratagraph.store.records.predicates import registered
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import end_relations

JOB = "rekey"
ACTOR = "upgrade"
RATIONALE = "equal or contradictory once names are compared as they are now"
RETRIED = 100  # records that were set aside, tried again in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class RekeyBatch:
    """The number of records read in one batch, and how many of them were set aside; `more` if others may be due."""

    records: int = 0
    set_aside: int = 0
    more: bool = False


async def rekey_batch(database: Database, directory: Directory, *, now: datetime, batch: int) -> RekeyBatch:
    """Give at most `batch` entities and facts of one tenant their new keys, in one transaction.

    The place is stored with them, so that the next batch goes on there, whichever server runs it. Records that fail are
    set aside and tried again; the tenant is done when there are none of them left.
    """
    async with database.background(Role.JOBS) as connection:
        beyond = -1
        while (found := await lock_rekeying(connection, beyond=beyond)) is not None:
            beyond, after = found
            done = await _rekey_tenant(connection, directory, beyond, after, now=now, batch=batch)
            if done is not None:
                return done
    return RekeyBatch()


async def _rekey_tenant(
    connection: Connection, directory: Directory, number: int, after: UUID | None, *, now: datetime, batch: int
) -> RekeyBatch | None:
    """Re-key the next records of a locked tenant; None if none is due at `now`."""
    caller = everything_of(await directory.tenant_by_id(number), ACTOR)
    records = await list_rekeyable(connection, caller.tenant, after=after, limit=batch)
    ids = [id_ for id_, _ in records]
    if not ids:
        due = await due_set_aside(connection, JOB, now=now, limit=RETRIED)
        ids = [id_ for tenant, id_ in due if tenant == number]
        if not ids:
            finished = await finish_rekeying(connection, caller.tenant, JOB)
            return RekeyBatch(more=True) if finished else None

    async def process(part: Sequence[UUID]) -> None:
        async with elevated(connection, caller.bounds):
            work = UnitOfWork(connection, directory, caller, now, RATIONALE)
            await _rekey(work, part)
            await work.settle()
            await append_changes(connection, caller.tenant, work.changes)

    _, failures = await process_or_set_aside(connection, JOB, ids, process, key=lambda id_: (number, id_), at=now)
    if records:
        await note_progress(connection, caller.tenant, records[-1][0])
    return RekeyBatch(records=len(ids), set_aside=len(failures), more=True)


async def _rekey(work: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Give entities and facts their new keys: first the terms of the entities, as writers lock them first."""
    await _rekey_entities(work, ids)
    await _rekey_facts(work, ids)


async def _rekey_entities(work: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Replace the terms of entities by those of their payloads; entities that are not current lose theirs."""
    connection, tenant = work.connection, work.caller.tenant
    await lock_terms(connection, tenant, ids)
    records = await Reader(connection, work.directory, work.caller, work.at).records(ids)
    entities = {id_: record for id_, record in records.items() if record.type is MemoryType.ENTITY}
    if not entities:
        return
    await hold_records(connection, tenant, entities)
    await delete_terms(connection, tenant, entities)
    rows = []
    for id_, entity in sorted(entities.items()):
        if entity.state not in CURRENT:
            continue
        mention = await entity_mention(work, entity, entity.payload or {})
        rows += [(id_, term, mention.scope, mention.sensitivity) for term in terms_of(tenant, mention)]
    await insert_terms(connection, tenant, rows)


async def _rekey_facts(work: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Store what identifies facts that an earlier release wrote, and give them the keys computed from it."""
    connection, tenant = work.connection, work.caller.tenant
    facts = await fetch_old_facts(connection, tenant, ids)
    if not facts:
        return
    links = await _hold_entities(work, [fact.id for fact in facts])
    names = {fact.id: _predicate(fact.payload["predicate"]) for fact in facts}
    predicates = await registered(connection, tenant, set(names.values()))
    keyed: list[tuple[OldFact, FactKeys]] = []
    wrong: list[UUID] = []  # relations to objects that are values, not entities
    for fact in facts:
        name = names[fact.id]
        entities, unlinked = _entities(fact, links.get(fact.id, ()), predicates[name])
        keyed.append((fact, fact_keys(tenant, {**fact.payload, "predicate": name}, entities)))
        wrong += unlinked
    # A new slot gets the cardinality of its predicate, as if its facts were captured now.
    slots = {Slot(fact.scope, fact.sensitivity, keys.slot): names[fact.id] for fact, keys in keyed}
    await lock_slots(connection, tenant, dict(slots))
    await insert_fact_rows(connection, tenant, keyed)
    await rekey_facts(work, [fact.id for fact in facts], lambda fact: fact.identity, path=["upgrade"], bounded=False)
    work.changes += await end_relations(connection, tenant, wrong, at=work.at)


async def _hold_entities(work: UnitOfWork, ids: Sequence[UUID]) -> dict[UUID, list[FactLink]]:
    """Lock the entities of facts against being merged; return the relations to them, by fact."""
    connection, tenant = work.connection, work.caller.tenant
    found = await fetch_fact_links(connection, tenant, ids)
    await hold_records(connection, tenant, {link.entity for link in found})
    if found != await fetch_fact_links(connection, tenant, ids):
        raise StaleRead
    links: dict[UUID, list[FactLink]] = {}
    for link in found:
        links.setdefault(link.fact, []).append(link)
    return links


def _entities(fact: OldFact, links: Sequence[FactLink], predicate: FactPredicate) -> tuple[FactEntities, list[UUID]]:
    """Return the entities of a fact, and the relations to an object that is no entity by the present rules."""
    subject = next((link.entity for link in links if not link.is_object), None)
    objects = [link for link in links if link.is_object]
    if objects and _is_literal(fact.payload, predicate):
        return FactEntities(subject=subject), [link.relation for link in objects]
    return FactEntities(subject=subject, object=objects[0].entity if objects else None), []


def _is_literal(payload: Mapping[str, Any], predicate: FactPredicate) -> bool:
    value = payload["object"]
    if payload.get("object_type") is not None:
        return False
    return predicate.object_kind == LITERAL or not isinstance(value, str) or is_value(value)


def _predicate(name: str) -> str:
    """Return a predicate in its present spelling; one without a word stays as it is."""
    try:
        return fact_predicate(name)
    except ValueError:
        return name
