"""Token buckets in Postgres, shared by all processes of a service.

A process leases tokens in slices and spends them without asking again. What a process that died had not spent when its
last lease began returns to the bucket when the lease expires.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run

LEASE_S = 5.0  # seconds for which a process may spend leased tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How fast a bucket fills, in tokens per second, and how many tokens it holds when full."""

    per_second: float
    burst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The answer of a bucket. `granted` is 0 where it has too few tokens; `available` are those that are left."""

    granted: float
    available: float


class RateBuckets:
    """The buckets of one database, as one process uses them. `process` identifies it among all."""

    def __init__(self, database: Database, process: UUID) -> None:
        self._database = database
        self._process = process

    async def lease(self, party: str, rate: Rate, *, needed: float, slice_: float, held: float) -> Lease:
        """Take `needed` tokens and lease up to `slice_` more for LEASE_S; take none if there are fewer than `needed`.

        `held` is what this process has left of its lease before, which ends. One statement. Raises StoreUnavailable.
        """
        async with self._database.background(Role.KEYS) as connection:
            (row,) = await fetch(
                connection,
                "lease_tokens",
                bucket=hashlib.sha256(party.encode()).digest(),
                process=self._process,
                held=held,
                needed=needed,
                slice=slice_,
                burst=rate.burst,
                rate=rate.per_second,
                lease_s=LEASE_S,
            )
        return Lease(granted=row["granted"], available=row["available"])

    async def delete_idle(self) -> int:
        """Delete the buckets that no process has used for a day; return their number."""
        async with self._database.background(Role.KEYS) as connection:
            return await run(connection, "delete_idle_buckets")
