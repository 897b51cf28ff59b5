"""The working record of a thread, of which there is at most one. It is locked and updated in place."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres import tables
from stratagraph.store.records.episodes import Thread


async def lock_working(
    connection: AsyncConnection, tenant: Tenant, threads: Collection[Thread]
) -> dict[Thread, tuple[UUID, datetime]]:
    """Lock the current working record of each thread; return its id and the time of its last update.

    The `key` of each thread is the handle key here. Threads without a working record are missing from the result.
    """
    if not threads:
        return {}
    table = tables.record
    rows = await connection.execute(
        select(table.c.id, table.c.scope, table.c.sensitivity, table.c.handle_key, table.c.updated_at)
        .where(
            table.c.tenant == tenant.id,
            table.c.handle_key.in_([thread.key for thread in threads]),
            table.c.type == int(MemoryType.WORKING),
            table.c.state == int(RecordState.ACTIVE),
        )
        .order_by(table.c.handle_key, table.c.id)
        .with_for_update()
    )
    found = {Thread(row.scope, row.sensitivity, bytes(row.handle_key)): (row.id, row.updated_at) for row in rows}
    return {thread: found[thread] for thread in threads if thread in found}
