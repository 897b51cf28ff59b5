"""Crypto-shredding: without its keys, what a tenant left in backups and logs is noise."""

from __future__ import annotations

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Directory, Tenant
from stratagraph.store.postgres import tables


async def shred(connection: AsyncConnection, directory: Directory, tenant: Tenant) -> int:
    """Delete the tenant's data keys and put a new index key in the place of the old; returns how many data keys.

    Part of the eraser's transaction, and best its first statement: it waits for writers that hold a key. It evicts the
    keys from this process; call `directory.forget` again after the commit, for readers that met the old ones meanwhile.
    """
    table = tables.data_key
    dropped = await connection.execute(delete(table).where(table.c.tenant == tenant.id).returning(table.c.id))
    index_key, wrapped_by = await directory.new_index_key()
    await connection.execute(
        update(tables.tenant).where(tables.tenant.c.id == tenant.id).values(index_key=index_key, wrapped_by=wrapped_by)
    )
    directory.forget(tenant)
    return len(dropped.all())
