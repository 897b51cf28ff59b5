"""Erasing a scope in batches: its next records, and the rows that remain after the last batch."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables


async def find_scope(connection: AsyncConnection, tenant: Tenant, name: str) -> int | None:
    """Return the number of the scope called `name`, or None if there is none."""
    table = tables.scope
    found: int | None = (
        await connection.execute(select(table.c.id).where(table.c.tenant == tenant.id, table.c.name == name))
    ).scalar_one_or_none()
    return found


async def scope_of(connection: AsyncConnection, tenant: Tenant, record: UUID) -> int | None:
    """Return the number of the record's scope, or None if there is no such record."""
    table = tables.record
    found: int | None = (
        await connection.execute(select(table.c.scope).where(table.c.tenant == tenant.id, table.c.id == record))
    ).scalar_one_or_none()
    return found


async def next_records(connection: AsyncConnection, tenant: Tenant, scope: int | None, *, limit: int) -> list[UUID]:
    """Return the ids of the first `limit` records of a scope in id order; with `scope` None, of the whole tenant."""
    rows = await fetch(connection, "fetch_next_records", tenant=tenant.id, scope=scope, limit=limit)
    return [row["id"] for row in rows]


async def delete_scope_leftovers(connection: AsyncConnection, tenant: Tenant, scope: int) -> dict[str, int]:
    """Delete the rows that remain of a scope without records: slots, what learning noted, and traces of records.

    The traces are the audit notes and captures of records of the scope that have tombstones. Returns the numbers of
    rows deleted, keyed by kind.
    """
    where = {"tenant": tenant.id, "scope": scope}
    counts = {
        "audit_notes": await run(connection, "delete_scope_notes", **where),
        "candidates": await run(connection, "delete_scope_captures", **where),
    }
    await run(connection, "mark_scope_erased", **where)
    waiting = tables.received_span
    await connection.execute(delete(waiting).where(waiting.c.tenant == tenant.id, waiting.c.scope == scope))
    learned = (tables.learned_tool, tables.learned_example, tables.learned_model, tables.refused_procedure)
    for table in (tables.fact_slot, tables.learning_report, *learned):
        done = await connection.execute(delete(table).where(table.c.tenant == tenant.id, table.c.scope == scope))
        counts[str(table.name)] = done.rowcount
    return counts
