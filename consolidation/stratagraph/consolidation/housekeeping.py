"""Housekeeping: closes silent episodes, re-evaluates what lost support, prunes what has faded, counts words for
search, makes the log's days, trims the retrieval log.

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
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from stratagraph.memory.artifacts import Artifacts
from stratagraph.memory.episodes import close_episodes
from stratagraph.memory.reevaluating import reevaluate_due
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.feed.snapshots import trim_ticks
from stratagraph.store.keys.tenancy import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.partitions import drop_days, make_days
from stratagraph.store.records.episodes import fetch_due
from stratagraph.store.records.writing import finish
from stratagraph.store.search.retrievals import KEPT, forget_retrievals
from stratagraph.store.search.word_counts import WordCounter

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingConfig:
    """How often, and how much at once."""

    every_s: float = 2.0
    jitter: float = 0.2  # share of `every_s`, so that servers do not step in time
    batch: int = 100  # episodes closed in one transaction
    trim: int = 5_000  # retrievals and ticks dropped in one pass
    days_every_s: float = 3_600.0  # the log's days: what could not be made or dropped is tried again
    prune_every_s: float = 3_600.0  # what fades, fades slowly
    prune_batch: int = 200  # records pruned in one transaction
    prune_batches: int = 50  # in one pass, so that the other chores are not kept waiting; the next pass goes on
    back_off_s: float = 30.0  # the longest pause while the database is away


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingResult:
    """What one pass did."""

    closed: int = 0
    reevaluated: int = 0
    pruned: int = 0
    counted: int = 0
    days_made: int = 0
    forgotten: int = 0
    removed: int = 0  # objects of artifacts that nobody needs


class Housekeeping:
    """One loop; any number of servers may run it."""

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        config: HousekeepingConfig,
        *,
        artifacts: Artifacts | None = None,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._config = config
        self._artifacts = artifacts
        self._words = WordCounter(database, owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}")
        self._next_days: datetime | None = None
        self._next_prune: datetime | None = None

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
        days = await self._days(now)
        closed = await self._close_silent(now)
        reevaluated = await self._reevaluate(now)
        pruned = await self._prune(now)
        counted = await self._words.count_new()
        async with self._database.background(Role.JOBS) as connection:
            forgotten = await forget_retrievals(connection, before=now - KEPT, limit=self._config.trim)
            await trim_ticks(connection, limit=self._config.trim)
        removed = await self._artifacts.sweep() if self._artifacts is not None else 0
        return HousekeepingResult(
            closed=closed,
            reevaluated=reevaluated,
            pruned=pruned,
            counted=counted,
            days_made=days,
            forgotten=forgotten,
            removed=removed,
        )

    async def _days(self, now: datetime) -> int:
        """Make the days of the change log that are to come, drop those that everybody has read; how many were made."""
        if self._next_days is not None and now < self._next_days:
            return 0
        made = await make_days(self._database, now.date())
        await drop_days(self._database, now.date())
        self._next_days = now + timedelta(seconds=self._config.days_every_s)
        return made

    async def _reevaluate(self, now: datetime) -> int:
        """Look at derived records whose support has changed and that one write had no room for."""
        looked_at = 0
        while True:
            done = await reevaluate_due(self._database, self._directory, now=now, batch=self._config.batch)
            looked_at += done
            if done < self._config.batch:
                return looked_at

    async def _prune(self, now: datetime) -> int:
        """Prune what is due, if it is time to: the first pass of a process does, and then one every `prune_every_s`."""
        if self._next_prune is not None and now < self._next_prune:
            return 0
        pruned = 0
        for _ in range(self._config.prune_batches):
            async with self._database.background(Role.ERASE) as connection:
                batch = await prune_due(connection, self._directory, now=now, limit=self._config.prune_batch)
            pruned += batch.pruned
            if batch.is_done:
                self._next_prune = now + timedelta(seconds=self._config.prune_every_s)
                break
        return pruned

    async def _close_silent(self, now: datetime) -> int:
        closed = 0
        while True:
            async with self._database.background(Role.JOBS) as connection:
                due = await fetch_due(connection, now=now, limit=self._config.batch)
                at = max(now, self._clock.now())  # after its locks: from then on a reader of the past waits for it
                by_tenant: dict[int, list[UUID]] = defaultdict(list)
                for owner, id_ in due:
                    by_tenant[owner].append(id_)
                for number, ids in sorted(by_tenant.items()):
                    tenant = await self._directory.tenant_by_id(number)
                    changes = await close_episodes(connection, self._directory, tenant, ids, at=at)
                    await finish(connection, tenant, changes)
            closed += len(due)
            if len(due) < self._config.batch:
                return closed
