"""How fresh the mirror is, as readers ask on every request: one statement, remembered for a moment."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch

REMEMBERED_S = 0.25
SOON_S = 0.5  # else the mirror is left out of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What the truth knows of its mirror, for one tenant.

    `whole` is False while the mirror is being filled, and then it must not answer. `generation` and `tick` are the
    least that the mirror itself must show: one that shows less was emptied or is an old copy. `changes` is counted
    to 10,000; `seconds` is the age of the oldest change that is not applied, 0 when none waits.
    """

    whole: bool
    generation: int
    tick: int
    changes: int
    seconds: float


class MirrorFreshness:
    """Answers from memory for REMEMBERED_S. One per process."""

    def __init__(self, database: Database, mirror: str) -> None:
        self._database = database
        self._mirror = mirror
        self._known: dict[int, tuple[float, Freshness | None]] = {}

    async def of(self, tenant: int) -> Freshness | None:
        """None where no worker has ever begun. Raises StoreUnavailable."""
        known = self._known.get(tenant)
        if known is not None and time.monotonic() - known[0] < REMEMBERED_S:
            return known[1]
        async with self._database.background(Role.FEED) as connection:
            rows = await fetch(
                connection, "mirror_freshness", consumer=self._mirror, tenant=tenant, shards=list(range(SHARDS))
            )
        found = Freshness(**rows[0]) if rows and rows[0]["tick"] is not None else None
        self._known[tenant] = (time.monotonic(), found)
        return found

    async def soon(self, tenant: int) -> Freshness | None:
        """As `of`, and None too while the background's connections are busy: no answer waits for that."""
        try:
            async with asyncio.timeout(SOON_S):
                return await self.of(tenant)
        except (StoreUnavailable, TimeoutError):
            return None
