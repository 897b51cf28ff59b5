"""Search by time: the newest records, or those of given intervals, among a bounded number of the readable ones.

Each now or as of a past instant.

The searches are functions in the database that check the caller's trust themselves: under row-level security, a bounded
read of the newest records would not be bounded. Hidden records are not read at all, because the indexes are ordered
within each scope and sensitivity.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.settling import LEEWAY
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch, fetch_together, sending

RECENT_WINDOW = 400  # newest readable records read, including those of other types or states
Interval: TypeAlias = tuple[datetime, datetime]  # from the first until before the second
FEW = 4  # times as many as are wanted are read first, which is enough where most are current and of the types asked for


def searching_recent(*, types: Collection[MemoryType], now: datetime, limit: int) -> Sending:
    """Return the statement that finds at most `limit` of the newest current records, as ids, newest first.

    Only records that the caller may read in full are found, and a fact only if its validity includes `now`. Only the
    last RECENT_WINDOW readable records are read, so older ones are never found. The caller is the one for whom the
    transaction was opened that runs the statement.
    """
    parameters = {
        "types": [int(memory_type) for memory_type in types],
        "now": now,
        "few": min(RECENT_WINDOW, FEW * limit),
        "window": RECENT_WINDOW,
        "limit": limit,
    }
    return sending("search_recent", parameters)


def searching_named_times(
    intervals: Sequence[Interval], terms: Sequence[int], *, types: Collection[MemoryType], now: datetime, limit: int
) -> Sending:
    """Return the statement that finds at most `limit` current records that occurred in one of the intervals, as ids.

    Of the newest RECENT_WINDOW readable ones of all intervals together, those with most of the terms are found, and of
    these the newest. Otherwise as `searching_recent`.
    """
    return sending("search_named_times", _named_times(intervals, terms, types=types, at=now, limit=limit))


async def search_named_times_at(
    connection: AsyncConnection,
    intervals: Sequence[Interval],
    terms: Sequence[int],
    *,
    types: Collection[MemoryType],
    at: datetime,
    limit: int,
) -> list[UUID]:
    """Return what `searching_named_times` finds of the records that were current at `at`."""
    parameters = _named_times(intervals, terms, types=types, at=at, limit=limit)
    return [row["id"] for row in await fetch(connection, "search_named_times_at", **parameters)]


def _named_times(
    intervals: Sequence[Interval], terms: Sequence[int], *, types: Collection[MemoryType], at: datetime, limit: int
) -> dict[str, Any]:
    return {
        "types": [int(memory_type) for memory_type in types],
        "at": at,
        "since": [since for since, _ in intervals],
        "until": [until for _, until in intervals],
        "terms": list(terms),
        "window": RECENT_WINDOW,
        "limit": limit,
    }


async def search_recent(
    connection: AsyncConnection, *, types: Collection[MemoryType], now: datetime, limit: int
) -> list[UUID]:
    """Return the ids of the records that `searching_recent` finds."""
    (rows,) = await fetch_together(connection, searching_recent(types=types, now=now, limit=limit))
    return [row["id"] for row in rows]


async def search_recent_at(
    connection: AsyncConnection, *, types: Collection[MemoryType], at: datetime, limit: int
) -> list[UUID]:
    """Return the ids of at most `limit` of the newest records that were current at `at`, newest first.

    Only the last RECENT_WINDOW readable records that existed then are read. Records that the caller could not read in
    full then, or may not now, are left out.
    """
    rows = await fetch(
        connection,
        "search_recent_at",
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
