"""The entries of the change log, and how a writer's transaction appends them.

The log is insert-only. An entry names a row (kind, id) and the version that was written; a consumer reads the row
itself as it is at the time of reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.schema import tables


class Kind(IntEnum):
    """The kind of row that changed."""

    RECORD = 1
    RELATION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one row, to be appended to the change log.

    `version` is the row_version that was written; for a deleted row, one more than its last. `op` is U (insert or
    update), D (delete) or R (repair: let the mirror write the row again).
    """

    kind: Kind
    id: UUID
    version: int
    op: str = "U"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedChange:
    """A change as read from the log; `seq` is its number in the log, 0 for a change that was not read from it."""

    seq: int
    tenant: int
    kind: Kind
    id: UUID
    version: int
    op: str


async def append_changes(connection: AsyncConnection, tenant: Tenant, changes: Sequence[Change]) -> None:
    """Append `changes` of a tenant's rows to the change log.

    Call it last in the transaction that wrote the rows, so that their locks are held until the commit.
    """
    await log_changes(connection, tenant.id, changes)


async def log_changes(connection: AsyncConnection, tenant: int, changes: Sequence[Change]) -> None:
    """Append `changes` for a tenant given by its number, which may be a deleted one whose rows a mirror still has."""
    await insert_rows(
        connection,
        tables.sync_log,
        [
            {
                "shard": change.id.bytes[15] % SHARDS,
                "tenant": tenant,
                "kind": int(change.kind),
                "id": change.id,
                "version": change.version,
                "op": change.op,
            }
            for change in changes
        ],
    )
