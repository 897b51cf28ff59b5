"""How far the mirror is behind Postgres. Every question to the mirror asks; one statement answers those that wait."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

CACHE_S = 0.25  # seconds for which an answer is reused where the mirror is not read
AVAILABLE_WITHIN_S = 0.5  # a question waits no longer for this answer, and uses SQL without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far the mirror is behind Postgres for one tenant, according to Postgres.

    `whole` is False while the mirror is being filled; it must not answer then. `refused` is True while the mirror lacks
    changes of the tenant that Neo4j refused (dead letters), and `damaged` while it is known to differ from Postgres, of
    any tenant, beyond the changes that it has not applied. `generation` and `snapshot` are the lowest that the
    mirror's own checkpoints must have; one that has lower ones was emptied or is an old copy. `seconds` is at least the
    age of every change that the mirror has not applied, counted from its commit; 0 if there is none.
    """

    whole: bool
    generation: int
    snapshot: int
    seconds: float
    refused: bool = False
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class _Measured:
    """A measurement, and when it began, in seconds of the monotonic clock."""

    began_at: float
    freshness: Freshness | None


class MirrorFreshness:
    """Measures the freshness of one mirror. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror
        self._last: dict[int, _Measured] = {}
        self._locks: dict[int, asyncio.Lock] = {}

    async def now(self, tenant: int) -> Freshness | None:
        """Return the mirror's freshness for a tenant, measured after the call; None if no worker has ever run.

        Of several calls at a time, those that wait share one measurement. Raises StoreUnavailable.
        """
        asked_at = time.monotonic()
        async with self._locks.setdefault(tenant, asyncio.Lock()):
            last = self._last.get(tenant)
            if last is None or last.began_at < asked_at:
                began_at = time.monotonic()
                async with self._database.background(Role.FEED) as connection:
                    rows = await fetch(
                        connection, "mirror_freshness", consumer=self._mirror, tenant=tenant, shards=list(range(SHARDS))
                    )
                found = Freshness(**rows[0]) if rows and rows[0]["snapshot"] is not None else None
                last = self._last[tenant] = _Measured(began_at, found)
        return last.freshness

    async def of(self, tenant: int) -> Freshness | None:
        """Return the same as `now`, or an answer that is up to CACHE_S seconds old, whose age is added to `seconds`.

        So `seconds` is never too low: what was committed since that measurement is no older than the measurement.
        """
        last = self._last.get(tenant)
        age_s = time.monotonic() - last.began_at if last is not None else CACHE_S
        if last is None or age_s >= CACHE_S:
            return await self.now(tenant)
        return replace(last.freshness, seconds=last.freshness.seconds + age_s) if last.freshness is not None else None

    async def if_available(self, tenant: int, *, cached: bool) -> Freshness | None:
        """Return the same as `of` or, unless `cached`, as `now`.

        None also if Postgres does not answer within AVAILABLE_WITHIN_S seconds.
        """
        try:
            async with asyncio.timeout(AVAILABLE_WITHIN_S):
                return await (self.of(tenant) if cached else self.now(tenant))
        except (StoreUnavailable, TimeoutError):
            return None
