"""The change log as it is read for callers: window by window from a position, without a cursor in the database.

A consumer (`consumer`) has stored cursors, which it shares with other workers. A caller who follows changes keeps its
position itself, and may come back with it for as long as the snapshots are kept that it names: a day at least.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Kind, Seen
from stratagraph.store.feed.consumer import SNAPSHOT_RETRY_S
from stratagraph.store.feed.snapshots import SHARDS, Barrier, SnapshotWriter
from stratagraph.store.model.errors import PositionExpired
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

PAGE = 500  # changes read at once
FIRST_SPAN, WIDEST_SPAN = 20, 1_000  # snapshots that one window spans
_KINDS = {int(kind): kind for kind in Kind}
_ALL_SHARDS = list(range(SHARDS))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the log: all changes that `snapshot` sees are before it, and of the next window those up to `seq`.

    `window` is the snapshot that ends that window, None where no change of it has been read. `nonce` is that of
    `snapshot`, by its first eight bytes: a snapshot of that number in another incarnation of the database has another.
    """

    snapshot: int
    nonce: bytes
    window: int | None = None
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """What one transaction did to one row.

    `first` and `last` are the first and the last version that it wrote; for a deleted row, `last` is one more than the
    row's last. `seen` and `ends` are those of `Change`. `began_at` is when the transaction began.
    """

    seq: int
    tenant: int
    kind: Kind
    id: UUID
    first: int
    last: int
    is_deleted: bool
    began_at: datetime
    seen: Seen | None
    ends: tuple[UUID, UUID] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """Changes in their order, and the place after them. `span` is the number of snapshots that the window spans.

    `seconds` is how long it took to read them: a window of few changes of one tenant may have many of others.
    """

    changes: Sequence[RowChange]
    end: Place
    span: int
    seconds: float

    @property
    def is_last(self) -> bool:
        """Whether the window ends with this page."""
        return self.end.window is None


class ChangeLog:
    """Reads the change log from any place of the last day. Every method raises StoreUnavailable."""

    def __init__(self, database: Database, *, barrier: Barrier | None = None) -> None:
        self._database = database
        self._writer = SnapshotWriter(database, barrier=barrier)

    async def present(self) -> Place:
        """Return a place after every change that was committed before the call."""
        while not await self._writer.take_snapshot():  # noqa: ASYNC110 - another process holds the lock
            await asyncio.sleep(SNAPSHOT_RETRY_S)
        return await self._newest()

    async def look(self) -> None:
        """Have a snapshot stored if there is anything new, so that `read` finds what was committed by now.

        Where another process is storing one, the newest changes may be left to the next look.
        """
        await self._writer.take_snapshot()

    async def _newest(self) -> Place:
        async with self._database.background(Role.FEED) as connection:
            (row,) = await fetch(connection, "read_newest_snapshot")
        return Place(row["id"], row["nonce"].bytes[:8])

    async def read(
        self, place: Place, *, tenant: int | None, until: int | None = None, span: int = FIRST_SPAN, limit: int = PAGE
    ) -> ChangePage | None:
        """Return the next changes after `place`, at most `limit`; None if no snapshot was stored since.

        With `tenant`, only its changes, which may be none. The page ends at the snapshot `until`, or after `span`
        snapshots, if it does not end before. Raises PositionExpired if the changes after `place` are no longer kept.
        """
        async with self._database.background(Role.FEED) as connection:
            return await _read(connection, place, tenant=tenant, until=until, span=span, limit=limit)

    async def check(self, place: Place) -> None:
        """Raise PositionExpired if the changes after `place` are no longer kept."""
        async with self._database.background(Role.FEED) as connection:
            await _snapshots(connection, place, place.window or place.snapshot)


async def _read(
    connection: AsyncConnection, place: Place, *, tenant: int | None, until: int | None, span: int, limit: int
) -> ChangePage | None:
    began = time.monotonic()
    later, spanned = place.window, 0
    if later is None:
        (row,) = await fetch(connection, "find_tenant_window_end", earlier=place.snapshot, until=until, snapshots=span)
        later, spanned = row["snapshot"], row["span"]
    if later is None:
        await _snapshots(connection, place, place.snapshot)
        return None
    earlier_snap, later_snap, nonce = await _snapshots(connection, place, later)
    rows = await fetch(
        connection,
        "read_changes",
        shards=_ALL_SHARDS,
        earlier=earlier_snap,
        later=later_snap,
        after=place.seq,
        tenant=tenant,
        page=limit,
    )
    changes = [
        RowChange(
            seq=row["seq"],
            tenant=row["tenant"],
            kind=_KINDS[row["kind"]],
            id=row["id"],
            first=row["first"],
            last=row["last"],
            is_deleted=row["is_deleted"],
            began_at=row["began_at"],
            seen=None
            if row["scope"] is None
            else Seen(scope=row["scope"], sensitivity=row["sensitivity"], raised_to=row["raised_to"]),
            ends=None if row["source"] is None else (row["source"], row["target"]),
        )
        for row in rows
    ]
    is_last = len(changes) < limit
    end = Place(later, nonce) if is_last else replace(place, window=later, seq=changes[-1].seq)
    return ChangePage(changes=changes, end=end, span=spanned, seconds=time.monotonic() - began)


async def _snapshots(connection: AsyncConnection, place: Place, later: int) -> tuple[str, str, bytes]:
    """Return the snapshots that bound a window, and the nonce of the later one. Raises PositionExpired."""
    rows = {row["id"]: row for row in await fetch(connection, "fetch_snapshots", earlier=place.snapshot, later=later)}
    earlier = rows.get(place.snapshot)
    if earlier is None or later not in rows or earlier["nonce"].bytes[:8] != place.nonce:
        raise PositionExpired(path=["after"])
    return earlier["snap"], rows[later]["snap"], rows[later]["nonce"].bytes[:8]
