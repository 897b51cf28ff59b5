"""The gates of authentication: how many requests one presented credential, and how many failed attempts one client
network, may send to one process a second.

Checking a credential costs a transaction, so a flood of requests would cost the others dearly even if each were refused
afterwards. The gate keeps no credential, only a hash of what was presented, valid or not.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass

from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.model.errors import RateLimited

MAX_REMEMBERED = 10_000  # presented credentials; the longest unused are forgotten
DELAY_S = 1.0  # seconds for which an answer that refuses is held back at most, to slow down clients that ask at once
MAX_DELAYED = 500  # answers of one process that are held back at a time; further ones are sent at once
_TOO_MANY = "This credential sends more than {rate:g} requests a second; wait, or join several into one operation."


@dataclass(slots=True)
class _Level:
    tokens: float
    at: float


class Gate:
    """Counts requests by presented credential. Belongs to one event loop."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._levels: dict[bytes, _Level] = {}  # the longest unused first
        self._delayed = 0

    def pass_(self, presented: str, *, what: str = _TOO_MANY) -> None:
        """Count a request. Raises RateLimited, saying `what`, if its credential sends more than the rate allows."""
        now, key = time.monotonic(), hashlib.sha256(presented.encode()).digest()
        level = self._levels.pop(key, None) or _Level(self._rate.burst, now)
        level.tokens = min(self._rate.burst, level.tokens + (now - level.at) * self._rate.per_second)
        level.at = now
        self._levels[key] = level
        if len(self._levels) > MAX_REMEMBERED:
            del self._levels[next(iter(self._levels))]
        if level.tokens < 1:
            raise RateLimited(
                what.format(rate=self._rate.per_second),
                retry_after_s=(1 - level.tokens) / self._rate.per_second,
            )
        level.tokens -= 1

    async def delayed(self, error: RateLimited) -> RateLimited:
        """Wait a while, up to the time after which the client may come back; return the error with the time left."""
        if self._delayed >= MAX_DELAYED:
            return error
        delay_s = min(DELAY_S, error.retry_after_s)
        self._delayed += 1
        try:
            await asyncio.sleep(delay_s)
        finally:
            self._delayed -= 1
        return RateLimited(error.message, retry_after_s=max(0.001, error.retry_after_s - delay_s))
