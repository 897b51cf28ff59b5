"""The change log's days: made well ahead, dropped once everybody has read them, each with a short lock, so that no
writer ever waits for one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import structlog
from sqlalchemy import text

from stratagraph.store.model.errors import StatementFailed, StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

DAYS_AHEAD = 7
KEPT = timedelta(days=7)  # for how long a consumer may stay away and still find its place
_DAY = re.compile(r"sync_log_(\d{8})$")
LOCK_TIMEOUT_MS = 1_000
_log = structlog.get_logger(__name__)


async def make_days(database: Database, today: date) -> int:
    """Make the partitions of today and the week to come, with what was logged before they were there; returns how many
    were missing."""
    days = {f"sync_log_{day:%Y%m%d}": day for day in (today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1))}
    async with database.background(Role.MAINTENANCE) as connection:
        rows = await connection.execute(
            text("SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE to_regclass(name) IS NULL"),
            {"names": list(days)},
        )
        missing = [row.name for row in rows]
    return sum([await _make(database, name, days[name]) for name in missing])


async def _make(database: Database, name: str, day: date) -> int:
    try:
        async with database.background(Role.MAINTENANCE) as connection:
            await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            await connection.execute(text("LOCK TABLE sync_log_default"))
            await connection.execute(
                text("CREATE TEMP TABLE strays ON COMMIT DROP AS SELECT * FROM sync_log_default WHERE day = :day"),
                {"day": day},
            )
            await connection.execute(text("DELETE FROM sync_log_default WHERE day = :day"), {"day": day})
            await connection.execute(
                text(
                    f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF sync_log"
                    f" FOR VALUES FROM ('{day.isoformat()}') TO ('{(day + timedelta(days=1)).isoformat()}')"
                )
            )
            moved = f"INSERT INTO {name} OVERRIDING SYSTEM VALUE SELECT * FROM strays"  # noqa: S608 - a name of ours
            await connection.execute(text(moved))
    except (StoreUnavailable, StatementFailed) as error:
        _log.warning("day of the change log not made", day=day.isoformat(), error=type(error.__cause__).__name__)
        return 0
    return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What went: days of the log, rows that had no day, consumers that had stayed away for too long."""

    days: int = 0
    strays: int = 0
    stale: tuple[str, ...] = ()


async def drop_days(database: Database, today: date) -> Dropped:
    """Drop the days before yesterday that every consumer has read. What a long transaction still writes into such a
    day goes to the default partition, and is read from there."""
    async with database.background(Role.MAINTENANCE) as connection:
        before = datetime.combine(today, time(), UTC) - KEPT
        stale = tuple(
            sorted({row["consumer"] for row in await fetch(connection, "forget_stale_cursors", before=before)})
        )
        if stale:
            _log.warning("consumers stayed away for too long and will read everything afresh", consumers=stale)
        strays = len(await fetch(connection, "delete_default_rows", day=today - timedelta(days=1)))
        rows = await fetch(connection, "list_log_days")
        horizon: str = (await fetch(connection, "read_horizon"))[0]["horizon"]
    days = [
        row["name"]
        for row in rows
        if (found := _DAY.match(row["name"]))
        and datetime.strptime(found[1], "%Y%m%d").date() < today - timedelta(days=1)  # noqa: DTZ007 - a day's name, of no zone
    ]
    return Dropped(days=sum([await _drop(database, name, horizon) for name in days]), strays=strays, stale=stale)


async def _drop(database: Database, name: str, horizon: str) -> int:
    try:
        async with database.background(Role.MAINTENANCE) as connection:
            unread = text(f"SELECT EXISTS (SELECT FROM {name} WHERE xid >= CAST(:horizon AS xid8))")  # noqa: S608 - a name of ours
            if (await connection.execute(unread, {"horizon": horizon})).scalar_one():
                return 0
            await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            await connection.execute(text(f"DROP TABLE {name}"))
    except (StoreUnavailable, StatementFailed) as error:
        _log.warning("day of the change log not dropped", name=name, error=type(error.__cause__).__name__)
        return 0
    return 1


async def count_strays(database: Database) -> int:
    """Rows of the log that found no day, to 1,000: more than none says that days are not made in time."""
    async with database.background(Role.MAINTENANCE) as connection:
        return int((await fetch(connection, "count_default_rows"))[0]["strays"])
