"""Housekeeping: closes silent episodes, counts words for search, makes the log's days, trims the retrieval log.

Each pass costs what is due, never what is stored.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import socket
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import structlog

from stratagraph.store.clock import Clock
from stratagraph.store.database import Database, Role
from stratagraph.store.episodes import close_episodes, fetch_due
from stratagraph.store.errors import StoreUnavailable
from stratagraph.store.feed import trim_ticks
from stratagraph.store.partitions import make_days
from stratagraph.store.retrievals import KEPT, forget_retrievals
from stratagraph.store.tenancy import Directory
from stratagraph.store.word_counts import WordCounter
from stratagraph.store.writing import finish

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingConfig:
    """How often, and how much at once."""

    every_s: float = 2.0
    jitter: float = 0.2  # share of `every_s`, so that servers do not step in time
    batch: int = 100  # episodes closed in one transaction
    trim: int = 5_000  # retrievals and ticks dropped in one pass
    back_off_s: float = 30.0  # the longest pause while the database is away


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingResult:
    """What one pass did."""

    closed: int = 0
    counted: int = 0
    days_made: int = 0
    forgotten: int = 0


class Housekeeping:
    """One loop; any number of servers may run it."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, config: HousekeepingConfig) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._config = config
        self._words = WordCounter(database, owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
        self._days_made_on: date | None = None

    async def run(self) -> None:
        """Keep house until cancelled. An outage is logged once and waited out."""
        pause, away = 0.0, False
        while True:
            try:
                await self.run_once(self._clock.now())
                away, pause = False, self._config.every_s
            except StoreUnavailable as error:
                if not away:
                    _log.warning("housekeeping is waiting", reason=error.message)
                away, pause = True, min(self._config.back_off_s, max(1.0, pause * 2))
            except Exception as error:  # a defect in one chore must not take the API down with it
                _log.error("housekeeping failed", error=type(error).__name__)
                pause = self._config.back_off_s
            await asyncio.sleep(pause * random.uniform(1 - self._config.jitter, 1 + self._config.jitter))

    async def run_once(self, now: datetime) -> HousekeepingResult:
        """One pass. Raises StoreUnavailable; what was done by then is done."""
        days = 0
        if self._days_made_on != now.date():
            days = await make_days(self._database, now.date())
            self._days_made_on = now.date()
        closed = await self._close_silent(now)
        counted = await self._words.count_new()
        async with self._database.working(Role.JOBS) as connection:
            forgotten = await forget_retrievals(connection, before=now - KEPT, limit=self._config.trim)
            await trim_ticks(connection, limit=self._config.trim)
        return HousekeepingResult(closed=closed, counted=counted, days_made=days, forgotten=forgotten)

    async def _close_silent(self, now: datetime) -> int:
        closed = 0
        while True:
            async with self._database.working(Role.JOBS) as connection:
                due = await fetch_due(connection, now=now, limit=self._config.batch)
                by_tenant: dict[int, list[UUID]] = defaultdict(list)
                for owner, id_ in due:
                    by_tenant[owner].append(id_)
                for number, ids in sorted(by_tenant.items()):
                    tenant = await self._directory.tenant_by_id(number)
                    changes = await close_episodes(connection, self._directory, tenant, ids, at=now)
                    await finish(connection, tenant, changes)
            closed += len(due)
            if len(due) < self._config.batch:
                return closed
