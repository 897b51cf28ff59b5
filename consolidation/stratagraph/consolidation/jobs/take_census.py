"""Count what is stored, for the measures of memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.records.census import begin_census, count_page, fetch_census_state


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeCensusConfig(JobConfig):
    """The interval, page size and pace of TakeCensus."""

    interval_s: float = 10.0
    page: int = 5_000  # records in one transaction
    pages: int = 20  # transactions in one run
    rest: float = 300.0  # a round begins after so many times the time of the last one, so that it takes 0.3 % of a core


class TakeCensus:
    """Counts all records in rounds, each a page after the other. What it counts is no news, so it reports no counts."""

    name = "take-census"
    summary = "Count what is stored, for metrics: by scope, sensitivity and type, in rounds through all records."

    def __init__(self, resources: Resources, config: TakeCensusConfig | None = None) -> None:
        self._database = resources.database
        self.config = config or TakeCensusConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Go on with the round, or begin one if it is due; `more` if records are left to count."""
        state = await fetch_census_state(self._database)
        may_begin = state.may_begin(now, pause=timedelta(seconds=self.config.interval_s), rest=self.config.rest)
        if state.started_at is None and not may_begin:
            return JobResult()
        if may_begin:
            await begin_census(self._database, now)
        for _ in range(self.config.pages):
            if not await count_page(self._database, limit=self.config.page, now=now):
                return JobResult()
        return JobResult(more=True)
