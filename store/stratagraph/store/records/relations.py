"""Relations that end, move, or tell of a dispute. They never change: an end closes one, another takes its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.consumer import Change, Kind
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """`contested` is in doubt because of `by`."""

    relation: UUID
    contested: UUID
    by: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A live relation of a record, by the names of its parts."""

    id: UUID
    source: UUID
    target: UUID
    predicate: str
    weight: float


async def end_relations(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, at: datetime
) -> list[Change]:
    """Close those of the relations `ids` that are open."""
    if not ids:
        return []
    rows = await fetch(connection, "end_relations", tenant=tenant.id, ids=sorted(ids), at=at)
    return [Change(kind=Kind.RELATION, id=row["id"], version=row["row_version"]) for row in rows]


async def disputes_of(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[Dispute]:
    """The open disputes in which one of `ids` stands on either side."""
    rows = await fetch(connection, "disputes_of", tenant=tenant.id, ids=list(ids))
    return [Dispute(relation=row["id"], contested=row["source"], by=row["target"]) for row in rows]


async def relations_at(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> Sequence[Linked]:
    """All open relations at one of `ids`, in either direction."""
    rows = await fetch(connection, "relations_at", tenant=tenant.id, ids=list(ids))
    return [
        Linked(
            id=row["id"],
            source=row["source"],
            target=row["target"],
            predicate=row["name"],
            weight=row["weight"],
        )
        for row in rows
    ]
