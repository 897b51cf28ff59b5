"""Remembering the sources of erased records, so that they are not captured again (`records.erased_sources`)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import run


async def remember_sources(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, at: datetime) -> None:
    """Store the hashes of the idempotency keys of the records `ids`, and of the refs and threads of imported ones.

    Must be called before the records, their captures and their episodes are deleted. Of records that were deleted
    before, only the idempotency keys are left.
    """
    await run(connection, "remember_sources", tenant=tenant.id, ids=list(ids), at=at)


async def remember_deleted_sources(connection: AsyncConnection, tenant: Tenant, scope: int, *, at: datetime) -> None:
    """Store the hashes of the idempotency keys of the scope's records that were deleted or pruned earlier."""
    await run(connection, "remember_deleted_sources", tenant=tenant.id, scope=scope, at=at)
