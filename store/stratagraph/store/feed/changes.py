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
    RUN = 3  # a run of learning in one group: version 1 when it has begun, 2 finished, 3 undone


ROWS = (Kind.RECORD, Kind.RELATION)  # of which the mirror shows what changed; a run of learning is no row


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Who could see a record before a change that deleted it or raised its sensitivity, and of a run who can see it.

    `raised_to` is the sensitivity that the change gave a record; None if it was deleted, and of a run.
    """

    scope: int
    sensitivity: int
    raised_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one row, to be appended to the change log.

    `version` is the row_version that was written; for a deleted row, one more than its last. `op` is U (insert or
    update), D (delete) or R (repair: let the mirror write the row again). `seen` is given of a deleted or raised
    record, `ends`, which are source and target, of an open relation that is deleted.
    """

    kind: Kind
    id: UUID
    version: int
    op: str = "U"
    seen: Seen | None = None
    ends: tuple[UUID, UUID] | None = None


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
    tells = any(change.seen is not None or change.ends is not None for change in changes)
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
                **(_told(change) if tells else {}),
            }
            for change in changes
        ],
    )


def _told(change: Change) -> dict[str, int | UUID | None]:
    """Return the columns that most changes leave empty."""
    seen, ends = change.seen, change.ends
    return {
        "scope": None if seen is None else seen.scope,
        "sensitivity": None if seen is None else seen.sensitivity,
        "raised_to": None if seen is None else seen.raised_to,
        "source": None if ends is None else ends[0],
        "target": None if ends is None else ends[1],
    }
