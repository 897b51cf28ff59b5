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
from stratagraph.memory.tenant_passes import PassedBatch, pass_batch
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.duplicates import queue_duplicates
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.fact_predicates import LITERAL, FactPredicate
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.postgres.database import Connection, Database, elevated
from stratagraph.store.records.entities import delete_terms, fetch_own_terms, lock_terms, replace_terms, terms_of
from stratagraph.store.records.fact_keys import FactEntities, FactKeys, Slot, fact_keys
from stratagraph.store.records.facts import lock_slots
from stratagraph.store.records.link_requests import insert_link_requests
from stratagraph.store.records.old_keys import (
    REKEYING,
    FactLink,
    OldFact,
    fetch_fact_links,
    fetch_old_facts,
    hold_records,
    insert_fact_rows,
    list_rekeyable,
)
from stratagraph.store.records.predicates import registered
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import end_relations

JOB = REKEYING.job
ACTOR = "upgrade"
RATIONALE = "equal or contradictory once names are compared as they are now"


async def rekey_batch(database: Database, directory: Directory, *, now: datetime, batch: int) -> PassedBatch:
    """Give at most `batch` entities and facts of one tenant their new keys, in one transaction."""

    async def open_tenant(connection: Connection, number: int) -> _Records:
        return _Records(connection, directory, everything_of(await directory.tenant_by_id(number), ACTOR), now)

    return await pass_batch(database, REKEYING, open_tenant, now=now, batch=batch)


@dataclass(frozen=True, slots=True)
class _Records:
    """The entities and facts of a tenant, which get their new keys as changes of `caller`."""

    connection: Connection
    directory: Directory
    caller: Caller
    at: datetime

    async def list_next(self, after: UUID | None, *, limit: int) -> Sequence[UUID]:
        return await list_rekeyable(self.connection, self.caller.tenant, after=after, limit=limit)

    async def process(self, ids: Sequence[UUID]) -> None:
        async with elevated(self.connection, self.caller.bounds):
            work = UnitOfWork(self.connection, self.directory, self.caller, self.at, RATIONALE)
            await _rekey(work, ids)
            await work.settle()
            await append_changes(self.connection, self.caller.tenant, work.changes)


async def _rekey(work: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Give entities and facts their new keys: first the terms of the entities, as writers lock them first."""
    await _rekey_entities(work, ids)
    await _rekey_facts(work, ids)


async def _rekey_entities(work: UnitOfWork, ids: Sequence[UUID]) -> None:
    """Replace the terms of entities by those of their payloads; entities that are not current lose theirs.

    Terms that captures of other scopes or sensitivities taught are kept, as no payload has them. An entity whose terms
    change is linked and compared as one with a new name, so that it meets what has the same name now.
    """
    connection, tenant = work.connection, work.caller.tenant
    await lock_terms(connection, tenant, ids)
    records = await Reader(connection, work.directory, work.caller, work.at).records(ids)
    entities = {id_: record for id_, record in records.items() if record.type is MemoryType.ENTITY}
    if not entities:
        return
    await hold_records(connection, tenant, entities)
    await delete_terms(connection, tenant, [id_ for id_, entity in entities.items() if entity.state not in CURRENT])
    stored = await fetch_own_terms(connection, tenant, entities)
    changed = set()
    for id_, entity in sorted(entities.items()):
        if entity.state not in CURRENT:
            continue
        mention = await entity_mention(work, entity, entity.payload or {})
        if stored.get(id_) != {*terms_of(tenant, mention)}:
            await replace_terms(connection, tenant, mention, id_, skip_taken=True)
            changed.add(id_)
    await insert_link_requests(connection, tenant, changed, at=work.at, unites=True)
    await queue_duplicates(connection, [(tenant.id, id_) for id_ in changed])


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
