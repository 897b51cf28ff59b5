"""Link records that named an entity before it existed, or before its name was unambiguous."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.revise.linking import JOB, link_due


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkNamesConfig(JobConfig):
    """The interval and batch sizes of LinkNames."""

    interval_s: float = 5.0
    batch: int = 50  # queued entities in one transaction
    batches: int = 100  # transactions in one run


class LinkNames:
    """Links earlier records to the queued entities. An entity that cannot be processed is set aside."""

    name = JOB
    summary = "Link earlier records to entities that have appeared or learned a name."

    def __init__(self, resources: Resources, config: LinkNamesConfig | None = None) -> None:
        self._database = resources.database
        self._directory = resources.directory
        self.config = config or LinkNamesConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Process `batches` transactions of `batch` entities; `more` if entities may still be queued."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        batch = await link_due(self._database, self._directory, now=now, batch=self.config.batch)
        return JobResult(
            counts={"entities_linked": batch.due - batch.set_aside, "set_aside": batch.set_aside},
            more=batch.due == self.config.batch,
        )
