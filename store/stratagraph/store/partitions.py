"""The change log's days: made well ahead, each with a short lock, so that no writer ever waits for one."""

from __future__ import annotations

from datetime import date, timedelta

import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from stratagraph.store.database import Database, Role

DAYS_AHEAD = 7
LOCK_TIMEOUT_MS = 1_000
_log = structlog.get_logger(__name__)


async def make_days(database: Database, today: date) -> int:
    """Make the partitions of today and the week to come; returns how many were missing.

    A day whose rows already lie in the default partition stays there: nothing is lost, it is only dropped later.
    """
    days = {f"sync_log_{day:%Y%m%d}": day for day in (today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1))}
    async with database.working(Role.MAINTENANCE) as connection:
        rows = await connection.execute(
            text("SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE to_regclass(name) IS NULL"),
            {"names": list(days)},
        )
        missing = [row.name for row in rows]
    return sum([await _make(database, name, days[name]) for name in missing])


async def _make(database: Database, name: str, day: date) -> int:
    try:
        async with database.working(Role.MAINTENANCE) as connection:
            await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            await connection.execute(
                text(
                    f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF sync_log"
                    f" FOR VALUES FROM ('{day.isoformat()}') TO ('{(day + timedelta(days=1)).isoformat()}')"
                )
            )
    except DBAPIError as error:
        _log.warning("day of the change log not made", day=day.isoformat(), error=type(error.orig).__name__)
        return 0
    return 1
