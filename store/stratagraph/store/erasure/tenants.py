"""Erasing a tenant: its records in batches, then every other row that belongs to it."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Table, delete, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.erasure.removal import deletion
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables
from stratagraph.store.search.word_counts import lock_word_index

CHUNK = 20_000  # rows of one table deleted by one statement
_BEFORE_SCOPES = (
    tables.tombstone,
    tables.erased_source,
    tables.fact_slot,
    tables.learning_report,
    tables.learned_tool,
    tables.learned_example,
    tables.learned_model,
    tables.refused_procedure,
)
_AFTER_SCOPES = (
    tables.candidate,
    tables.received_span,
    tables.retrieval,
    tables.retrieval_use,
    tables.audit_note,
    tables.predicate,
    tables.fact_predicate,
    tables.free_predicate,
    tables.word_change,
    tables.word_count,
    tables.word_block,
    tables.word_segment,
    tables.sync_dead_letter,
    tables.job_set_aside,
    tables.credential,
)


async def lock_tenant(connection: AsyncConnection, tenant: Tenant) -> bool:
    """Lock the tenant row so that no new writer can start. Returns False if the tenant no longer exists."""
    table = tables.tenant
    return (
        await connection.execute(select(table.c.id).where(table.c.id == tenant.id).with_for_update())
    ).one_or_none() is not None


async def delete_tenant_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[Change]:
    """Delete records of a tenant that is being erased; return the changes that the caller must append to the feed.

    Writes no tombstones: no record remains from which these could be derived again. Missing ids are skipped.
    """
    rows = await fetch(connection, "delete_records", tenant=tenant.id, ids=list(ids))
    return [deletion(row) for row in rows]


async def delete_tenant_leftovers(connection: AsyncConnection, tenant: Tenant) -> dict[str, int]:
    """Delete all other rows of a locked tenant that has no records left, and the tenant itself.

    Returns the numbers of rows deleted, keyed by table. If a record was written since the last batch, a foreign key
    makes the transaction fail with KeyCollision; the caller then deletes that record and calls again.
    """
    counts = {str(table.name): await _delete_rows(connection, tenant, table) for table in _BEFORE_SCOPES}
    # This waits for transactions that write to one of the scopes. None can start afterwards, so the statements below
    # see no new rows.
    counts["scope"] = (
        await connection.execute(delete(tables.scope).where(tables.scope.c.tenant == tenant.id))
    ).rowcount
    await lock_word_index(connection)
    counts |= {str(table.name): await _delete_rows(connection, tenant, table) for table in _AFTER_SCOPES}
    keys = tables.data_key  # created after the shredding, for records written during the erasure
    await connection.execute(delete(keys).where(keys.c.tenant == tenant.id))
    await connection.execute(delete(tables.tenant).where(tables.tenant.c.id == tenant.id))
    counts["audit"] = 0
    while True:
        deleted = (
            await connection.execute(text("SELECT forget_audit(:tenant, :most)"), {"tenant": tenant.id, "most": CHUNK})
        ).scalar_one()
        counts["audit"] += deleted
        if deleted < CHUNK:
            return counts


async def _delete_rows(connection: AsyncConnection, tenant: Tenant, table: Table) -> int:
    """Delete all rows of a tenant in one table, at most CHUNK per statement; return their number."""
    deleted = 0
    name = table.name
    while True:
        done = await connection.execute(
            text(
                f"DELETE FROM {name} WHERE ctid = ANY(ARRAY("  # noqa: S608 - a name from our own metadata
                f"SELECT ctid FROM {name} WHERE tenant = :tenant LIMIT :chunk)) AND tenant = :tenant"
            ),
            {"tenant": tenant.id, "chunk": CHUNK},
        )
        deleted += done.rowcount
        if done.rowcount < CHUNK:
            return deleted
