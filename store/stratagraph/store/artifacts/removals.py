"""Removals: delete artifacts that nothing needs, and list the objects that must be removed from the object store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.objects import GRACE, StoredObject
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.queries import Row, fetch, run


async def collect_garbage(connection: AsyncConnection, *, at: datetime, limit: int) -> int:
    """Check at most `limit` artifacts whose check is due, delete those not needed; return the number checked.

    An artifact is needed while a record refers to it and for the grace period after an upload; it is then checked
    again after the grace period. The objects of deleted artifacts are queued for removal.
    """
    rows = await fetch(connection, "lock_artifacts_due", at=at, limit=limit)
    if not rows:
        return 0
    due = {"tenants": [row["tenant"] for row in rows], "hashes": [bytes(row["sha256"]) for row in rows]}
    # The rows are locked, so transactions that were linking one of them have ended and this statement sees their links.
    await fetch(connection, "delete_artifacts", **due, since=at - GRACE)
    await run(connection, "postpone_artifact_checks", **due, since=at - GRACE, again=at + GRACE)
    return len(rows)


async def fetch_removals(connection: AsyncConnection, *, at: datetime, limit: int) -> list[StoredObject]:
    """Lock and return at most `limit` objects that are due for removal, the longest due first, skipping locked ones.

    Until the transaction ends, no other one can remove or attach them.
    """
    return _objects(await fetch(connection, "fetch_removals", at=at, limit=limit))


async def fetch_removals_of(
    connection: AsyncConnection, tenant: Tenant, hashes: Collection[bytes]
) -> list[StoredObject]:
    """Lock and return the objects of the deleted artifacts `hashes` that are queued for removal.

    Those of uploads in progress are left out. Waits for a transaction that is removing one of them.
    """
    return _objects(await fetch(connection, "fetch_removals_of", tenant=tenant.id, hashes=list(hashes)))


async def delete_removals(connection: AsyncConnection, removed: Sequence[StoredObject]) -> None:
    """Delete the queue entries of objects that have been removed from the object store."""
    await run(
        connection,
        "delete_removals",
        tenants=[stored.tenant for stored in removed],
        objects=[stored.id for stored in removed],
    )


async def postpone_removals(connection: AsyncConnection, failed: Sequence[StoredObject], *, until: datetime) -> None:
    """Make the removal of objects that could not be removed due at `until`, so that they do not delay the others."""
    await run(
        connection,
        "postpone_removals",
        tenants=[stored.tenant for stored in failed],
        objects=[stored.id for stored in failed],
        until=until,
    )


def _objects(rows: Sequence[Row]) -> list[StoredObject]:
    return [StoredObject(tenant=row["tenant"], sha256=bytes(row["sha256"]), id=row["object"]) for row in rows]
