"""Records go: the one way out for what is deleted and erased (what fades is pruned by `forgetting`).

With the row go its history, relations, words, salience, terms and places in episodes. A tombstone, the audit log and
a deletion in the change feed stay; the mirror cuts a deleted node's edges by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.artifacts import GRACE, release
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.consumer import Change, Kind
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.tombstones import Cause, bury, fetch_remains


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What went: the records, what the feed must say, and the hashes of artifacts that nobody needs any more."""

    ids: tuple[UUID, ...]
    changes: tuple[Change, ...]
    orphans: tuple[bytes, ...]


async def remove_records(
    connection: AsyncConnection,
    tenant: Tenant,
    ids: Collection[UUID],
    cause: Cause,
    *,
    actor: str,
    rationale: str,
    at: datetime,
) -> Removed:
    """Take locked records out of the store, in a transaction that may delete. Its caller tells the feed."""
    going = sorted(ids)
    if not going:
        return Removed(ids=(), changes=(), orphans=())
    await bury(connection, tenant, await fetch_remains(connection, tenant, going), cause=cause, at=at)
    events = [AuditEvent(record=id_, action=AuditAction.DELETE, rationale=rationale, salience=0.0) for id_ in going]
    await write_audit(connection, tenant, events, actor=actor, at=at)
    # Bytes that somebody sent just now, and has not named yet, outlive a deletion; erasing takes them too.
    since = None if cause is Cause.ERASED else at - GRACE
    orphans = await release(connection, tenant, going, since=since)
    rows = await fetch(connection, "remove_records", tenant=tenant.id, ids=going)
    return Removed(
        ids=tuple(row["id"] for row in rows),
        changes=tuple(Change(kind=Kind.RECORD, id=row["id"], version=row["row_version"] + 1, op="D") for row in rows),
        orphans=tuple(orphans),
    )
