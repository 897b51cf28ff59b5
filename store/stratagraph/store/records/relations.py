"""Open relations and disputes. A relation never changes: it is ended, and another one is inserted in its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """An open dispute: the record `contested` is contested by the record `by`."""

    relation: UUID
    contested: UUID
    by: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRelation:
    """A relation that has not ended, with the name of its predicate."""

    id: UUID
    source: UUID
    target: UUID
    predicate: str
    weight: float


async def end_relations(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, at: datetime
) -> list[Change]:
    """Mark the relations `ids` as ended at `at`; return the changes to append to the feed.

    Relations that have ended already or do not exist are skipped.
    """
    if not ids:
        return []
    rows = await fetch(connection, "end_relations", tenant=tenant.id, ids=sorted(ids), at=at)
    return [Change(kind=Kind.RELATION, id=row["id"], version=row["row_version"]) for row in rows]


async def disputes_of(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[Dispute]:
    """Return the open disputes in which one of `ids` is either party."""
    rows = await fetch(connection, "disputes_of", tenant=tenant.id, ids=list(ids))
    return [Dispute(relation=row["id"], contested=row["source"], by=row["target"]) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """A party of a dispute: its type, and whether the caller may read it in full."""

    type: MemoryType
    is_readable: bool


async def dispute_parties(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, Party]:
    """Return the records of the disputes of `ids`, those included, by id.

    Two records are parties of one dispute if open disputes connect them, directly or through further current records.
    An episode is a party, but connects no others. The number of parties is bounded where disputes grow, by those that
    the caller may read: a limit on all of them would tell how many are hidden.
    """
    if not ids:
        return {}
    rows = await fetch(connection, "dispute_parties", **caller.parameters(), ids=list(ids))
    return {row["id"]: Party(type=MemoryType(row["type"]), is_readable=row["is_readable"]) for row in rows}


async def open_relations_of(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> Sequence[OpenRelation]:
    """Return all open relations from or to one of `ids`, in id order."""
    rows = await fetch(connection, "open_relations_of", tenant=tenant.id, ids=list(ids))
    return [
        OpenRelation(
            id=row["id"],
            source=row["source"],
            target=row["target"],
            predicate=row["name"],
            weight=row["weight"],
        )
        for row in rows
    ]
