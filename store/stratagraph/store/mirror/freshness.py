"""How far the mirror is behind Postgres. Every retrieval asks, so the answer is one statement, cached for CACHE_S."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

CACHE_S = 0.25
AVAILABLE_WITHIN_S = 0.5  # a retrieval waits no longer for this answer, and uses SQL without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far the mirror is behind Postgres for one tenant, according to Postgres.

    `whole` is False while the mirror is being filled; it must not answer then. `generation` and `snapshot` are the
    lowest that the mirror's own checkpoints must have; one that has lower ones was emptied or is an old copy.
    `changes` counts the changes that are not applied, up to 10,000; `seconds` is the age of the oldest unread snapshot,
    0 if there is none.
    """

    whole: bool
    generation: int
    snapshot: int
    changes: int
    seconds: float


class MirrorFreshness:
    """Reads the freshness of one mirror and caches it for CACHE_S seconds per tenant. One per process."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror
        self._known: dict[int, tuple[float, Freshness | None]] = {}

    async def of(self, tenant: int) -> Freshness | None:
        """Return the mirror's freshness for a tenant; None if no worker of the mirror has ever run.

        The answer may be up to CACHE_S seconds old. Raises StoreUnavailable.
        """
        known = self._known.get(tenant)
        if known is not None and time.monotonic() - known[0] < CACHE_S:
            return known[1]
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection, "mirror_freshness", consumer=self._mirror, tenant=tenant, shards=list(range(SHARDS))
            )
        found = Freshness(**rows[0]) if rows and rows[0]["snapshot"] is not None else None
        self._known[tenant] = (time.monotonic(), found)
        return found

    async def of_if_available(self, tenant: int) -> Freshness | None:
        """Return the same as `of`, and None also if Postgres does not answer within AVAILABLE_WITHIN_S seconds."""
        try:
            async with asyncio.timeout(AVAILABLE_WITHIN_S):
                return await self.of(tenant)
        except (StoreUnavailable, TimeoutError):
            return None
