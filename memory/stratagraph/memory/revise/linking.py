"""Background linking: records that named an entity before it existed, or before its name was unambiguous.

A record is found again by the words of the entity's names, and each of its names is resolved as a capture would resolve
it now. See docs/specification.md, Entities.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.found_names import SearchedText, guessed_names
from stratagraph.memory.capture.interpret import SCANNED_CHARACTERS
from stratagraph.memory.capture.literals import is_sentence, is_value
from stratagraph.memory.propagation.queue import everything_of
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.revise.rekeyed_facts import MAX_REKEYED, rekey_facts
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.errors import LimitExceeded, error_kind
from stratagraph.store.model.fact_predicates import LITERAL
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.words import likely_name_terms
from stratagraph.store.postgres.database import Connection, Database, Role, elevated, savepoint
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import Mention, hold_entities, read_names
from stratagraph.store.records.episode_timelines import is_thread_episode
from stratagraph.store.records.fact_keys import FactIdentity, Slot
from stratagraph.store.records.facts import lock_slots
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.keyed_facts import KeyedFact, fetch_keyed_facts
from stratagraph.store.records.link_requests import (
    WantedTerms,
    delete_link_requests,
    find_records_with_terms,
    lock_link_requests,
    postpone_link_request,
)
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.predicates import registered
from stratagraph.store.records.reading import Reader

JOB = "link-names"
ACTOR = "linking"
RATIONALE = "an entity of this name is known now"
MAX_NAMES = 32  # names of one entity that are looked for
MAX_RECORDS = 1_000  # records of one scope and sensitivity read for one name, the newest
_log = get_logger(__name__)
_AT_ONCE = 500  # records whose names are read by one statement, or a few more
_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBatch:
    """How many queued entities were due in one batch, and how many of them were set aside."""

    due: int
    set_aside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unlinked:
    """A name in a record that is linked to no entity, and the relation that would link it.

    `is_guess` is whether it is a word of the text that may be a name.
    """

    record: MemoryRecord
    name: str
    predicate: str
    weight: float
    type: str | None = None
    is_guess: bool = False


async def link_due(database: Database, directory: Directory, *, now: datetime, batch: int) -> LinkBatch:
    """Link earlier records to one batch of at most `batch` queued entities.

    An entity that cannot be processed is set aside and stays in the queue. Any number of servers may call this at once.
    """
    set_aside = 0
    async with database.background(Role.JOBS) as connection:
        due = await lock_link_requests(connection, now=now, limit=batch)
        by_tenant: dict[int, list[UUID]] = defaultdict(list)
        for number, entity in due:
            by_tenant[number].append(entity)
        for number, entities in sorted(by_tenant.items()):
            set_aside += await _link(connection, directory, number, entities, now)
    return LinkBatch(due=len(due), set_aside=set_aside)


async def _link(
    connection: Connection, directory: Directory, number: int, entities: Sequence[UUID], now: datetime
) -> int:
    """Link records to queued entities of one tenant; return how many entities were set aside."""
    caller = everything_of(await directory.tenant_by_id(number), ACTOR)

    async def process(part: Sequence[UUID]) -> None:
        async with elevated(connection, caller.bounds):
            work = UnitOfWork(connection, directory, caller, now, RATIONALE)
            records = await Reader(connection, directory, caller, now).records(part)
            entities = [record for id_ in part if (record := records.get(id_)) is not None and _is_current(record)]
            for entity, ids in await _find_unlinked(work, entities):
                await _link_records(work, entity, ids)
            await delete_link_requests(connection, caller.tenant, part)

    _, failures = await process_or_set_aside(connection, JOB, entities, process, key=lambda id_: (number, id_), at=now)
    for id_, failure in failures.items():
        await postpone_link_request(connection, caller.tenant, id_, next_try_at=failure.retry_at)
    return len(failures)


def _is_current(record: MemoryRecord) -> bool:
    return record.type is MemoryType.ENTITY and record.state in _CURRENT


async def _link_records(work: UnitOfWork, entity: MemoryRecord, ids: Sequence[UUID]) -> None:
    """Link records of one scope and sensitivity, which hold a name of the entity, to what these names mean now."""
    part = UnitOfWork(work.connection, work.directory, work.caller, work.at, work.rationale)
    try:
        async with savepoint(work.connection):
            await _link_part(part, ids, _folded(entity))
            await append_changes(work.connection, work.caller.tenant, part.changes)
    except LimitExceeded as error:
        _log.warning("records stay without a link", entity=str(entity.id), records=len(ids), error=error_kind(error))


async def _find_unlinked(work: UnitOfWork, entities: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, list[UUID]]]:
    """Return the records that hold a name of each entity that is linked to no entity, in lists as `_find_records` does.

    Most records that have the words of a name are linked already, so that all are read at once here. What is linked
    for one entity leaves no further names for another, so this needs no second reading.
    """
    found: list[tuple[MemoryRecord, list[UUID]]] = []
    lists = deque(await _find_records(work, entities))
    while lists:
        part: list[tuple[MemoryRecord, list[UUID]]] = []
        wanted: set[UUID] = set()
        while lists and len(wanted) < _AT_ONCE:
            part.append(lists.popleft())
            wanted.update(part[-1][1])
        named = await _names_by_record(work, wanted)
        for entity, ids in part:
            folded = _folded(entity)
            kept = [id_ for id_ in ids if id_ in named and not folded.isdisjoint(named[id_])]
            if kept:
                found.append((entity, kept))
    return found


async def _names_by_record(work: UnitOfWork, ids: Collection[UUID]) -> dict[UUID, set[str]]:
    """Return the normalised names in each of the records that are linked to no entity."""
    records = await Reader(work.connection, work.directory, work.caller, work.at).records(ids)
    facts = await _facts_of(work, records.values())
    return {
        id_: {normalised_name(one.name) for one in _unlinked_names(record, facts.get(id_))}
        for id_, record in records.items()
    }


async def _link_part(work: UnitOfWork, ids: Sequence[UUID], folded: Collection[str]) -> None:
    """Link records of one scope and sensitivity that hold one of the names, which are normalised."""
    records = await Reader(work.connection, work.directory, work.caller, work.at).records(ids)
    facts = await _facts_of(work, records.values())
    found = [
        one
        for record in records.values()
        for one in _unlinked_names(record, facts.get(record.id))
        if any(name in normalised_name(one.name) for name in folded)  # also longer names, of which these are parts
    ]
    found = await _without_literals(work, found)
    linked = await _resolve(work, found, facts, folded)
    if linked:
        await _write(work, linked, facts)


async def _facts_of(work: UnitOfWork, records: Iterable[MemoryRecord]) -> dict[UUID, KeyedFact]:
    facts = [record.id for record in records if record.type is MemoryType.SEMANTIC]
    return await fetch_keyed_facts(work.connection, work.caller.tenant, facts)


def _names_of(entity: MemoryRecord) -> list[str]:
    payload = entity.payload or {}
    listed = [payload.get("canonical_name", ""), *(alias["value"] for alias in payload.get("aliases") or ())]
    return list(dict.fromkeys(name for name in listed if name.strip()))[:MAX_NAMES]


def _folded(entity: MemoryRecord) -> frozenset[str]:
    return frozenset(normalised_name(name) for name in _names_of(entity))


async def _find_records(work: UnitOfWork, entities: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, list[UUID]]]:
    """Return records that have all words of one of an entity's names and may link to it, but do not yet.

    Each list has at most MAX_REKEYED records, all of one scope and sensitivity. Lists are linked apart from each other:
    what those who may read one find linked depends neither on the number of other records nor on an error in them.
    """
    scopes = await work.directory.scopes(work.caller.tenant, {entity.scope for entity in entities}, create=False)
    wanted = [
        WantedTerms(
            terms=terms,
            scope=None if entity.scope == UNSCOPED else scopes[entity.scope],
            least_sensitivity=int(entity.sensitivity),
            entity=entity.id,
        )
        for entity in entities
        for name in _names_of(entity)
        if (terms := likely_name_terms(work.caller.tenant.index_key, name))  # without such names as "The"
    ]
    found: dict[UUID, dict[tuple[int, int], dict[UUID, None]]] = defaultdict(lambda: defaultdict(dict))
    for one, records in await find_records_with_terms(work.connection, work.caller.tenant, wanted, most=MAX_RECORDS):
        for place, ids in records.items():
            found[one.entity][place] |= dict.fromkeys(ids)
    return [
        (entity, ids[start : start + MAX_REKEYED])
        for entity in entities
        for _, of_place in sorted(found[entity.id].items())
        for ids in [list(of_place)]
        for start in range(0, len(ids), MAX_REKEYED)
    ]


def _unlinked_names(record: MemoryRecord, fact: KeyedFact | None) -> list[_Unlinked]:
    """Return the names in a record that are linked to no entity: of a fact, listed as ambiguous, and in the text.

    The text of a thread's episode is made of its members', which are linked themselves. It has that text from its close
    on, so that links from it would depend on whether the thread or the queue of entities was the first.
    """
    found = []
    payload = record.payload or {}
    if fact is not None:
        if fact.identity.subject_entity is None:
            found.append(_Unlinked(record=record, name=payload["subject"], predicate="subject_entity", weight=1.0))
        if fact.identity.object_entity is None and isinstance(payload["object"], str):
            kind = payload.get("object_type")
            found.append(
                _Unlinked(record=record, name=payload["object"], predicate="object_entity", weight=0.9, type=kind)
            )
        found = [one for one in found if not (is_value(one.name) or is_sentence(one.name))]
    listed = (record.interpretation or {}).get("mentions") or ()
    linked = {normalised_name(one["surface"]) for one in listed if "entity_id" in one}
    for one in listed:
        if one.get("status") == "ambiguous" and not one["predicate"].startswith(("subject_", "object_")):
            found.append(
                _Unlinked(
                    record=record, name=one["surface"], predicate=one["predicate"], weight=0.9, type=one.get("type")
                )
            )
    if is_thread_episode(record):
        return found
    known = linked | {normalised_name(one.name) for one in found}
    found += [
        _Unlinked(record=record, name=name, predicate="mentions_entity", weight=0.7, is_guess=True)
        for name in guessed_names(_scanned(record))
        if normalised_name(name) not in known
    ]
    return found


def _named(record: MemoryRecord, fact: KeyedFact | None) -> list[str]:
    """Return the names in a record that mean an entity, or several."""
    listed = (record.interpretation or {}).get("mentions") or ()
    named = [one["surface"] for one in listed if "entity_id" in one or one.get("status") == "ambiguous"]
    if fact is not None:
        payload = record.payload or {}
        named += [payload["subject"]] if fact.identity.subject_entity is not None else []
        named += [payload["object"]] if fact.identity.object_entity is not None else []
    return named


def _scanned(record: MemoryRecord) -> str:
    return (record.text or "")[:SCANNED_CHARACTERS]


async def _without_literals(work: UnitOfWork, found: Sequence[_Unlinked]) -> list[_Unlinked]:
    """Return the names without objects of predicates whose objects are never entities."""
    objects = {(one.record.payload or {})["predicate"] for one in found if one.predicate == "object_entity"}
    predicates = await registered(work.connection, work.caller.tenant, objects)
    return [
        one
        for one in found
        if one.predicate != "object_entity"
        or one.type is not None
        or predicates[(one.record.payload or {})["predicate"]].object_kind != LITERAL
    ]


async def _resolve(
    work: UnitOfWork, found: Sequence[_Unlinked], facts: Mapping[UUID, KeyedFact], folded: Collection[str]
) -> dict[UUID, dict[UUID, _Unlinked]]:
    """Return the entity that each of the `folded` names means now, by record.

    Names that mean none, or several, are left out, and words that are only parts of longer names of entities.
    """
    tenant = work.caller.tenant
    scopes = await work.directory.scopes(tenant, {UNSCOPED, *(one.record.scope for one in found)}, create=True)
    keys = [
        Mention(
            name=one.name, scope=scopes[one.record.scope], sensitivity=int(one.record.sensitivity), type=one.type
        ).keys(tenant, scopes[UNSCOPED])
        for one in found
    ]
    index = await read_names(work.connection, tenant, keys)
    matches = [(one, index.match(mention)) for one, mention in zip(found, keys, strict=True)]
    records = {one.record.id: one.record for one in found}
    named = {id_: _named(record, facts.get(id_)) for id_, record in records.items()}
    texts = {id_: SearchedText(_scanned(record)) for id_, record in records.items()}
    for one, match in matches:
        if match.entity is not None or match.candidates:
            named[one.record.id].append(one.name)
    linked: dict[UUID, dict[UUID, _Unlinked]] = {}
    for one, match in matches:
        id_, entity = one.record.id, match.entity
        if entity is None or normalised_name(one.name) not in folded or _is_repeated(one, entity, facts.get(id_)):
            continue
        if not (one.is_guess and texts[id_].has_only_within(one.name, named[id_])):
            linked.setdefault(id_, {}).setdefault(entity, one)
    entities = {entity for of_record in linked.values() for entity in of_record}
    if not await hold_entities(work.connection, tenant, entities, taught=()):
        raise StaleRead
    return linked


def _is_repeated(one: _Unlinked, entity: UUID, fact: KeyedFact | None) -> bool:
    """Return whether a word of a fact's text means its subject or its object."""
    named = () if fact is None else (fact.identity.subject_entity, fact.identity.object_entity)
    return one.predicate == "mentions_entity" and entity in named


async def _write(
    work: UnitOfWork, linked: Mapping[UUID, Mapping[UUID, _Unlinked]], facts: Mapping[UUID, KeyedFact]
) -> None:
    """Give the facts their keys, and write the relations and what the interpretations say of these names."""
    identities: dict[UUID, FactIdentity] = {}
    predicates: dict[UUID, str] = {}
    for id_, entities in linked.items():
        for entity, one in entities.items():
            if one.predicate not in ("subject_entity", "object_entity"):
                continue
            known = identities.get(id_, facts[id_].identity)
            identities[id_] = (
                replace(known, subject_entity=entity, subject_key=None, subject_is_ambiguous=False)
                if one.predicate == "subject_entity"
                else replace(known, object_entity=entity, value_key=None)
            )
            predicates[id_] = (one.record.payload or {})["predicate"]
    if identities:
        tenant = work.caller.tenant
        slots = {
            Slot(facts[id_].slot.scope, facts[id_].slot.sensitivity, identity.slot_key(tenant)): predicates[id_]
            for id_, identity in identities.items()
        }
        # A new slot gets the cardinality of its predicate, as if the fact were captured now.
        await lock_slots(work.connection, tenant, slots)
        await rekey_facts(work, identities, lambda fact: identities[fact.id], path=["recordIds"])
    await work.relate(
        [
            NewRelation(source=id_, target=entity, predicate=one.predicate, weight=one.weight)
            for id_, entities in linked.items()
            for entity, one in entities.items()
            if id_ != entity
        ]
    )
    await _rewrite_interpretations(work, linked)
    await work.settle()


async def _rewrite_interpretations(work: UnitOfWork, linked: Mapping[UUID, Mapping[UUID, _Unlinked]]) -> None:
    """Replace `ambiguous` by the entity in the interpretations of records whose names are clear now."""
    edits = []
    for id_, entities in linked.items():
        record = next(iter(entities.values())).record
        entity_of = {(normalised_name(one.name), one.predicate): str(entity) for entity, one in entities.items()}
        interpretation = record.interpretation or {}
        mentions = [_clear(mention, entity_of) for mention in interpretation.get("mentions") or ()]
        if mentions != interpretation.get("mentions", []):
            text = orjson.dumps({**interpretation, "mentions": mentions}).decode()
            edits.append(Edit(id=id_, interpretation=text, is_revision=False))
    rows = await lock_records(work.connection, work.caller.tenant, [edit.id for edit in edits])
    work.after(*(row.updated_at for row in rows.values()))
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, edits, at=work.at)


def _clear(mention: dict[str, Any], entity_of: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    entity = entity_of.get((normalised_name(mention["surface"]), mention["predicate"]))
    if entity is None or "entity_id" in mention:
        return mention
    return {"surface": mention["surface"], "predicate": mention["predicate"], "entity_id": entity}
