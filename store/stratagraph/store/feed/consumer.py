"""A consumer of the change feed, which misses no change, however the writers' transactions overlap.

A window of the log is the difference of two stored snapshots: every change that the later one sees and the earlier one
does not. A cursor over `seq` would lose rows whose transactions commit late, and an xmin horizon would stall behind a
long transaction; the difference of snapshots does neither.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Kind, LoggedChange
from stratagraph.store.feed.leases import LEASE_S, Lease, LogPage
from stratagraph.store.feed.snapshots import SHARDS, Barrier, SnapshotWriter, shards_of
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables

PAGE = 2_000  # rows of the log in one page
WINDOW_SNAPSHOTS = 20  # snapshots that a window spans at first, so that pages stay cheap after an outage
WIDEST_WINDOW = 1_000 * WINDOW_SNAPSHOTS  # snapshots that a window spans if there are few changes for each
SNAPSHOT_RETRY_S = 0.005
_KINDS = {int(kind): kind for kind in Kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a consumer is behind.

    `changes` counts unread changes up to 10,000. `seconds` is the age of the oldest unread snapshot, 0 when nothing is
    unread. `dead_letters` counts the changes that the target has refused.
    """

    changes: int
    seconds: float
    dead_letters: int


class Feed:
    """Reads the change feed for one consumer, and leases the consumer's cursors to its workers.

    `cursors` is the number of workers that can share the log: each cursor reads its own shards. With `rereads`, the
    consumer reads all rows again whenever its cursors are new, so its cursors may be deleted after it has not read for
    a week. Every method raises StoreUnavailable if the database cannot be reached.
    """

    def __init__(
        self,
        database: Database,
        consumer: str,
        *,
        cursors: int = 1,
        rereads: bool = False,
        barrier: Barrier | None = None,
    ) -> None:
        self._database = database
        self._writer = SnapshotWriter(database, barrier=barrier)
        self.consumer = consumer
        self.cursors = cursors
        self._rereads = rereads
        self._span = WINDOW_SNAPSHOTS

    async def take_snapshot(self) -> bool:
        """Store a snapshot if the log has a change that the last one does not see; return whether the last is fresh.

        False means that another process was storing one, so that the last one may not see the newest changes. Any
        process may call this. Raises StoreUnavailable.
        """
        return await self._writer.take_snapshot()

    async def take_fresh_snapshot(self) -> int:
        """Return the number of a snapshot that sees every change committed before the call, storing one if needed."""
        while not await self._writer.take_snapshot():  # noqa: ASYNC110 - another process holds the lock
            await asyncio.sleep(SNAPSHOT_RETRY_S)
        async with self._database.background(Role.FEED) as connection:
            return int((await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one())

    async def has_passed(self, snapshot: int) -> bool:
        """Return whether this consumer has applied every change that `snapshot` sees."""
        return all(position >= snapshot for position in (await self.positions()).values())

    async def positions(self) -> dict[int, int]:
        """Return, keyed by cursor, the number of the snapshot whose changes have all been applied."""
        table = tables.sync_cursor
        async with self._database.background(Role.FEED) as connection:
            rows = await connection.execute(
                select(table.c.shard, table.c.snapshot).where(table.c.consumer == self.consumer)
            )
            return {row.shard: row.snapshot for row in rows}

    async def exact_positions(self) -> dict[int, tuple[int, int]]:
        """Return, keyed by cursor, its snapshot and the last number that it has read of the window after it, or 0."""
        table = tables.sync_cursor
        async with self._database.background(Role.FEED) as connection:
            rows = await connection.execute(
                select(table.c.shard, table.c.snapshot, table.c.window_seq).where(table.c.consumer == self.consumer)
            )
            return {row.shard: (row.snapshot, row.window_seq) for row in rows}

    async def register(self) -> bool:
        """Create the missing cursors of this consumer at the newest snapshot; return whether any was created.

        The consumer must then read the rows written before that snapshot by other means.
        """
        await self.take_snapshot()
        async with self._database.background(Role.FEED) as connection:
            # A snapshot always exists: the first migration stores one, and the newest is never deleted.
            newest = (await connection.execute(text("SELECT max(id) FROM sync_snapshot"))).scalar_one()
            created = await connection.execute(
                insert(tables.sync_cursor)
                .values(
                    [
                        {"consumer": self.consumer, "shard": cursor, "snapshot": newest, "rereads": self._rereads}
                        for cursor in range(self.cursors)
                    ]
                )
                .on_conflict_do_nothing(index_elements=["consumer", "shard"])
                .returning(tables.sync_cursor.c.shard)
            )
            return bool(created.all())

    async def join(self, owner: str) -> int:
        """Store the worker `owner` as live for LEASE_S seconds; return its fair share of the cursors, rounded up."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "join_workers", consumer=self.consumer, owner=owner, lease_s=LEASE_S)
        return -(-self.cursors // int(rows[0]["workers"]))

    async def leave(self, owner: str) -> None:
        """Remove a worker from the live workers, so that the others take over its share at once."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "leave_workers", consumer=self.consumer, owner=owner)

    async def record_follow(self, owner: str) -> None:
        """Store that the worker `owner` has completed a pass over the feed now. Does nothing if it has not joined."""
        async with self._database.background(Role.FEED) as connection:
            await connection.execute(text("SET LOCAL synchronous_commit = off"))  # a lost status is stored again soon
            await run(connection, "record_follow", consumer=self.consumer, owner=owner)

    async def holders(self) -> dict[str, int]:
        """Return the number of cursors that each live worker has a lease on, 0 included, keyed by worker."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "count_cursors_held", consumer=self.consumer)
        return {row["owner"]: row["cursors"] for row in rows}

    async def lease(self, owner: str, *, limit: int | None = None) -> Lease | None:
        """Lease up to `limit` cursors that no worker has a lease on; None if there are none. Without `limit`, all.

        All have the same position: of the positions of such cursors, the one furthest behind.
        """
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "lease_cursor",
                consumer=self.consumer,
                owner=owner,
                lease_s=LEASE_S,
                limit=self.cursors if limit is None else limit,
            )
        if not rows:
            return None
        held = sorted(rows, key=lambda row: int(row["shard"]))
        return Lease(
            consumer=self.consumer,
            owner=owner,
            cursors=tuple(row["shard"] for row in held),
            epochs=tuple(row["epoch"] for row in held),
            snapshot=held[0]["snapshot"],
            window_snapshot=held[0]["window_snapshot"],
            window_seq=held[0]["window_seq"],
        )

    async def page(self, lease: Lease, *, limit: int | None = None) -> LogPage | None:
        """Return the next page of the log for the shards of this lease, of at most `limit` changes (default PAGE).

        Returns None if the lease is at the newest snapshot, so that nothing is left to read at present.
        """
        async with self._database.background(Role.FEED) as connection:
            return await self._page(connection, lease, limit or PAGE)

    async def _page(self, connection: AsyncConnection, lease: Lease, limit: int) -> LogPage | None:
        later, spanned = lease.window_snapshot, 0
        if later is None:
            rows = await fetch(connection, "find_window_end", earlier=lease.snapshot, snapshots=self._span)
            later, spanned = rows[0]["snapshot"], rows[0]["span"]
            if later is None:
                return None
        snapshots = {
            row["id"]: row for row in await fetch(connection, "fetch_snapshots", earlier=lease.snapshot, later=later)
        }
        if len(snapshots) < 2:
            return None  # the snapshots were restarted and the cursors taken away; renewing the lease will find that
        logged = await fetch(
            connection,
            "read_window",
            shards=[shard for cursor in lease.cursors for shard in shards_of(cursor, cursors=self.cursors)],
            earlier=snapshots[lease.snapshot]["snap"],
            later=snapshots[later]["snap"],
            after=lease.window_seq,
            page=limit,
        )
        self._adapt_span(spanned, len(logged), limit)
        return LogPage(
            changes=[
                LoggedChange(
                    seq=row["seq"],
                    tenant=row["tenant"],
                    kind=_KINDS[row["kind"]],
                    id=row["id"],
                    version=row["version"],
                    op=row["op"],
                )
                for row in logged
            ],
            window_snapshot=later,
            nonce=snapshots[later]["nonce"],
            earlier_nonce=snapshots[lease.snapshot]["nonce"],
            last=len(logged) < limit,
        )

    def _adapt_span(self, spanned: int, rows: int, limit: int) -> None:
        """Let the next window span more snapshots after one with few changes, and fewer after one of several pages.

        Otherwise a consumer that is a day behind would write a transaction for every 20 of a million snapshots.
        """
        if rows == limit:
            self._span = max(WINDOW_SNAPSHOTS, self._span // 2)
        elif spanned == self._span and rows < limit // 4:
            self._span = min(WIDEST_WINDOW, 2 * self._span)
        elif spanned < WINDOW_SNAPSHOTS:
            self._span = WINDOW_SNAPSHOTS

    async def advance(self, lease: Lease, page: LogPage, *, connection: AsyncConnection | None = None) -> Lease | None:
        """Move the cursors past `page`, which has been applied; return the lease at its new position, extended.

        Returns None, without having moved any cursor, if another owner has taken over one of them. A consumer whose
        target is this database passes the `connection` of the transaction that applies the page, and so applies every
        change exactly once; it must roll back on None.
        """
        if connection is not None:
            return await self._advance(connection, lease, page)
        async with self._database.background(Role.FEED) as own:
            advanced = await self._advance(own, lease, page)
            if advanced is None:
                await own.rollback()
            return advanced

    async def _advance(self, connection: AsyncConnection, lease: Lease, page: LogPage) -> Lease | None:
        after = lease.after(page)
        rows = await fetch(
            connection,
            "advance_cursor",
            **lease.fence,
            snapshot=after.snapshot,
            window_snapshot=after.window_snapshot,
            window_seq=after.window_seq,
            lease_s=LEASE_S,
        )
        return after if len(rows) == len(lease.cursors) else None

    async def renew(self, lease: Lease) -> Lease | None:
        """Extend the lease by LEASE_S seconds; return a lease on the cursors not taken over, None if all were."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "renew_cursor", **lease.fence, lease_s=LEASE_S)
        held = {row["shard"] for row in rows}
        kept = [(cursor, epoch) for cursor, epoch in zip(lease.cursors, lease.epochs, strict=True) if cursor in held]
        if not kept:
            return None
        return replace(lease, cursors=tuple(cursor for cursor, _ in kept), epochs=tuple(epoch for _, epoch in kept))

    async def release(self, lease: Lease) -> None:
        """End the lease, so that another owner can lease its cursors at once. Cursors taken over are not affected."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "release_cursor", **lease.fence)

    async def lag(self) -> Lag | None:
        """Measure how far this consumer is behind; None if it has never been registered."""
        async with self._database.background(Role.FEED) as connection:
            return await _lag(connection, self.consumer)

    async def seen(self, token: str) -> bool:
        """Return whether this consumer has applied all changes of a transaction; `token` is its id as text.

        False also if the consumer has no cursors.
        """
        async with self._database.autonomous() as connection:
            found = await fetch(connection, "token_applied", consumer=self.consumer, token=token)
        return bool(found and found[0]["applied"])


async def list_consumers(connection: AsyncConnection) -> list[str]:
    """Return the names of the consumers that have cursors."""
    return [row["consumer"] for row in await fetch(connection, "list_consumers")]


async def measure_lags(database: Database) -> dict[str, Lag]:
    """Measure how far each registered consumer of the feed is behind, keyed by its name. Raises StoreUnavailable."""
    async with database.background(Role.FEED) as connection:
        found = {name: await _lag(connection, name) for name in await list_consumers(connection)}
    return {name: lag for name, lag in found.items() if lag is not None}


async def _lag(connection: AsyncConnection, consumer: str) -> Lag | None:
    rows = await fetch(connection, "measure_lag", consumer=consumer, shards=list(range(SHARDS)))
    if not rows or rows[0]["snapshot"] is None:
        return None
    row = rows[0]
    return Lag(changes=row["changes"], seconds=max(0.0, row["seconds"]), dead_letters=row["dead_letters"])
