"""Transactions that need not be finished: they end as soon as another one waits for a lock that they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

LOOK_EVERY_S = 0.05  # seconds between two looks at whether somebody waits


async def until_waited_for(database: Database, connection: AsyncConnection, work: Awaitable[None]) -> bool:
    """Await `work` on a connection, and cancel it once another transaction waits for a lock of this one.

    Return whether the work was finished. If it was not, its transaction is of no more use: roll it back.
    """
    pid = (await fetch(connection, "backend_pid"))[0]["pid"]
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK_EVERY_S))[0]:
            async with database.background_snapshot(Role.JOBS) as other:
                if (await fetch(other, "is_waited_for", pid=pid))[0]["is_waited_for"]:
                    return False
        task.result()
        return True
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # of work that is of no more use, nobody asks
