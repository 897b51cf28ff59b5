"""Give the names and facts that an earlier release wrote the keys that captures compute now, once after an upgrade."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.memory.rekeying import JOB, rekey_batch


@dataclass(frozen=True, slots=True, kw_only=True)
class RekeyConfig(JobConfig):
    """The interval and batch sizes of Rekey."""

    interval_s: float = 60.0
    batch: int = 100  # entities and facts in one transaction
    batches: int = 100  # transactions in one run


class Rekey:
    """Gives old names and facts their new keys. A record that cannot be processed is set aside and tried again."""

    name = JOB
    summary = "After an upgrade, give older names and facts the keys that captures compute now."

    def __init__(self, resources: Resources, config: RekeyConfig | None = None) -> None:
        self._database = resources.database
        self._directory = resources.directory
        self.config = config or RekeyConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Process `batches` transactions of `batch` records; `more` if records may be left."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        done = await rekey_batch(self._database, self._directory, now=now, batch=self.config.batch)
        return JobResult(
            counts={"records_rekeyed": done.records - done.set_aside, "set_aside": done.set_aside}, more=done.more
        )
