"""The one working record of a thread, found and locked before it is updated in place."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.postgres import tables
from stratagraph.store.records.episodes import Thread


async def lock_working(
    connection: AsyncConnection, tenant: Tenant, threads: Collection[Thread]
) -> dict[Thread, tuple[UUID, datetime]]:
    """The current working record of each thread, with when it was last written. `key` is the handle key here."""
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
