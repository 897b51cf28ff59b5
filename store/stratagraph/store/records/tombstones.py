"""Tombstones of pruned, deleted and erased records: they identify a record without holding any of its content.

A background job checks them before it derives a record: a tombstone blocks derivation from sources that are older than
the tombstone (docs/specification.md, Forgetting and erasing). The derived record is identified by a keyed hash, so a
tombstone does not reveal it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables


class Cause(IntEnum):
    """Why a record no longer exists."""

    PRUNED = 1  # its salience had decayed
    DELETED = 2  # a caller deleted it
    ERASED = 3  # it was erased under the right to be forgotten

    @property
    def label(self) -> str:
        """The cause as a word."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTombstone:
    """The fields of a tombstone, read from a record that is about to be removed.

    `key` identifies what the record says, in the form that `derivation_key` takes; None if its type has no such key.
    `entities` are those that it is linked to, unless it is one itself. `learned` are its episodes, and what was learned
    from it.
    """

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: int
    key: bytes | None
    entities: tuple[UUID, ...]
    learned: tuple[UUID, ...]


def derivation_key(tenant: Tenant, memory_type: MemoryType, scope: int, key: bytes) -> bytes:
    """Return the hash by which a tombstone and a job identify the same derived record within one scope.

    `key` is the fact_key of a fact, the handle_key of a competence or a plan, the name_key of an entity.
    """
    return keyed_hash(tenant.index_key, "tombstone", f"{memory_type.label}\x00{scope}\x00".encode() + key)


async def prepare_tombstones(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> list[NewTombstone]:
    """Return the fields of the tombstones of `ids`, read before these records are deleted; missing ids are skipped."""
    rows = await fetch(connection, "fetch_tombstone_fields", tenants=[tenant.id] * len(ids), ids=list(ids))
    return [
        NewTombstone(
            id=row["id"],
            type=MemoryType(row["type"]),
            scope=row["scope"],
            sensitivity=row["sensitivity"],
            key=bytes(row["key"]) if row["key"] is not None else None,
            entities=tuple(row["entities"]),
            learned=tuple(row["learned"]),
        )
        for row in rows
    ]


async def insert_tombstones(
    connection: AsyncConnection, tenant: Tenant, tombstones: Sequence[NewTombstone], *, cause: Cause, at: datetime
) -> None:
    """Insert tombstones, in the transaction that removes the records. A tombstone replaces an earlier one of its id."""
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
                # An erasure leaves nothing by which to find the record again, and nothing to find.
                "entities": list(one.entities) if cause is not Cause.ERASED else [],
                "learned": list(one.learned) if cause is not Cause.ERASED else [],
            }
            for one in tombstones
        ],
        suffix="ON CONFLICT (tenant, id) DO UPDATE SET scope = excluded.scope, sensitivity = excluded.sensitivity,"
        " cause = excluded.cause, key_hash = excluded.key_hash, at = excluded.at, entities = excluded.entities,"
        " learned = excluded.learned",
    )


async def blocked_derivations(
    connection: AsyncConnection, tenant: Tenant, newest_source: Mapping[bytes, datetime]
) -> set[bytes]:
    """Return the derivation keys that are blocked by a tombstone.

    `newest_source` maps each key to the `created_at` of its newest source. A source recorded after the tombstone
    permits the derivation; one recorded before it does not.
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
    """A pruned, deleted or erased record, as far as its tombstone identifies it."""

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: Sensitivity
    cause: Cause
    at: datetime


async def find_tombstones(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, Tombstone]:
    """Return the tombstones of `ids`, keyed by id; records without one are left out."""
    rows = await fetch(connection, "find_tombstones", tenant=tenant.id, ids=list(ids))
    return {
        row["id"]: Tombstone(
            id=row["id"],
            type=MemoryType(row["type"]),
            scope=row["scope"],
            sensitivity=Sensitivity(row["sensitivity"]),
            cause=Cause(row["cause"]),
            at=row["at"],
        )
        for row in rows
    }
