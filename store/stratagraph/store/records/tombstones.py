"""What is left of what was forgotten: enough to know it again, nothing of what it said.

A background job asks before it derives something: a tombstone blocks derivation from sources older than it (design
decision 19). What would be derived is named by a keyed hash, so a tombstone does not spell it out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch


class Cause(IntEnum):
    PRUNED = 1  # its salience had decayed
    DELETED = 2  # somebody deleted it
    ERASED = 3  # the right to be forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """A record about to go. `key` is what identifies it beyond its id, as `derivation_key` takes it, if anything."""

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: int
    key: bytes | None


def derivation_key(tenant: Tenant, memory_type: MemoryType, scope: int, key: bytes) -> bytes:
    """By what a tombstone and a job agree that they mean the same thing, within one scope.

    `key` is the fact_key of a fact, the handle_key of a competence or a plan, the name_key of an entity.
    """
    return keyed_hash(tenant.index_key, "tombstone", f"{memory_type.label}\x00{scope}\x00".encode() + key)


async def fetch_remains(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> list[Remains]:
    """What `bury` needs to know of records that are still there."""
    rows = await fetch(connection, "fetch_remains", tenants=[tenant.id] * len(ids), ids=list(ids))
    return [
        Remains(
            id=row["id"],
            type=MemoryType(row["type"]),
            scope=row["scope"],
            sensitivity=row["sensitivity"],
            key=bytes(row["key"]) if row["key"] is not None else None,
        )
        for row in rows
    ]


async def bury(
    connection: AsyncConnection, tenant: Tenant, remains: Sequence[Remains], *, cause: Cause, at: datetime
) -> None:
    """Leave a tombstone for each, in the transaction that removes the records. The latest counts."""
    await insert_rows(
        connection,
        tables.tombstone,
        [
            {
                "tenant": tenant.id,
                "id": one.id,
                "type": int(one.type),
                "scope": one.scope,
                "sensitivity": one.sensitivity,
                "cause": int(cause),
                "key_hash": derivation_key(tenant, one.type, one.scope, one.key) if one.key is not None else None,
                "at": at,
            }
            for one in remains
        ],
        suffix="ON CONFLICT (tenant, id) DO UPDATE SET scope = excluded.scope, sensitivity = excluded.sensitivity,"
        " cause = excluded.cause, key_hash = excluded.key_hash, at = excluded.at",
    )


async def blocked(connection: AsyncConnection, tenant: Tenant, newest_source: Mapping[bytes, datetime]) -> set[bytes]:
    """Which derivation keys must not be derived again.

    `newest_source` gives for each the instant at which the newest of its sources was recorded (`created_at`): news
    from after the tombstone may bring the thing back, what was known before may not.
    """
    if not newest_source:
        return set()
    table = tables.tombstone
    rows = await connection.execute(
        select(table.c.key_hash, func.max(table.c.at).label("at"))
        .where(table.c.tenant == tenant.id, table.c.key_hash.in_(list(newest_source)))
        .group_by(table.c.key_hash)
    )
    return {bytes(row.key_hash) for row in rows if newest_source[bytes(row.key_hash)] < row.at}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is known of a record that went."""

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: Sensitivity
    at: datetime


async def find_tombstones(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, Tombstone]:
    """Those of `ids` that went."""
    rows = await fetch(connection, "find_tombstones", tenant=tenant.id, ids=list(ids))
    return {
        row["id"]: Tombstone(
            id=row["id"],
            type=MemoryType(row["type"]),
            scope=row["scope"],
            sensitivity=Sensitivity(row["sensitivity"]),
            at=row["at"],
        )
        for row in rows
    }
