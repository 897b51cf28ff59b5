"""Re-evaluate derived records whose support has changed, beyond the number that the changing transaction handles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.propagation.queue import JOB, reevaluate_due


@dataclass(frozen=True, slots=True, kw_only=True)
class ReevaluateConfig(JobConfig):
    """The interval and batch sizes of Reevaluate."""

    interval_s: float = 2.0
    batch: int = 100  # queued records in one transaction
    batches: int = 100  # transactions in one run


class Reevaluate:
    """Re-evaluates the queued derived records that are due. A record that cannot be re-evaluated is set aside."""

    name = JOB
    summary = "Re-evaluate derived records whose support has changed."

    def __init__(self, resources: Resources, config: ReevaluateConfig | None = None) -> None:
        self._database = resources.database
        self._directory = resources.directory
        self.config = config or ReevaluateConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Re-evaluate in `batches` transactions of `batch`; `more` if records may still be due."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        batch = await reevaluate_due(self._database, self._directory, now=now, batch=self.config.batch)
        return JobResult(
            counts={"records_reevaluated": batch.due - batch.set_aside, "set_aside": batch.set_aside},
            more=batch.due == self.config.batch,
        )
