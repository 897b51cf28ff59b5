"""Count the words of new records: the statistics by which word search weighs rare words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.search.word_counts import JOB, WordCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWordsConfig(JobConfig):
    """The interval of CountWords. One run counts all records written before it."""

    interval_s: float = 2.0


class CountWords:
    """Adds the words of each new record to the statistics once. A record that cannot be counted is set aside."""

    name = JOB
    summary = "Count the words of new records for word search."

    def __init__(self, resources: Resources, config: CountWordsConfig | None = None) -> None:
        self._words = WordCounter(resources.database, owner=resources.owner)
        self.config = config or CountWordsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Count the words of all records written since the last run."""
        counted = await self._words.count_new(now)
        return JobResult(counts={"records_counted": counted.records, "set_aside": counted.set_aside})
