"""The budgets of one process: tokens leased from the buckets that all processes share.

Most operations are paid from the lease without a round trip to the database. A credential that is refused is refused
again without one until its bucket can have filled.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from math import ceil, floor

from stratagraph.store.keys.rate_buckets import LEASE_S, Rate, RateBuckets
from stratagraph.store.model.errors import LimitExceeded, RateLimited, StoreUnavailable

SLICES = 20  # of a full bucket: a process leases at most one at a time beyond what it needs
LEASE_MARGIN_S = 0.5  # seconds before its end from which a lease is not spent, since the clocks' rates may differ
KNOWN_EMPTY_S = 1.0  # seconds for which a bucket is believed to have no more than it had, plus what flows in
MAX_BUDGETS = 10_000  # credentials whose leases are remembered
IDLE_S = 3_600.0  # seconds between two deletions of idle buckets


@dataclass(slots=True)
class _Budget:
    """What a process knows of one bucket. Times are on the clock of `time.monotonic`."""

    tokens: float = 0.0  # leased and not spent
    ends_at: float = 0.0  # of the lease
    elsewhere: float = 0.0  # tokens in the bucket itself when it was last asked
    asked_at: float = 0.0
    refused: bool = False
    owed: float = 0.0  # for what operations read beyond their cost; paid with the next one
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def believed(self, rate: Rate, now: float) -> float:
        """Return the tokens that the party can spend, as far as this process knows."""
        return min(rate.burst, self.tokens + self.elsewhere + rate.per_second * (now - self.asked_at))


class Budgets:
    """Spends tokens of parties. Safe to call from many tasks of one event loop."""

    def __init__(self, buckets: RateBuckets) -> None:
        self._buckets = buckets
        self._budgets: dict[str, _Budget] = {}  # the longest unused first
        self._cleaned_at = time.monotonic()

    async def spend(self, party: str, cost: float, rate: Rate) -> float:
        """Take `cost` tokens and those that are owed; return how many are left.

        Raises RateLimited, saying when to come back, and LimitExceeded if not even a full bucket has so many; both take
        nothing. While the database cannot be reached, operations run unpaid: they need it themselves, but for `health`,
        which must be answered then.
        """
        if cost > rate.burst:
            raise LimitExceeded(
                f"The operation costs {ceil(cost):,} points and one may cost at most {floor(rate.burst):,}: lower its"
                " limits, select fewer fields, or send its parts one after another."
            )
        budget = self._budget(party)
        async with budget.lock:
            now = time.monotonic()
            needed = min(rate.burst, cost + budget.owed)
            if now < budget.ends_at and budget.tokens >= needed:
                budget.tokens -= needed
                budget.owed = 0.0
                return budget.believed(rate, now)
            believed = budget.believed(rate, now)
            if budget.refused and now < budget.asked_at + KNOWN_EMPTY_S and believed < needed:
                raise _rate_limited(needed, cost, believed, rate)
            held, budget.tokens, budget.ends_at = budget.tokens, 0.0, 0.0
            try:
                lease = await self._buckets.lease(party, rate, needed=needed, slice_=rate.burst / SLICES, held=held)
            except StoreUnavailable:
                return believed
            budget.asked_at = now
            budget.refused = not lease.granted
            if budget.refused:
                budget.elsewhere = lease.available
                raise _rate_limited(needed, cost, lease.available, rate)
            budget.owed = 0.0
            budget.tokens, budget.ends_at = lease.granted - needed, now + LEASE_S - LEASE_MARGIN_S
            budget.elsewhere = lease.available - budget.tokens
        await self._clean(now)
        return lease.available

    def give_back(self, party: str, cost: float) -> None:
        """Return what was spent on an operation that was not run."""
        budget = self._budgets.get(party)
        if budget is not None and time.monotonic() < budget.ends_at:
            budget.tokens += cost

    def owe(self, party: str, points: float, rate: Rate) -> None:
        """Add `points` to the cost of the party's next operation; all that is owed is at most half a full bucket."""
        budget = self._budget(party)
        budget.owed = min(rate.burst / 2, budget.owed + points)

    def _budget(self, party: str) -> _Budget:
        budget = self._budgets.pop(party, None) or _Budget()
        self._budgets[party] = budget
        if len(self._budgets) > MAX_BUDGETS:
            oldest = next(iter(self._budgets))
            if not self._budgets[oldest].lock.locked():
                del self._budgets[oldest]  # its lease expires in the database
        return budget

    async def _clean(self, now: float) -> None:
        if now >= self._cleaned_at + IDLE_S:
            self._cleaned_at = now
            await self._buckets.delete_idle()


def _rate_limited(needed: float, cost: float, available: float, rate: Rate) -> RateLimited:
    # Rounded up and down, so that what is left never reads as enough.
    owed = f", {ceil(needed - cost):,} of them for what the last one read beyond its cost," if needed > cost else ""
    return RateLimited(
        f"The operation costs {ceil(needed):,} points{owed} and the credential has {floor(available):,} left: try again"
        " after `retryAfter` seconds, or ask for less.",
        retry_after_s=max(0.001, (needed - available) / rate.per_second),
    )
