"""Removing records from the store, whether they are pruned, deleted or erased.

The foreign keys delete a record's history, relations, words, salience, entity terms and episode memberships with it. A
tombstone, the audit log and a deletion in the change feed stay; the mirror deletes the edges of a deleted node itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.objects import GRACE
from stratagraph.store.artifacts.references import release_artifacts
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change, Kind, Seen
from stratagraph.store.jobs.set_aside import forget_set_aside
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.postgres.queries import Row, fetch
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.tombstones import Cause, NewTombstone, insert_tombstones, prepare_tombstones
from stratagraph.store.records.trims import forget_trims, restore, take_trims


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The result of removing records: their ids, and the changes that the caller must append to the feed.

    `restored` are the facts whose validity they had trimmed, which is restored. `orphans` are the hashes of artifacts
    that were deleted because no record refers to them any more.
    """

    ids: tuple[UUID, ...]
    restored: tuple[UUID, ...]
    changes: tuple[Change, ...]
    orphans: tuple[bytes, ...]


async def remove_records(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    ids: Collection[UUID],
    cause: Cause,
    *,
    actor: str,
    rationale: str,
    at: datetime,
    tombstones: Sequence[NewTombstone] | None = None,
) -> Removed:
    """Delete locked records, and write a tombstone and an audit entry for each.

    `tombstones` are given if relations of the records have been deleted already. The validity of facts that the records
    trimmed is restored.

    Needs a transaction of a role that may delete. The caller must append the returned changes to the feed in the same
    transaction.
    """
    ordered = sorted(ids)
    if not ordered:
        return Removed(ids=(), restored=(), changes=(), orphans=())
    if tombstones is None:
        tombstones = await prepare_tombstones(connection, tenant, ordered)
    await insert_tombstones(connection, tenant, tombstones, cause=cause, at=at)
    events = [AuditEvent(record=id_, action=AuditAction.DELETE, rationale=rationale, salience=0.0) for id_ in ordered]
    await write_audit(connection, tenant, events, actor=actor, at=at)
    # A deletion keeps artifacts uploaded within GRACE, since a capture that names them may follow; an erasure does not.
    since = None if cause is Cause.ERASED else at - GRACE
    orphans = await release_artifacts(connection, tenant, ordered, since=since)
    await forget_set_aside(connection, tenant.id, ordered)
    trims = await take_trims(connection, tenant, ordered)  # before the foreign keys delete them
    rows = await fetch(connection, "delete_records", tenant=tenant.id, ids=ordered)
    restored = await restore(connection, directory, tenant, {trim.fact for trim in trims} - set(ordered), at=at)
    if cause is Cause.ERASED:
        await forget_trims(connection, tenant, trims)
    deleted = [deletion(row) for row in rows]
    return Removed(
        ids=tuple(row["id"] for row in rows),
        restored=tuple(restored.ids),
        changes=(*deleted, *restored.changes),
        orphans=tuple(orphans),
    )


def deletion(row: Row) -> Change:
    """Return the change to log of a record that was deleted, from its row."""
    seen = Seen(scope=row["scope"], sensitivity=row["sensitivity"])
    return Change(kind=Kind.RECORD, id=row["id"], version=row["row_version"] + 1, op="D", seen=seen)


async def mark_erased(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> int:
    """Mark the tombstones of `ids` as erased; return how many there are that were not marked already."""
    table = tables.tombstone
    done = await connection.execute(
        update(table)
        .where(table.c.tenant == tenant.id, table.c.id.in_(list(ids)), table.c.cause != int(Cause.ERASED))
        .values(cause=int(Cause.ERASED), entities=[], learned=[])
    )
    return done.rowcount


async def removed_records(connection: AsyncConnection, tenant: Tenant, entities: Collection[UUID]) -> set[UUID]:
    """Return the ids of pruned and deleted records that were linked to one of `entities`. Reads all tombstones."""
    rows = await fetch(connection, "fetch_removed_records", tenant=tenant.id, entities=list(entities))
    return {row["id"] for row in rows}
