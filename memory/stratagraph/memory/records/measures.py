"""Measures of memory: what a caller may read, how it is distributed, and how useful it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from stratagraph.store.jobs.queues import count_tenant_queues
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.census import Counts, fetch_census
from stratagraph.store.search.outcomes import fetch_use


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measures of the records that a caller may read in full, as of `counted_at`; None before the first round.

    `usefulness` and `queues` are of the whole tenant, and None for a caller who may not read all of it. `mirror_lag_s`
    is None without a mirror.
    """

    counted_at: datetime | None
    total: Counts
    by_type: Mapping[MemoryType, Counts]
    usefulness: float | None
    queues: Mapping[str, int] | None
    mirror_lag_s: float | None

    @property
    def mean_salience(self) -> float | None:
        return share(self.total.salience, self.total.current)

    @property
    def mean_confidence(self) -> float | None:
        return share(self.total.confidence, self.total.current)

    @property
    def growth_rate(self) -> float | None:
        """The records of the last 24 hours, as a share of those from before."""
        return share(self.total.created_lately, self.total.records - self.total.created_lately)

    @property
    def competence_success_rate(self) -> float | None:
        return share(self.total.successes, self.total.successes + self.total.failures)

    @property
    def plan_reuse_frequency(self) -> float | None:
        """The mean number of executions of a plan."""
        return share(self.total.executions, self.total.plans)

    @property
    def contradiction_rate(self) -> float | None:
        """The share of the current records that are contested."""
        return share(self.total.contested, self.total.current)

    @property
    def revision_rate(self) -> float | None:
        """The share of all records that were revised or superseded."""
        return share(self.total.revised, self.total.records)


def share(part: float, whole: float) -> float | None:
    """Return part / whole to six digits, whatever the order in which it was added up; None without a whole."""
    return round(part / whole, 6) if whole else None


class Measures:
    """The service that measures memory for its callers."""

    def __init__(self, database: Database, directory: Directory, freshness: MirrorFreshness | None) -> None:
        self._database = database
        self._directory = directory
        self._freshness = freshness

    async def measure(self, trust: Trust) -> Measured:
        """Return the measures of what the caller may read in full. Raises Forbidden or StoreUnavailable."""
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        reads_all = caller.scopes is None and caller.ceiling is Sensitivity.HYPER
        async with self._database.reading(caller.bounds) as connection:
            census = await fetch_census(connection, caller)
            use = await fetch_use(connection, caller.tenant.id) if reads_all else None
        queues = await count_tenant_queues(self._database, caller.tenant.id) if reads_all else None
        lag = await self._freshness.if_available(caller.tenant.id, cached=True) if self._freshness is not None else None
        return Measured(
            counted_at=census.counted_at,
            total=Counts.total(census.by_type.values()),
            by_type=census.by_type,
            usefulness=use.usefulness if use is not None else None,
            queues=queues,
            mirror_lag_s=lag.seconds if lag is not None else None,
        )
