"""Ticks: stored snapshots that cut the change log into windows, and which database they belong to.

Whatever a later tick sees and an earlier one did not, lies in the window between them. The windows are exact only if
every tick sees at least what the ones before it saw, so a tick's snapshot is taken under the tickers' lock.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

SHARDS = 16  # the log's parts, by the last byte of an id: the random end of a UUIDv7
BARRIER_S = 10.0
_PAUSE_S = 0.01
_log = structlog.get_logger(__name__)


class Barrier(Protocol):
    """Where a commit may be in a snapshot before its rows can be read."""

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        """Names of the commits that are prepared and not yet finished everywhere."""
        ...


class CitusBarrier:
    """On Citus a commit over several workers is two-phase: in the coordinator's snapshot before the workers show it.

    Measured: 169 of 14,780 rows were lost without waiting for the commits that were prepared when the snapshot was
    taken, and none with it (the project's sync study, section 6).
    """

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        rows = await fetch(connection, "list_prepared_commits")
        return frozenset(name for row in rows for name in row["result"].split())


class Ticker:
    """Stores ticks. Any number of processes may; one at a time does."""

    def __init__(self, database: Database, *, barrier: Barrier | None = None) -> None:
        """`barrier` None: chosen by what the database is."""
        self._database = database
        self._barrier = barrier

    async def tick(self) -> bool:
        """Store the present snapshot if anything was logged that the last one does not see.

        False if another was just doing so, maybe with a snapshot of a moment ago. Raises StoreUnavailable, also while
        a two-phase commit stays in doubt.
        """
        async with self._database.background(Role.FEED) as connection:
            if not (await fetch(connection, "lock_snapshots"))[0]["locked"]:
                return False
            news = (await fetch(connection, "read_feed_state", shards=list(range(SHARDS))))[0]
            if news["known"] == news["incarnation"]:
                if news["has_news"]:
                    await self._settle(connection, spread=news["is_spread"])
                    await run(connection, "insert_snapshot", snap=news["snap"])
                return True
        await self._begin_incarnation()
        return await self.tick()

    async def _settle(self, connection: AsyncConnection, *, spread: bool) -> None:
        """Wait until every commit that was in doubt when the snapshot was taken shows its rows."""
        barrier = self._barrier or (CitusBarrier() if spread else None)
        if barrier is None:
            return
        waiting = await barrier.in_doubt(connection)
        deadline = time.monotonic() + BARRIER_S
        while waiting:
            if time.monotonic() > deadline:
                _log.error("commits stay in doubt; the feed waits for them", names=sorted(waiting)[:10])
                raise StoreUnavailable("Two-phase commits stay in doubt; finish or roll back what is prepared.")
            await asyncio.sleep(_PAUSE_S)
            waiting &= await barrier.in_doubt(connection)

    async def _begin_incarnation(self) -> None:
        """This is another database than the one that the ticks were taken in: a dump that was restored, another
        timeline. Their snapshots mean nothing here, so log and ticks begin anew, and consumers find that out by the
        nonce of the tick they knew."""
        async with self._database.background(Role.MAINTENANCE) as connection:
            feed = (await fetch(connection, "lock_incarnation"))[0]
            if feed["known"] == feed["incarnation"]:
                return
            if feed["known"] is not None:
                _log.warning("the database is another incarnation", known=feed["known"], now=feed["incarnation"])
                await connection.execute(text("SET LOCAL lock_timeout = '5s'"))
                await connection.execute(text("TRUNCATE sync_log"))
                await run(connection, "restart_snapshots")
            await run(connection, "update_incarnation", incarnation=feed["incarnation"])


async def incarnation(connection: AsyncConnection) -> str:
    """Which database this is: a restored dump, another timeline or another cluster has another one."""
    found: str = (await fetch(connection, "read_incarnation"))[0]["incarnation"]
    return found


async def trim_ticks(connection: AsyncConnection, *, limit: int) -> None:
    """Drop ticks that nobody reads from any more, at most `limit`."""
    await run(connection, "trim_snapshots", limit=limit)


def shards_of(cursor: int, *, cursors: int) -> list[int]:
    """The shards that a cursor reads, where a consumer has that many.

    >>> shards_of(3, cursors=8)
    [3, 11]
    """
    return list(range(cursor, SHARDS, cursors))
