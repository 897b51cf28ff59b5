"""Locking the rows of records before they are updated, always in id order so that writers cannot deadlock."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedRecord:
    """The columns of a locked record that decide how it may be changed."""

    id: UUID
    type: MemoryType
    scope: int
    sensitivity: int
    state: RecordState
    version: int
    updated_at: datetime


async def lock_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[UUID, LockedRecord]:
    """Lock the records with the given ids, waiting for other transactions, and return those that exist, keyed by id."""
    if not ids:
        return {}
    rows = await fetch(connection, "lock_records", tenant=tenant.id, ids=list(ids))
    return {
        row["id"]: LockedRecord(
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
