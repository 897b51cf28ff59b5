"""Crypto-shredding: deleting a tenant's keys, so that its sealed content in backups and logs cannot be opened."""

from __future__ import annotations

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.postgres.schema import tables


async def shred(connection: AsyncConnection, directory: Directory, tenant: Tenant) -> int:
    """Delete the tenant's data keys and replace its index key; return the number of data keys deleted.

    Run it in the transaction of the erasure, preferably as its first statement, because it waits for writers that have
    locked a key. It removes the keys from this process's cache. Call `directory.forget` again after the commit, because
    readers may have cached the old keys until then.
    """
    table = tables.data_key
    dropped = await connection.execute(delete(table).where(table.c.tenant == tenant.id).returning(table.c.id))
    index_key, wrapped_by = await directory.new_index_key()
    await connection.execute(
        update(tables.tenant).where(tables.tenant.c.id == tenant.id).values(index_key=index_key, wrapped_by=wrapped_by)
    )
    directory.forget(tenant)
    return len(dropped.all())
