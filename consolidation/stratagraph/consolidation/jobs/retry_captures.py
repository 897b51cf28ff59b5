"""Retry captures that failed inside, with pauses that double."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.memory.capture.retries import Retried

_COUNTS = {Retried.STORED: "requests_stored", Retried.FAILED: "failed_again", Retried.GIVEN_UP: "given_up"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryCapturesConfig(JobConfig):
    """The interval and batch size of RetryCaptures."""

    interval_s: float = 5.0
    batch: int = 50  # failed requests retried in one run, each in a transaction of its own


class RetryCaptures:
    """Retries the requests whose captures failed inside and are due, the longest due first.

    Each failure is counted in its own row with the next attempt, so that one request does not hold up the others.
    """

    name = "retry-captures"
    summary = "Retry captures that failed because of an internal failure."

    def __init__(self, resources: Resources, config: RetryCapturesConfig | None = None) -> None:
        self._failed = resources.failed_captures
        self.config = config or RetryCapturesConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Retry at most `batch` requests that are due at `now`; `more` if as many were due."""
        due = await self._failed.due(now=now, limit=self.config.batch)
        counts: Counter[str] = Counter(dict.fromkeys(_COUNTS.values(), 0))
        for key in due:
            done = await self._failed.retry_batch(key)
            if done.outcome in _COUNTS:
                counts[_COUNTS[done.outcome]] += 1
        return JobResult(counts=dict(counts), more=len(due) == self.config.batch)
