"""The change feed: what a writer's transaction says about itself, and how a consumer reads it without loss.

The log is insert-only and names (kind, id, version); a consumer reads the row as it is now. Windows are the
difference of two stored snapshots: everything the later one sees and the earlier one did not. A `seq >` cursor
would lose rows that commit late, an xmin horizon would stall behind a long writer; the difference does neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store import tables
from stratagraph.store.bulk import insert_rows
from stratagraph.store.database import Database, Role, fetch, run
from stratagraph.store.tenancy import Tenant

SHARDS = 1  # one lease; the log already carries the shard, so more of them need no change of its form
PAGE = 2_000  # log rows read at once
WINDOW_TICKS = 20  # how far a window reaches ahead, so that pages stay cheap after an outage
LEASE_S = 10


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
    """The right to advance one cursor, until another owner's epoch replaces it."""

    consumer: str
    shard: int
    owner: str
    epoch: int
    tick: int
    win_tick: int | None
    win_seq: int

    @property
    def fence(self) -> dict[str, Any]:
        """What a statement binds to touch this cursor only while the lease holds."""
        return {"consumer": self.consumer, "shard": self.shard, "owner": self.owner, "epoch": self.epoch}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Part of a window. `last` is True when the window ends with it."""

    changes: Sequence[Logged]
    win_tick: int
    nonce: UUID
    earlier_nonce: UUID
    last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a consumer is behind: whole changes and seconds. `seconds` is 0 when nothing waits."""

    changes: int
    seconds: float
    parked: int


async def append_changes(connection: AsyncConnection, tenant: Tenant, changes: Sequence[Change]) -> None:
    """Log `changes`. Must come after the rows themselves, in the same transaction and under their locks."""
    await insert_rows(
        connection,
        tables.sync_log,
        [
            {
                "shard": change.id.bytes[15] % SHARDS,
                "tenant": tenant.id,
                "kind": int(change.kind),
                "id": change.id,
                "version": change.version,
                "op": change.op,
            }
            for change in changes
        ],
    )


class Feed:
    """One consumer's way through the log."""

    def __init__(self, database: Database, consumer: str) -> None:
        self._database = database
        self.consumer = consumer

    async def tick(self) -> None:
        """Store the present snapshot if anything has committed since the last. Any process may."""
        async with self._database.working(Role.FEED) as connection:
            await run(connection, "tick", shards=list(range(SHARDS)))

    async def register(self) -> bool:
        """Make the cursors of this consumer, starting now. True if they were new: there is a past to read first."""
        await self.tick()
        async with self._database.working(Role.FEED) as connection:
            # There is always one: the first migration stores it, and the newest is never trimmed.
            tick = (await connection.execute(text("SELECT max(id) FROM sync_tick"))).scalar_one()
            made = await connection.execute(
                insert(tables.sync_cursor)
                .values([{"consumer": self.consumer, "shard": shard, "tick": tick} for shard in range(SHARDS)])
                .on_conflict_do_nothing(index_elements=["consumer", "shard"])
                .returning(tables.sync_cursor.c.shard)
            )
            return bool(made.all())

    async def lease(self, owner: str) -> Lease | None:
        """Take an idle cursor, or None while others hold them all."""
        async with self._database.working(Role.FEED) as connection:
            rows = await fetch(connection, "lease_cursor", consumer=self.consumer, owner=owner, lease_s=LEASE_S)
        if not rows:
            return None
        row = rows[0]
        return Lease(
            consumer=self.consumer,
            shard=row["shard"],
            owner=owner,
            epoch=row["epoch"],
            tick=row["tick"],
            win_tick=row["win_tick"],
            win_seq=row["win_seq"],
        )

    async def page(self, lease: Lease) -> Page | None:
        """The next part of the log for this lease, or None when it is at the newest tick."""
        async with self._database.working(Role.FEED) as connection:
            return await self._page(connection, lease)

    async def _page(self, connection: AsyncConnection, lease: Lease) -> Page | None:
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
        ticks = {row["id"]: row for row in await fetch(connection, "fetch_ticks", earlier=lease.tick, later=win_tick)}
        rows = await fetch(
            connection,
            "read_window",
            shard=lease.shard,
            earlier=ticks[lease.tick]["snap"],
            later=ticks[win_tick]["snap"],
            after=lease.win_seq,
            page=PAGE,
        )
        return Page(
            changes=[Logged(**{**row, "kind": Kind(row["kind"])}) for row in rows],
            win_tick=win_tick,
            nonce=ticks[win_tick]["nonce"],
            earlier_nonce=ticks[lease.tick]["nonce"],
            last=len(rows) < PAGE,
        )

    async def advance(self, lease: Lease, page: Page, *, connection: AsyncConnection | None = None) -> Lease | None:
        """Move the cursor past `page`; None if the lease was lost, and then nothing was moved.

        A consumer whose target is this very database passes its own `connection`, and so applies exactly once.
        """
        if connection is not None:
            return await self._advance(connection, lease, page)
        async with self._database.working(Role.FEED) as own:
            return await self._advance(own, lease, page)

    async def _advance(self, connection: AsyncConnection, lease: Lease, page: Page) -> Lease | None:
        tick, win_tick, win_seq = (
            (page.win_tick, None, 0) if page.last else (lease.tick, page.win_tick, page.changes[-1].seq)
        )
        rows = await fetch(
            connection,
            "advance_cursor",
            **lease.fence,
            tick=tick,
            win_tick=win_tick,
            win_seq=win_seq,
            lease_s=LEASE_S,
        )
        return replace(lease, tick=tick, win_tick=win_tick, win_seq=win_seq) if rows else None

    async def renew(self, lease: Lease) -> bool:
        """Keep the lease while there is nothing to advance past. False if it was lost."""
        async with self._database.working(Role.FEED) as connection:
            return bool(
                await fetch(
                    connection,
                    "renew_cursor",
                    **lease.fence,
                    lease_s=LEASE_S,
                )
            )

    async def release(self, lease: Lease) -> None:
        """Hand the cursor back, so that the next owner need not wait for the lease to run out."""
        async with self._database.working(Role.FEED) as connection:
            await run(
                connection,
                "release_cursor",
                **lease.fence,
            )

    async def lag(self) -> Lag | None:
        """None if this consumer has never run."""
        async with self._database.working(Role.FEED) as connection:
            rows = await fetch(connection, "measure_lag", consumer=self.consumer, shards=list(range(SHARDS)))
        if not rows or rows[0]["tick"] is None:
            return None
        row = rows[0]
        return Lag(changes=row["changes"], seconds=max(0.0, row["seconds"]), parked=row["parked"])

    async def seen(self, token: str) -> bool:
        """Whether the transaction with this sequence token has been applied."""
        async with self._database.aside() as connection:
            found = await fetch(connection, "token_applied", consumer=self.consumer, token=token)
        return bool(found and found[0]["applied"])


async def trim_ticks(connection: AsyncConnection, *, limit: int) -> None:
    """Drop ticks that nobody reads from any more, at most `limit`."""
    await run(connection, "trim_ticks", limit=limit)


async def incarnation(connection: AsyncConnection) -> str:
    """Which database this is: a restored copy or another cluster has another one."""
    row = (
        await connection.execute(
            text(
                "SELECT s.system_identifier, c.timeline_id, d.oid"
                " FROM pg_control_system() s, pg_control_checkpoint() c,"
                " pg_database d WHERE d.datname = current_database()"
            )
        )
    ).one()
    return f"{row.system_identifier}/{row.timeline_id}/{row.oid}"
