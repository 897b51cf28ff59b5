"""Recency search: the newest records among a bounded number, now or as of a past instant.

The present search is a function in the database that checks the caller's trust itself: under row-level security, a
bounded read of the newest records would not be bounded.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.settling import LEEWAY
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch

RECENT_WINDOW = 400  # newest records read, including those that are then filtered out


async def search_recent(
    connection: AsyncConnection, *, types: Collection[MemoryType], now: datetime, limit: int
) -> list[UUID]:
    """Return current records that the caller may read in full and that are valid now, newest first.

    They are searched among the last RECENT_WINDOW records. The caller's trust is that of the connection.
    """
    rows = await fetch(
        connection,
        "search_recent",
        types=[int(memory_type) for memory_type in types],
        now=now,
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


async def search_recent_at(
    connection: AsyncConnection, caller: Caller, *, types: Collection[MemoryType], at: datetime, limit: int
) -> list[UUID]:
    """Return records that were current at `at`, newest first, searched among the last RECENT_WINDOW that existed then.

    The caller must be able to read them in full then and now.
    """
    rows = await fetch(
        connection,
        "search_recent_at",
        **caller.parameters(),
        types=[int(memory_type) for memory_type in types],
        at=at,
        below=_first_id_after(at),
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


def _first_id_after(at: datetime) -> UUID:
    """Return a UUID above the UUIDv7 of every record that existed at `at`.

    An id is made when its write begins, and the clocks of writers differ by at most LEEWAY.
    """
    milliseconds = max(0, int((at + LEEWAY).timestamp() * 1_000))
    return UUID(int=milliseconds << 80)
