"""The log of retrievals: what was returned under which id, so that an outcome can be credited to it later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows

KEPT = timedelta(days=7)


async def log_retrieval(
    connection: AsyncConnection,
    caller: Caller,
    id_: UUID,
    *,
    roots: Sequence[UUID],
    nodes: Sequence[UUID],
    at: datetime,
) -> None:
    """Ids only: the question itself is not kept."""
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


async def forget_retrievals(connection: AsyncConnection, *, before: datetime, limit: int) -> int:
    """Drop the oldest entries of the log, at most `limit`; returns how many went."""
    done = await connection.execute(
        text(
            "DELETE FROM retrieval r"
            " USING (SELECT tenant, id FROM retrieval WHERE at < :before ORDER BY at LIMIT :limit) old"
            " WHERE r.tenant = old.tenant AND r.id = old.id"
        ),
        {"before": before, "limit": limit},
    )
    return done.rowcount
