"""Rows kept for records outside the record tables: audit notes, captures, logged answers and dead letters."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import run


async def delete_leftovers(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], failed_captures: Collection[UUID] = ()
) -> dict[str, int]:
    """Delete the audit notes, captures and dead letters of the records `ids`, and the given failed captures.

    Also removes `ids` from the logged retrievals, whose entries stay. Returns the numbers of rows deleted or changed,
    keyed by kind. The audit chain covers the hashes of notes, so it still verifies; idempotency keys are deleted with
    their captures by the foreign key.
    """
    where = {"tenant": tenant.id, "ids": list(ids)}
    return {
        "audit_notes": await run(connection, "delete_audit_notes", **where),
        "candidates": await run(connection, "delete_captures", **where, failed=list(failed_captures)),
        "retrievals": await run(connection, "remove_from_logged_answers", **where),
        "parked_changes": await run(connection, "delete_dead_letters_of", **where),
    }
