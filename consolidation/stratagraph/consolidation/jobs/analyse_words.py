"""Give the records that an earlier release wrote the terms by which captures are found now, once after an upgrade."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.reanalysing import JOB, reanalyse_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyseWordsConfig(JobConfig):
    """The interval and batch sizes of AnalyseWords."""

    interval_s: float = 60.0
    batch: int = 200  # records in one transaction
    batches: int = 100  # transactions in one run


class AnalyseWords:
    """Adds terms to older records. A record that cannot be read is set aside and tried again."""

    name = JOB
    summary = "After an upgrade, add to older records the terms by which captures are found now."

    def __init__(self, resources: Resources, config: AnalyseWordsConfig | None = None) -> None:
        self._database = resources.database
        self._directory = resources.directory
        self.config = config or AnalyseWordsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Process `batches` transactions of `batch` records; `more` if records may be left."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        done = await reanalyse_batch(self._database, self._directory, now=now, batch=self.config.batch)
        return JobResult(
            counts={"records_analysed": done.records - done.set_aside, "set_aside": done.set_aside}, more=done.more
        )
