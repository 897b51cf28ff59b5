"""What this store has under the ids, the keys and the names of records that are to be restored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import FIELDS, open_contents
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.exported import RelationLine
from stratagraph.store.postgres.queries import Row, fetch
from stratagraph.store.records.erased_sources import Source, find_erased_sources
from stratagraph.store.records.fact_keys import Slot
from stratagraph.store.records.name_index import IDENTIFIER
from stratagraph.store.records.tombstones import Tombstone, find_tombstones
from stratagraph.store.transfer.restorable import Restorable

Happened = tuple[str, str, datetime]  # action, actor and time of an entry of a log


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecord:
    """A record that is stored under the id of one to restore."""

    type: MemoryType
    state: RecordState
    version: int
    created_at: datetime
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store has that concerns records to restore, by their ids.

    `equal` and `rivals` are the active facts that say the same, or hold another value of the slot at the same time.
    `taken` are the entities that have identifiers of one, `working` and `episodes` the working record and the open
    episode of the thread. `slots` tells which slots are single-valued.
    """

    records: Mapping[UUID, StoredRecord]
    logs: Mapping[UUID, Sequence[Happened]]
    tombstones: Mapping[UUID, Tombstone]
    equal: Mapping[UUID, UUID]
    rivals: Mapping[UUID, UUID]
    taken: Mapping[UUID, Collection[UUID]]
    working: Mapping[UUID, UUID]
    episodes: Mapping[UUID, UUID]
    slots: Mapping[Slot, bool]
    erased: frozenset[Source]


async def find_known(
    connection: AsyncConnection, tenant: Tenant, records: Sequence[Restorable], *, slots: Mapping[Slot, bool]
) -> Known:
    """Return what the store has that concerns `records`. `slots` are those that it has, as they were locked."""
    ids = [one.id for one in records]
    stored = await fetch(connection, "find_restored_records", tenant=tenant.id, ids=ids)
    opened = await open_contents(tenant.keyring, stored)
    known = {row["id"] for row in stored}
    new = [one for one in records if one.id not in known]
    facts = await _find_rivals(connection, tenant, new)
    return Known(
        records={
            row["id"]: StoredRecord(
                type=MemoryType(row["type"]),
                state=RecordState(row["state"]),
                version=row["version"],
                created_at=row["created_at"],
                content={name: (row if content is None else content)[name] for name in FIELDS},
            )
            for row, content in zip(stored, opened, strict=True)
        },
        logs=await find_logs(connection, tenant, ids),
        tombstones=await find_tombstones(connection, tenant, ids),
        equal={new[row["place"]].id: row["id"] for row in facts if row["is_equal"]},
        rivals={new[row["place"]].id: row["id"] for row in facts if not row["is_equal"]},
        taken=await _find_taken(connection, tenant, new),
        working=await _find_by_key(
            connection,
            tenant,
            "find_working_of_threads",
            [(one, one.handle_key) for one in new if one.is_current_working],
        ),
        episodes=await _find_by_key(
            connection,
            tenant,
            "find_open_episodes_of_threads",
            [(one, one.thread_key) for one in new if one.is_open_episode],
        ),
        slots=slots,
        erased=await find_erased_sources(connection, tenant, {source for one in new for source in one.sources}),
    )


async def stored_ids(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return those of `ids` under which a record is stored."""
    rows = await fetch(connection, "find_stored_ids", tenant=tenant.id, ids=list(ids))
    return {row["id"] for row in rows}


async def find_logs(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, Sequence[Happened]]:
    """Return what happened to records by their logs, which outlive them, oldest first."""
    found: dict[UUID, list[Happened]] = {}
    if ids:
        for row in await fetch(connection, "find_restored_entries", tenant=tenant.id, ids=list(ids)):
            found.setdefault(row["id"], []).append((row["action"], row["actor"], row["at"]))
    return {**found}


async def _find_rivals(connection: AsyncConnection, tenant: Tenant, records: Sequence[Restorable]) -> Sequence[Row]:
    """Return the active facts that equal or contradict active ones among `records`, each with the place of that."""
    active = [
        (place, one, one.keys)
        for place, one in enumerate(records)
        if one.keys is not None and one.line.state is RecordState.ACTIVE
    ]
    if not active:
        return []
    return await fetch(
        connection,
        "find_active_rivals",
        tenant=tenant.id,
        places=[place for place, _, _ in active],
        scopes=[one.scope for _, one, _ in active],
        sensitivities=[int(one.line.sensitivity) for _, one, _ in active],
        slots=[keys.slot for _, _, keys in active],
        facts=[keys.fact for _, _, keys in active],
        conditions=[keys.condition for _, _, keys in active],
        validities=[one.validity for _, one, _ in active],
        single=[one.is_single_valued for _, one, _ in active],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualFact:
    """A stored fact of the same content as one to restore: subject, predicate, object, conditions, stated validity.

    `is_as_long` tells whether the effective validity is the same too.
    """

    id: UUID
    state: RecordState
    is_as_long: bool


async def find_equal_facts(
    connection: AsyncConnection, tenant: Tenant, facts: Sequence[Restorable], *, past: Collection[UUID]
) -> dict[UUID, Sequence[EqualFact]]:
    """Return the stored facts that equal `facts`, by the ids of these: active ones first, past ones for `past` only."""
    wanted = [(place, one, one.keys) for place, one in enumerate(facts) if one.keys is not None]
    rows = await fetch(
        connection,
        "find_equal_facts",
        tenant=tenant.id,
        places=[place for place, _, _ in wanted],
        scopes=[one.scope for _, one, _ in wanted],
        sensitivities=[int(one.line.sensitivity) for _, one, _ in wanted],
        slots=[keys.slot for _, _, keys in wanted],
        facts=[keys.fact for _, _, keys in wanted],
        validities=[one.validity for _, one, _ in wanted],
        past=[one.id in past for _, one, _ in wanted],
    )
    found: dict[UUID, list[EqualFact]] = {}
    for row in rows:
        equal = EqualFact(id=row["id"], state=RecordState(row["state"]), is_as_long=row["is_as_long"])
        found.setdefault(facts[row["place"]].id, []).append(equal)
    return {**found}


async def _find_taken(
    connection: AsyncConnection, tenant: Tenant, records: Sequence[Restorable]
) -> dict[UUID, Collection[UUID]]:
    """Return the entities that have an identifier of one of `records`, by the id of that."""
    terms = [
        (place, one, term)
        for place, one in enumerate(records)
        for term in one.terms_of_names
        if term.kind == IDENTIFIER
    ]
    if not terms:
        return {}
    rows = await fetch(
        connection,
        "find_taken_terms",
        tenant=tenant.id,
        places=[place for place, _, _ in terms],
        scopes=[one.scope for _, one, _ in terms],
        sensitivities=[int(one.line.sensitivity) for _, one, _ in terms],
        keys=[term.key for _, _, term in terms],
    )
    found: dict[UUID, set[UUID]] = {}
    for row in rows:
        found.setdefault(records[row["place"]].id, set()).add(row["entity"])
    return {**found}


async def _find_by_key(
    connection: AsyncConnection, tenant: Tenant, statement: str, wanted: Sequence[tuple[Restorable, bytes | None]]
) -> dict[UUID, UUID]:
    if not wanted:
        return {}
    rows = await fetch(
        connection,
        statement,
        tenant=tenant.id,
        places=list(range(len(wanted))),
        scopes=[one.scope for one, _ in wanted],
        sensitivities=[int(one.line.sensitivity) for one, _ in wanted],
        keys=[key for _, key in wanted],
    )
    return {wanted[row["place"]][0].id: row["id"] for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRelation:
    """What the store has that concerns a relation to restore: its ends, its id, and an open one in its place."""

    has_source: bool
    has_target: bool
    stored: tuple[UUID, UUID] | None  # the ends of the relation with its id
    open_id: UUID | None

    @property
    def is_free(self) -> bool:
        """Whether the relation may be stored."""
        return self.has_source and self.has_target and self.stored is None and self.open_id is None


async def find_known_relations(
    connection: AsyncConnection, tenant: Tenant, relations: Sequence[RelationLine]
) -> list[KnownRelation]:
    """Return what the store has that concerns each of `relations`."""
    rows = await fetch(
        connection,
        "find_restored_relations",
        tenant=tenant.id,
        places=list(range(len(relations))),
        ids=[one.id for one in relations],
        sources=[one.source for one in relations],
        targets=[one.target for one in relations],
        predicates=[one.predicate for one in relations],
        open=[one.ended_at is None for one in relations],
    )
    found = {row["place"]: row for row in rows}
    return [
        KnownRelation(
            has_source=row["has_source"],
            has_target=row["has_target"],
            stored=None if row["stored_source"] is None else (row["stored_source"], row["stored_target"]),
            open_id=row["open_id"],
        )
        for place in range(len(relations))
        for row in (found[place],)
    ]
