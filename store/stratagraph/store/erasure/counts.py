"""Counts of what an erasure deletes: the records by type, and the rows that the foreign keys delete with them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import Row, fetch


async def count_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[str, int]:
    """Return the number of records of each type among `ids`, keyed by `records.<type>`, without types that have 0."""
    return _by_type(await fetch(connection, "count_records_by_type", tenant=tenant.id, ids=list(ids)))


async def count_scope(connection: AsyncConnection, tenant: Tenant, scope: int) -> dict[str, int]:
    """Return the number of records of each type in a scope, keyed by `records.<type>`, without types that have 0."""
    return _by_type(await fetch(connection, "count_all_records", tenant=tenant.id, scope=scope))


async def count_tenant(connection: AsyncConnection, tenant: Tenant) -> dict[str, int]:
    """Return the number of records of each type of a tenant, keyed by `records.<type>`, without types that have 0."""
    return _by_type(await fetch(connection, "count_all_records", tenant=tenant.id, scope=None))


def _by_type(rows: Sequence[Row]) -> dict[str, int]:
    return {f"records.{MemoryType(row['type']).label}": row["records"] for row in rows}


async def count_cascades(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> dict[str, int]:
    """Return the numbers of rows that the foreign keys will delete with the records `ids`.

    The keys are `relations`, `history`, `names` (terms of entities), `events` (of episodes) and `reevaluations`.
    """
    row = (await fetch(connection, "count_cascades", tenant=tenant.id, ids=list(ids)))[0]
    return dict(row)
