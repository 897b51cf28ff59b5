"""Stored snapshots of the database, which divide the change log into windows, and the database's incarnation.

The window between two snapshots holds every change that the later one sees and the earlier one does not. Windows are
exact only if every snapshot sees at least what the earlier ones saw, so snapshots are taken under an advisory lock.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

SHARDS = 16  # parts of the log, by the last byte of an id, which is random in a UUIDv7
BARRIER_S = 10.0  # how long a snapshot waits for two-phase commits
_PAUSE_S = 0.01
_log = get_logger(__name__)


class Barrier(Protocol):
    """Finds commits whose rows cannot be read on every server yet although a snapshot may already see them."""

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        """Return the names of the commits that are prepared and not yet finished on every server."""
        ...


class CitusBarrier:
    """The barrier for Citus, where a commit over several workers has two phases.

    The coordinator's snapshot sees such a commit before the workers show its rows. Measured: 169 of 14,780 rows were
    lost without waiting for the commits that were prepared when the snapshot was taken, and none with it.
    """

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        """Return the names of the commits that the workers have prepared."""
        rows = await fetch(connection, "list_prepared_commits")
        return frozenset(name for row in rows for name in row["result"].split())


class SnapshotWriter:
    """Stores snapshots for the change feed. Any number of processes may use one; a lock lets one store at a time."""

    def __init__(self, database: Database, *, barrier: Barrier | None = None) -> None:
        """Without `barrier`, one is chosen by whether the database is a Citus cluster."""
        self._database = database
        self._barrier = barrier

    async def take_snapshot(self) -> bool:
        """Store the present snapshot if the log has a change that the last snapshot does not see.

        Returns False at once if another process is storing a snapshot; that one may not see the newest changes.
        Otherwise returns True, even if nothing was stored. Raises StoreUnavailable, also when a two-phase commit stays
        in doubt for BARRIER_S seconds.
        """
        async with self._database.background(Role.FEED) as connection:
            if not (await fetch(connection, "lock_snapshots"))[0]["locked"]:
                return False
            state = (await fetch(connection, "read_feed_state", shards=list(range(SHARDS))))[0]
            if state["known"] == state["incarnation"]:
                if state["has_news"]:
                    await self._wait_for_barrier(connection, distributed=state["is_distributed"])
                    await run(connection, "insert_snapshot", snap=state["snap"])
                return True
        await self._begin_incarnation()
        return await self.take_snapshot()

    async def _wait_for_barrier(self, connection: AsyncConnection, *, distributed: bool) -> None:
        """Wait until the rows of every commit that was in doubt when the snapshot was taken can be read."""
        barrier = self._barrier or (CitusBarrier() if distributed else None)
        if barrier is None:
            return
        waiting = await barrier.in_doubt(connection)
        deadline = time.monotonic() + BARRIER_S
        while waiting:
            if time.monotonic() > deadline:
                _log.error("change feed is blocked by two-phase commits in doubt", names=sorted(waiting)[:10])
                raise StoreUnavailable(
                    f"Two-phase commits have been in doubt for {BARRIER_S:g} s, and the change feed waits for them;"
                    " commit or roll back the prepared transactions."
                )
            await asyncio.sleep(_PAUSE_S)
            waiting &= await barrier.in_doubt(connection)

    async def _begin_incarnation(self) -> None:
        """Empty the log and restart the snapshots if they were taken in another incarnation of the database.

        The snapshots of another incarnation (a restored dump, another timeline) mean nothing in this one. A consumer
        finds out that they were restarted by the nonce of the last snapshot it knows.
        """
        async with self._database.background(Role.MAINTENANCE) as connection:
            feed = (await fetch(connection, "lock_incarnation"))[0]
            if feed["known"] == feed["incarnation"]:
                return
            if feed["known"] is not None:
                _log.warning(
                    "database has another incarnation; change feed restarts",
                    known=feed["known"],
                    now=feed["incarnation"],
                )
                await connection.execute(text("SET LOCAL lock_timeout = '5s'"))
                await connection.execute(text("TRUNCATE sync_log"))
                await run(connection, "restart_snapshots")
            await run(connection, "update_incarnation", incarnation=feed["incarnation"])


async def incarnation(connection: AsyncConnection) -> str:
    """Return the text that identifies this incarnation of the database; a restored copy or timeline has another one."""
    found: str = (await fetch(connection, "read_incarnation"))[0]["incarnation"]
    return found


async def hold_snapshots(connection: AsyncConnection) -> None:
    """Wait until no other transaction deletes snapshots or moves cursors back to one, and keep others from it."""
    await run(connection, "hold_snapshots")


async def trim_snapshots(connection: AsyncConnection, *, limit: int) -> None:
    """Delete at most `limit` snapshots, the oldest first, that are over a day old and that all cursors have passed."""
    await hold_snapshots(connection)
    await run(connection, "trim_snapshots", limit=limit)


def shards_of(cursor: int, *, cursors: int) -> list[int]:
    """Return the numbers of the shards that `cursor` reads, for a consumer with `cursors` cursors.

    >>> shards_of(3, cursors=8)
    [3, 11]
    """
    return list(range(cursor, SHARDS, cursors))
