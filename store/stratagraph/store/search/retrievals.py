"""The log of retrievals: the records returned by each retrieval, so that a later outcome can be credited to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import run

RETENTION = timedelta(days=7)  # age at which an entry of the log is deleted


async def log_retrieval(
    connection: AsyncConnection,
    caller: Caller,
    id_: UUID,
    *,
    roots: Sequence[UUID],
    nodes: Sequence[UUID],
    at: datetime,
) -> None:
    """Insert a retrieval into the log. Only ids are stored, not the query."""
    await insert_rows(
        connection,
        tables.retrieval,
        [
            {
                "tenant": caller.tenant.id,
                "id": id_,
                "actor": caller.trust.actor,
                "at": at,
                "roots": roots,
                "nodes": nodes,
            }
        ],
    )


async def delete_old_retrievals(connection: AsyncConnection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` entries older than `before`, the oldest first; return the number deleted."""
    return await run(connection, "delete_old_retrievals", before=before, limit=limit)
