"""The change feed: what a writer's transaction says about itself, and how a consumer reads it without loss.

The log is insert-only and names (kind, id, version); a consumer reads the row as it is now. Windows are the
difference of two stored snapshots: everything the later one sees and the earlier one did not. A `seq >` cursor
would lose rows that commit late, an xmin horizon would stall behind a long writer; the difference does neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.snapshots import SHARDS, Barrier, Ticker, shards_of
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

PAGE = 2_000  # log rows read at once
WINDOW_TICKS = 20  # how far a window reaches ahead, so that pages stay cheap after an outage
LEASE_S = 10
MARK_PAUSE_S = 0.005


class Kind(IntEnum):
    RECORD = 1
    RELATION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One row was written. `version` is its row_version; op is U (upsert), D (delete) or R (repair)."""

    kind: Kind
    id: UUID
    version: int
    op: str = "U"


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A change as read from the log."""

    seq: int
    tenant: int
    kind: Kind
    id: UUID
    version: int
    op: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to advance some cursors of a consumer that stand at one place, until other owners' epochs replace it.

    Each of `cursors` has its epoch at the same position of `epochs`.
    """

    consumer: str
    owner: str
    cursors: tuple[int, ...]
    epochs: tuple[int, ...]
    tick: int
    win_tick: int | None
    win_seq: int

    @property
    def fence(self) -> dict[str, Any]:
        """What a statement binds to touch these cursors only while the lease holds."""
        return {
            "consumer": self.consumer,
            "owner": self.owner,
            "cursors": list(self.cursors),
            "epochs": list(self.epochs),
        }

    @property
    def place(self) -> tuple[int, int | None, int]:
        return self.tick, self.win_tick, self.win_seq

    def past(self, page: LogPage) -> Lease:
        """This lease once `page` is done."""
        if page.last:
            return replace(self, tick=page.win_tick, win_tick=None, win_seq=0)
        return replace(self, win_tick=page.win_tick, win_seq=page.changes[-1].seq)

    def joined(self, other: Lease) -> Lease:
        """Two leases that have come to one place go on as one."""
        assert self.place == other.place
        return replace(self, cursors=self.cursors + other.cursors, epochs=self.epochs + other.epochs)

    def split(self, keep: int) -> tuple[Lease, Lease]:
        """The first `keep` cursors, and the rest."""
        return (
            replace(self, cursors=self.cursors[:keep], epochs=self.epochs[:keep]),
            replace(self, cursors=self.cursors[keep:], epochs=self.epochs[keep:]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Part of a window. `last` is True when the window ends with it."""

    changes: Sequence[Logged]
    win_tick: int
    nonce: UUID
    earlier_nonce: UUID
    last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a consumer is behind: changes (counted to 10,000) and seconds, which are 0 when nothing waits."""

    changes: int
    seconds: float
    parked: int


async def append_changes(connection: AsyncConnection, tenant: Tenant, changes: Sequence[Change]) -> None:
    """Log `changes`. Must come after the rows themselves, in the same transaction and under their locks."""
    await log_changes(connection, tenant.id, changes)


async def log_changes(connection: AsyncConnection, tenant: int, changes: Sequence[Change]) -> None:
    """`append_changes` for a tenant's number, which may outlive the tenant in what is derived from it."""
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


class Feed:
    """One consumer's way through the log.

    `cursors` is over how many workers it may be spread: each cursor reads its shards alone. `rereads` tells that the
    consumer reads everything afresh where its cursors are new, so that one that stays away may be forgotten.
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
        self._ticker = Ticker(database, barrier=barrier)
        self.consumer = consumer
        self.cursors = cursors
        self._rereads = rereads

    async def tick(self) -> bool:
        """Store the present snapshot if anything has been logged since the last. Any process may; False if another
        was just doing so."""
        return await self._ticker.tick()

    async def mark(self) -> int:
        """A tick that sees everything committed by now."""
        while not await self._ticker.tick():  # noqa: ASYNC110 - whoever is doing so is another process
            await asyncio.sleep(MARK_PAUSE_S)
        async with self._database.background(Role.FEED) as connection:
            return int((await connection.execute(text("SELECT max(id) FROM sync_tick"))).scalar_one())

    async def has_passed(self, tick: int) -> bool:
        """Whether this consumer has applied everything that `tick` sees."""
        return all(at >= tick for at in (await self.places()).values())

    async def places(self) -> dict[int, int]:
        """The tick at which each cursor stands."""
        table = tables.sync_cursor
        async with self._database.background(Role.FEED) as connection:
            rows = await connection.execute(
                select(table.c.shard, table.c.tick).where(table.c.consumer == self.consumer)
            )
            return {row.shard: row.tick for row in rows}

    async def register(self) -> bool:
        """Make the cursors of this consumer, starting now. True if they were new: there is a past to read first."""
        await self.tick()
        async with self._database.background(Role.FEED) as connection:
            # There is always a tick: the first migration stores it, and the newest is never trimmed.
            tick = (await connection.execute(text("SELECT max(id) FROM sync_tick"))).scalar_one()
            made = await connection.execute(
                insert(tables.sync_cursor)
                .values(
                    [
                        {"consumer": self.consumer, "shard": cursor, "tick": tick, "rereads": self._rereads}
                        for cursor in range(self.cursors)
                    ]
                )
                .on_conflict_do_nothing(index_elements=["consumer", "shard"])
                .returning(tables.sync_cursor.c.shard)
            )
            return bool(made.all())

    async def join(self, owner: str) -> int:
        """Say that a worker lives, for as long as a lease; returns how many cursors are its fair share."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "join_workers", consumer=self.consumer, owner=owner, lease_s=LEASE_S)
        return -(-self.cursors // int(rows[0]["workers"]))

    async def leave(self, owner: str) -> None:
        """Say that a worker goes, so that the others take its share at once."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "leave_workers", consumer=self.consumer, owner=owner)

    async def holders(self) -> dict[str, int]:
        """How many cursors each live worker holds."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "count_cursors_held", consumer=self.consumer)
        return {row["owner"]: row["cursors"] for row in rows}

    async def lease(self, owner: str, *, most: int | None = None) -> Lease | None:
        """Take idle cursors that stand at one place, the one furthest behind; None while others hold them all."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection,
                "lease_cursor",
                consumer=self.consumer,
                owner=owner,
                lease_s=LEASE_S,
                most=self.cursors if most is None else most,
            )
        if not rows:
            return None
        held = sorted(rows, key=lambda row: int(row["shard"]))
        return Lease(
            consumer=self.consumer,
            owner=owner,
            cursors=tuple(row["shard"] for row in held),
            epochs=tuple(row["epoch"] for row in held),
            tick=held[0]["tick"],
            win_tick=held[0]["win_tick"],
            win_seq=held[0]["win_seq"],
        )

    async def page(self, lease: Lease, *, most: int | None = None) -> LogPage | None:
        """The next part of the log for this lease, `most` changes at most; None when it is at the newest tick."""
        async with self._database.background(Role.FEED) as connection:
            return await self._page(connection, lease, most or PAGE)

    async def _page(self, connection: AsyncConnection, lease: Lease, most: int) -> LogPage | None:
        win_tick = lease.win_tick
        if win_tick is None:
            win_tick = (
                await connection.execute(
                    text("SELECT max(id) FROM (SELECT id FROM sync_tick WHERE id > :tick ORDER BY id LIMIT :ticks) t"),
                    {"tick": lease.tick, "ticks": WINDOW_TICKS},
                )
            ).scalar_one_or_none()
            if win_tick is None:
                return None
        ticks = {
            row["id"]: row for row in await fetch(connection, "fetch_snapshots", earlier=lease.tick, later=win_tick)
        }
        if len(ticks) < 2:
            return None  # the ticks began anew: the cursors are no longer ours, as the next step will tell
        rows = await fetch(
            connection,
            "read_window",
            shards=[shard for cursor in lease.cursors for shard in shards_of(cursor, cursors=self.cursors)],
            earlier=ticks[lease.tick]["snap"],
            later=ticks[win_tick]["snap"],
            after=lease.win_seq,
            page=most,
        )
        return LogPage(
            changes=[Logged(**{**row, "kind": Kind(row["kind"])}) for row in rows],
            win_tick=win_tick,
            nonce=ticks[win_tick]["nonce"],
            earlier_nonce=ticks[lease.tick]["nonce"],
            last=len(rows) < most,
        )

    async def advance(self, lease: Lease, page: LogPage, *, connection: AsyncConnection | None = None) -> Lease | None:
        """Move the cursors past `page`; None if the lease was lost, and then nothing was moved.

        A consumer whose target is this very database passes its own `connection`, and so applies exactly once; it
        rolls back on None.
        """
        if connection is not None:
            return await self._advance(connection, lease, page)
        async with self._database.background(Role.FEED) as own:
            advanced = await self._advance(own, lease, page)
            if advanced is None:
                await own.rollback()
            return advanced

    async def _advance(self, connection: AsyncConnection, lease: Lease, page: LogPage) -> Lease | None:
        after = lease.past(page)
        rows = await fetch(
            connection,
            "advance_cursor",
            **lease.fence,
            tick=after.tick,
            win_tick=after.win_tick,
            win_seq=after.win_seq,
            lease_s=LEASE_S,
        )
        return after if len(rows) == len(lease.cursors) else None

    async def renew(self, lease: Lease) -> Lease | None:
        """Keep the lease while there is nothing to advance past: what of it is still held, None if nothing is."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "renew_cursor", **lease.fence, lease_s=LEASE_S)
        held = {row["shard"] for row in rows}
        kept = [(cursor, epoch) for cursor, epoch in zip(lease.cursors, lease.epochs, strict=True) if cursor in held]
        if not kept:
            return None
        return replace(lease, cursors=tuple(cursor for cursor, _ in kept), epochs=tuple(epoch for _, epoch in kept))

    async def release(self, lease: Lease) -> None:
        """Hand the cursors back, so that the next owner need not wait for the lease to run out."""
        async with self._database.background(Role.FEED) as connection:
            await run(connection, "release_cursor", **lease.fence)

    async def lag(self) -> Lag | None:
        """None if this consumer has never run."""
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(connection, "measure_lag", consumer=self.consumer, shards=list(range(SHARDS)))
        if not rows or rows[0]["tick"] is None:
            return None
        row = rows[0]
        return Lag(changes=row["changes"], seconds=max(0.0, row["seconds"]), parked=row["parked"])

    async def seen(self, token: str) -> bool:
        """Whether the transaction with this sequence token has been applied."""
        async with self._database.autonomous() as connection:
            found = await fetch(connection, "token_applied", consumer=self.consumer, token=token)
        return bool(found and found[0]["applied"])
