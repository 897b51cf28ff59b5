"""Create the daily partitions of the change log ahead of time, and drop those that every consumer has read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.postgres.partitions import drop_days, make_days


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDaysConfig(JobConfig):
    """The interval of LogDays. A partition that could not be created or dropped is tried again in the next run."""

    interval_s: float = 3_600.0


class LogDays:
    """Creates the partitions of today and the next 7 days; drops earlier ones that all consumers have read."""

    name = "log-days"
    summary = "Create and drop the daily partitions of the change log."

    def __init__(self, resources: Resources, config: LogDaysConfig | None = None) -> None:
        self._database = resources.database
        self.config = config or LogDaysConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Create and drop partitions by the UTC day of `now`."""
        created = await make_days(self._database, now.date())
        dropped = await drop_days(self._database, now.date())
        return JobResult(counts={"days_created": created, "days_dropped": dropped.days})
