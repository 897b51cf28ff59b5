"""Rows about to be changed, locked in the one order that every writer takes: by id."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A record's row as it is, and stays until this transaction ends."""

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: int
    state: RecordState
    version: int
    updated_at: datetime


async def lock_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, Locked]:
    """Lock those of `ids` that exist. Waits for whoever holds one of them."""
    if not ids:
        return {}
    rows = await fetch(connection, "lock_records", tenant=tenant.id, ids=list(ids))
    return {
        row["id"]: Locked(
            id=row["id"],
            type=MemoryType(row["type"]),
            scope=row["scope"],
            sensitivity=row["sensitivity"],
            state=RecordState(row["state"]),
            version=row["version"],
            updated_at=row["updated_at"],
        )
        for row in rows
    }
