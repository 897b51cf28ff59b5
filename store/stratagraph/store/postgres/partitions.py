"""The daily partitions of the change log.

They are created a week ahead and dropped once every consumer has read them and every stored snapshot sees them, each
under a short lock timeout, so that no writer waits long for the lock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import text

from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import StatementFailed, StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

DAYS_AHEAD = 7
KEPT = timedelta(days=7)  # how long a consumer may stay away before its cursors are deleted, if it can read all again
LOCK_TIMEOUT_MS = 1_000
_DAY = re.compile(r"sync_log_(\d{8})$")
_log = get_logger(__name__)


async def make_days(database: Database, today: date) -> int:
    """Create the missing partitions of today and the next DAYS_AHEAD days, and return the number created.

    Rows of these days that are in the default partition are moved. A partition that cannot be created, for example
    because its lock is not granted in time, is logged and skipped; the next call tries it again.
    """
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
            # In the order in which a reader of the log locks them; otherwise the two would wait for each other.
            await connection.execute(text("LOCK TABLE ONLY sync_log"))
            await connection.execute(text("LOCK TABLE sync_log_default"))
            await connection.execute(
                text("CREATE TEMP TABLE moved_rows ON COMMIT DROP AS SELECT * FROM sync_log_default WHERE day = :day"),
                {"day": day},
            )
            await connection.execute(text("DELETE FROM sync_log_default WHERE day = :day"), {"day": day})
            await connection.execute(
                text(
                    f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF sync_log"
                    f" FOR VALUES FROM ('{day.isoformat()}') TO ('{(day + timedelta(days=1)).isoformat()}')"
                )
            )
            insert = f"INSERT INTO {name} OVERRIDING SYSTEM VALUE SELECT * FROM moved_rows"  # noqa: S608 - our own name
            await connection.execute(text(insert))
    except (StoreUnavailable, StatementFailed) as error:
        _log.warning(
            "partition of the change log not created", day=day.isoformat(), error=type(error.__cause__).__name__
        )
        return 0
    return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What one call of `drop_days` removed from the change log: partitions, rows and cursors.

    `days` counts the partitions, `default_rows` the rows deleted from the default partition. `stale` names the
    consumers whose cursors were deleted because they had not read for longer than KEPT.
    """

    days: int = 0
    default_rows: int = 0
    stale: tuple[str, ...] = ()


async def drop_days(database: Database, today: date) -> Dropped:
    """Drop the partitions of days before yesterday that every consumer has read and every stored snapshot sees.

    Also deletes the cursors of consumers that have not read for longer than KEPT and can read all rows again, and old
    rows of the default partition. A partition whose lock is not granted in time is logged and skipped. A row that a
    long transaction writes for a dropped day is stored in the default partition and read from there.
    """
    async with database.background(Role.MAINTENANCE) as connection:
        before = datetime.combine(today, time(), UTC) - KEPT
        stale = tuple(
            sorted({row["consumer"] for row in await fetch(connection, "delete_stale_cursors", before=before)})
        )
        if stale:
            _log.warning(
                "cursors of inactive consumers were deleted; these consumers will read everything again",
                consumers=stale,
            )
        default_rows = len(await fetch(connection, "delete_default_rows", day=today - timedelta(days=1)))
        rows = await fetch(connection, "list_log_days")
        horizon: str = (await fetch(connection, "read_horizon"))[0]["horizon"]
    days = [
        row["name"]
        for row in rows
        if (found := _DAY.match(row["name"]))
        and datetime.strptime(found[1], "%Y%m%d").date() < today - timedelta(days=1)  # noqa: DTZ007 - a date only
    ]
    return Dropped(
        days=sum([await _drop(database, name, horizon) for name in days]), default_rows=default_rows, stale=stale
    )


async def _drop(database: Database, name: str, horizon: str) -> int:
    try:
        async with database.background(Role.MAINTENANCE) as connection:
            unread = text(f"SELECT EXISTS (SELECT FROM {name} WHERE xid >= CAST(:horizon AS xid8))")  # noqa: S608 - our own name
            if (await connection.execute(unread, {"horizon": horizon})).scalar_one():
                return 0
            await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            await connection.execute(text(f"DROP TABLE {name}"))
    except (StoreUnavailable, StatementFailed) as error:
        _log.warning("partition of the change log not dropped", name=name, error=type(error.__cause__).__name__)
        return 0
    return 1


async def count_default_rows(database: Database) -> int:
    """Return the number of rows in the default partition, counted up to 1,000.

    More than 0 means that partitions are not created in time.
    """
    async with database.background(Role.MAINTENANCE) as connection:
        return int((await fetch(connection, "count_default_rows"))[0]["rows"])
