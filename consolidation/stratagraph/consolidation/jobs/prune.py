"""Prune records whose salience has decayed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources, repeat
from stratagraph.store.erasure.pruning import JOB, prune_due
from stratagraph.store.event_log import get_logger
from stratagraph.store.postgres.database import Role

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneConfig(JobConfig):
    """The interval and batch sizes of Prune."""

    interval_s: float = 3_600.0  # half-lives are hours and days
    batch: int = 200  # records pruned in one transaction
    batches: int = 50  # transactions in one run; the next run follows at once where more is due


class Prune:
    """Prunes records that are due, the longest due first. A record without a computable due instant is set aside."""

    name = JOB
    summary = "Prune records whose salience has decayed."

    def __init__(self, resources: Resources, config: PruneConfig | None = None) -> None:
        self._database = resources.database
        self._directory = resources.directory
        self._keep_unlearned = resources.keep_unlearned
        self.config = config or PruneConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Prune in `batches` transactions of `batch`; `more` if records may still be due."""
        return await repeat(lambda: self._batch(now), times=self.config.batches)

    async def _batch(self, now: datetime) -> JobResult:
        async with self._database.background(Role.ERASE) as connection:
            batch = await prune_due(
                connection, self._directory, now=now, limit=self.config.batch, keep_unlearned=self._keep_unlearned
            )
        if batch.unlearned:
            _log.warning(
                "pruned what learning has never read; see `stratagraph jobs list` for why consolidate does not run",
                records=batch.unlearned,
                kept_days=self._keep_unlearned.days,
            )
        counts = {
            "records_pruned": batch.pruned,
            "pruned_unlearned": batch.unlearned,
            "set_aside": batch.set_aside,
        }
        return JobResult(counts=counts, more=not batch.is_done)
