"""Counts of what is stored, by scope, sensitivity and type.

Salience falls with time, so that no counter that writers maintain can say how it is distributed. A job counts the
records instead, a page after the other, and starts again some time after it has been through. A request adds up the
rows of its caller's scopes and levels: a few for each of them, however many records they have.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, Self

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

LATELY = timedelta(hours=24)  # in which records count as new
ABANDONED = timedelta(hours=1)  # after which a round that was not finished begins anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of records. Those after `audit_entries`, and `pinned`, are of current records: active or contested ones.

    `revised` are those of a version above 1, or superseded; `created_lately` those of the last 24 hours;
    `audit_entries` is the sum over the records that exist. `fifth_1` to `fifth_5` divide salience into ranges of 0.2.
    `confidence` and `salience` are sums. `successes` and `failures` are what competences count, `executions` what
    `plans` do, in payloads that are not sealed.
    """

    records: int = 0
    active: int = 0
    contested: int = 0
    pinned: int = 0
    revised: int = 0
    created_lately: int = 0
    audit_entries: int = 0
    fifth_1: int = 0
    fifth_2: int = 0
    fifth_3: int = 0
    fifth_4: int = 0
    fifth_5: int = 0
    confidence: float = 0.0
    salience: float = 0.0
    successes: float = 0.0
    failures: float = 0.0
    executions: float = 0.0
    plans: float = 0.0

    @classmethod
    def total(cls, parts: Iterable[Counts]) -> Self:
        """Return the sums of all counts."""
        listed = list(parts)
        return cls(**{one.name: sum(getattr(part, one.name) for part in listed) for one in fields(cls)})

    @property
    def current(self) -> int:
        return self.active + self.contested

    @property
    def fifths(self) -> tuple[int, ...]:
        return (self.fifth_1, self.fifth_2, self.fifth_3, self.fifth_4, self.fifth_5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """The counts of the last complete round, by type, and the instant as of which it counted; None before the first."""

    counted_at: datetime | None
    by_type: Mapping[MemoryType, Counts]


@dataclass(frozen=True, slots=True, kw_only=True)
class CensusState:
    """How far the present round is: `started_at` is None between two. `took_s` is the time that the last one took."""

    started_at: datetime | None
    after_tenant: int | None
    after_id: Any
    work_s: float
    counted_at: datetime | None
    finished_at: datetime | None
    took_s: float

    def may_begin(self, now: datetime, *, pause: timedelta, rest: float) -> bool:
        """Return whether the next round may begin: after the pause, and `rest` times as long as the last one took."""
        if self.started_at is not None:
            return not timedelta() <= now - self.started_at < ABANDONED
        if self.finished_at is None or self.finished_at > now:
            return True
        return now - self.finished_at >= max(pause, timedelta(seconds=rest * self.took_s))


async def fetch_census_state(database: Database) -> CensusState:
    """Return how far the present round is. Raises StoreUnavailable."""
    async with database.background(Role.JOBS) as connection:
        return CensusState(**(await fetch(connection, "fetch_census_state"))[0])


async def begin_census(database: Database, now: datetime) -> None:
    """Begin a round, which counts as of `now`."""
    async with database.background(Role.JOBS) as connection:
        await run(connection, "begin_census", now=now)


async def count_page(database: Database, *, limit: int, now: datetime) -> bool:
    """Count the next `limit` records of the round in one transaction; return whether there may be more.

    The round is finished with its last page: its counts then take the place of those before, all at once.
    """
    began = time.perf_counter()
    async with database.background(Role.JOBS) as connection:
        state = CensusState(**(await fetch(connection, "fetch_census_state"))[0])
        if state.started_at is None:
            return False  # another process has finished the round since it was begun
        rows = await fetch(
            connection,
            "count_records",
            after_tenant=state.after_tenant,
            after_id=state.after_id,
            at=state.started_at,
            lately=state.started_at - LATELY,
            limit=limit,
        )
        if rows:
            seconds = time.perf_counter() - began
            await run(
                connection, "move_census", after_tenant=rows[0]["tenant"], after_id=rows[0]["id"], seconds=seconds
            )
        if rows and rows[0]["counted"] == limit:
            return True
        await run(connection, "finish_census", now=now)
        await run(connection, "show_census")
        return False


async def fetch_census(connection: AsyncConnection, caller: Caller) -> Census:
    """Return the counts of the records that the caller may read in full."""
    rows = await fetch(connection, "fetch_census", **caller.parameters())
    return _census(rows, await fetch(connection, "fetch_census_state"))


async def fetch_census_of_all(database: Database) -> Census:
    """Return the counts of the records of all tenants. Raises StoreUnavailable."""
    async with database.background(Role.JOBS) as connection:
        rows = await fetch(connection, "fetch_census_of_all")
        return _census(rows, await fetch(connection, "fetch_census_state"))


def _census(rows: Iterable[Mapping[str, Any]], state: Iterable[Mapping[str, Any]]) -> Census:
    by_type = {MemoryType(row["type"]): Counts(**{one.name: row[one.name] for one in fields(Counts)}) for row in rows}
    return Census(counted_at=next(iter(state))["counted_at"], by_type=by_type)
