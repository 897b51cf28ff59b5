"""Merges of entities: what each changed is remembered, so that it can be undone. See docs/data-model.md, Merges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import RecordState
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import Row, fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.fact_keys import Slot, slot_arrays
from stratagraph.store.records.inserting import NewRelation


@dataclass(frozen=True, slots=True, kw_only=True)
class RowVersion:
    """The row version and the salience of a record."""

    row_version: int
    s: float
    t0: datetime
    last_reinforced_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRecord:
    """A record in a merge: a fact that named the merged entity, a record whose content changed, or the entity itself.

    `is_subject` and `is_object` say whether the merged entity was the fact's subject or object. `before` and `after`
    are row versions, equal if the content did not change; the salience is that before the merge. `is_decided` is
    whether a revision since the merge has decided that another record stands for it.
    """

    id: UUID
    is_subject: bool
    is_object: bool
    before: int
    after: int
    s: float
    t0: datetime
    last_reinforced_at: datetime | None
    is_decided: bool = False

    @property
    def is_own(self) -> bool:
        """Whether the record is a fact that named the merged entity."""
        return self.is_subject or self.is_object


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRelation:
    """A relation that a merge inserted (`is_new`) or ended."""

    id: UUID
    is_new: bool
    source: UUID
    target: UUID
    predicate: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """An open relation between a fact of a merged entity, `own`, and another fact of the same slot, `other`.

    `predicate` is `contested_by` or `supersedes`; with `is_from_own`, the relation starts at `own`.
    """

    id: UUID
    own: UUID
    other: UUID
    predicate: str
    is_from_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Displacement:
    """An open relation, since a merge, between two facts of a slot that the merge made single-valued.

    Neither fact is about the merged entity. `predicate` is `contested_by` or `supersedes`.
    """

    id: UUID
    source: UUID
    target: UUID
    predicate: str


@dataclass(slots=True, kw_only=True)
class EntityMerge:
    """One entity that was merged into another one, with everything that must be known to undo it."""

    entity: UUID
    survivor: UUID
    merged_at: datetime
    survivor_before: int
    survivor_after: int
    records: list[MergedRecord] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)  # made single-valued, where nobody has asked for one value since


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a record at one of its versions, and its state then."""

    state: RecordState
    payload: dict[str, Any]
    provenance: dict[str, Any]
    occurred_at: datetime


async def row_versions(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, RowVersion]:
    """Return the row version and the salience of each of the locked records, keyed by id."""
    rows = await fetch(connection, "row_versions", tenant=tenant.id, ids=list(ids))
    return {
        row["id"]: RowVersion(
            row_version=row["row_version"], s=row["s"], t0=row["t0"], last_reinforced_at=row["last_reinforced_at"]
        )
        for row in rows
    }


async def fetch_versions(
    connection: AsyncConnection, tenant: Tenant, versions: Mapping[UUID, int]
) -> dict[UUID, Content]:
    """Return the content of records at the given row versions, keyed by id; versions that are not kept are left out."""
    if not versions:
        return {}
    rows = await fetch(
        connection, "fetch_row_versions", tenant=tenant.id, ids=list(versions), versions=list(versions.values())
    )
    found = {}
    for row, opened in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        values: Mapping[Any, Any] = row if opened is None else opened
        found[row["id"]] = Content(
            state=RecordState(row["state"]),
            payload=values["payload"],
            provenance=values["provenance"],
            occurred_at=row["occurred_at"],
        )
    return found


async def insert_merge(
    connection: AsyncConnection, tenant: Tenant, merge: EntityMerge, *, ended: Sequence[UUID], inserted: Sequence[UUID]
) -> None:
    """Remember a merge, the relations that it ended and those that it inserted. The terms follow by `move_terms`."""
    of = {"tenant": tenant.id, "entity": merge.entity}
    await insert_rows(
        connection,
        tables.entity_merge,
        [
            {
                **of,
                "survivor": merge.survivor,
                "merged_at": merge.merged_at,
                "survivor_before": merge.survivor_before,
                "survivor_after": merge.survivor_after,
            }
        ],
    )
    await insert_rows(
        connection,
        tables.entity_merge_record,
        [
            {
                **of,
                "id": record.id,
                "is_subject": record.is_subject,
                "is_object": record.is_object,
                "before": record.before,
                "after": record.after,
                "s": record.s,
                "t0": record.t0,
                "last_reinforced_at": record.last_reinforced_at,
            }
            for record in merge.records
        ],
    )
    relations = [*((id_, False) for id_ in ended), *((id_, True) for id_ in inserted)]
    await insert_rows(
        connection, tables.entity_merge_relation, [{**of, "relation": id_, "is_new": new} for id_, new in relations]
    )
    await insert_rows(
        connection,
        tables.entity_merge_slot,
        [{**of, "scope": slot.scope, "sensitivity": slot.sensitivity, "slot_key": slot.key} for slot in merge.slots],
    )


async def move_terms(connection: AsyncConnection, tenant: Tenant, entity: UUID, survivor: UUID) -> None:
    """Give the survivor of a remembered merge all terms of the entity, with the scope and sensitivity they have."""
    await run(connection, "keep_terms", tenant=tenant.id, entity=entity, survivor=survivor)
    await run(connection, "delete_entity_terms", tenant=tenant.id, entities=[entity])
    await run(connection, "move_terms", tenant=tenant.id, entity=entity, survivor=survivor)


async def take_back_terms(connection: AsyncConnection, tenant: Tenant, entity: UUID, survivor: UUID) -> None:
    """Delete from the survivor the terms that a remembered merge gave it."""
    await run(connection, "delete_moved_terms", tenant=tenant.id, entity=entity, survivor=survivor)


async def restore_terms(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> None:
    """Give an entity back the terms that it had before a remembered merge."""
    await run(connection, "restore_terms", tenant=tenant.id, entity=entity)


async def fetch_merge(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> EntityMerge | None:
    """Return the merge of `entity` into another one; None if it was not merged or the merge was not remembered."""
    table = tables.entity_merge
    row = (
        await connection.execute(select(table).where(table.c.tenant == tenant.id, table.c.entity == entity))
    ).one_or_none()
    if row is None:
        return None
    records = tables.entity_merge_record
    return EntityMerge(
        entity=row.entity,
        survivor=row.survivor,
        merged_at=row.merged_at,
        survivor_before=row.survivor_before,
        survivor_after=row.survivor_after,
        records=[
            _record(found)
            for found in (
                await connection.execute(
                    select(records)
                    .where(records.c.tenant == tenant.id, records.c.entity == entity)
                    .order_by(records.c.id)
                )
            ).mappings()
        ],
        slots=await fetch_merge_slots(connection, tenant, entity),
    )


async def fetch_merge_relations(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> list[MergedRelation]:
    """Return the relations that the merge of `entity` ended or inserted and that still exist, ended or not."""
    rows = await fetch(connection, "fetch_merge_relations", tenant=tenant.id, entity=entity)
    return [
        MergedRelation(
            id=row["relation"],
            is_new=row["is_new"],
            source=row["source"],
            target=row["target"],
            predicate=row["name"],
            weight=row["weight"],
        )
        for row in rows
    ]


async def find_later_merge(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> UUID | None:
    """Return an entity whose merge must be undone before that of `entity`, the latest first; None if there is none.

    Such a merge was made later and has the same survivor, or changed a record or relation that this one changed too.
    """
    rows = await fetch(connection, "find_later_merges", tenant=tenant.id, entity=entity)
    return rows[0]["entity"] if rows else None


async def find_crossings(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> list[Crossing]:
    """Return the open disputes and supersessions, since the merge of `entity`, between its facts and their neighbours.

    Its facts are those of which it was the subject, the neighbours other facts of the same slots, which are not its.
    """
    return [
        Crossing(
            id=row["id"],
            own=row["own"],
            other=row["target"] if row["source"] == row["own"] else row["source"],
            predicate=row["name"],
            is_from_own=row["source"] == row["own"],
        )
        for row in await fetch(connection, "find_crossings", tenant=tenant.id, entity=entity)
    ]


async def find_displacements(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> list[Displacement]:
    """Return the disputes and supersessions since the merge of `entity`, in slots that it made single-valued."""
    return [
        Displacement(id=row["id"], source=row["source"], target=row["target"], predicate=row["name"])
        for row in await fetch(connection, "find_displacements", tenant=tenant.id, entity=entity)
    ]


async def find_ended_disputes(
    connection: AsyncConnection, tenant: Tenant, entity: UUID, ids: Collection[UUID]
) -> list[NewRelation]:
    """Return the disputes from before the merge of `entity` that ended when one of the facts `ids` was superseded.

    Only those whose parties are current now, and that no revision has decided.
    """
    rows = await fetch(connection, "find_ended_disputes", tenant=tenant.id, entity=entity, ids=list(ids)) if ids else ()
    return [
        NewRelation(source=row["source"], target=row["target"], predicate="contested_by", weight=row["weight"])
        for row in rows
    ]


async def fetch_merge_slots(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> list[Slot]:
    """Return the slots that the merge of `entity` made single-valued and in which nobody has asked for that since."""
    slots = tables.entity_merge_slot
    rows = await connection.execute(select(slots).where(slots.c.tenant == tenant.id, slots.c.entity == entity))
    return sorted(Slot(row.scope, row.sensitivity, bytes(row.slot_key)) for row in rows)


async def keep_single_valued(connection: AsyncConnection, tenant: Tenant, slots: Collection[Slot]) -> None:
    """Let locked slots stay single-valued, with what was decided there, when merges that made them so are undone."""
    if slots:
        await run(connection, "keep_single_valued", tenant=tenant.id, **slot_arrays(slots))


async def note_decided(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Note for the merges of entities that a revision has decided that another record stands for locked facts."""
    if ids:
        table = tables.entity_merge_record
        await connection.execute(
            update(table).where(table.c.tenant == tenant.id, table.c.id.in_(list(ids))).values(is_decided=True)
        )


async def find_supersessions(
    connection: AsyncConnection, tenant: Tenant, entity: UUID, ids: Collection[UUID]
) -> list[UUID]:
    """Return the open relations, since the merge of `entity`, by which other records supersede the facts `ids`."""
    rows = await fetch(connection, "find_supersessions", tenant=tenant.id, entity=entity, ids=list(ids)) if ids else ()
    return [row["id"] for row in rows]


async def delete_slot_trims(connection: AsyncConnection, tenant: Tenant, slots: Collection[Slot]) -> set[UUID]:
    """Delete the trims of the facts of locked slots; return the facts that were trimmed."""
    rows = await fetch(connection, "delete_slot_trims", tenant=tenant.id, **slot_arrays(slots)) if slots else ()
    return {row["fact"] for row in rows}


async def delete_crossing_trims(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Delete the trims between the facts `ids` and other facts; return the facts that were trimmed."""
    rows = await fetch(connection, "delete_crossing_trims", tenant=tenant.id, ids=list(ids)) if ids else ()
    return {row["fact"] for row in rows}


async def replace_merge_relation(connection: AsyncConnection, tenant: Tenant, *, old: UUID, new: UUID) -> None:
    """Let the merges that inserted the relation `old` refer to `new`, which was inserted in its place."""
    await run(connection, "replace_merge_relation", tenant=tenant.id, old=old, new=new)


async def delete_merge(connection: AsyncConnection, tenant: Tenant, entity: UUID) -> None:
    """Forget the merge of `entity`, which is undone."""
    table = tables.entity_merge
    await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.entity == entity))


def _record(row: Row) -> MergedRecord:
    return MergedRecord(**{name: row[name] for name in MergedRecord.__slots__})
