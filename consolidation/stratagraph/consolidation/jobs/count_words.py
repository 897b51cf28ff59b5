"""Count and index the words of new, edited and deleted records, by which word search weighs and finds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.store.search.word_counts import JOB, WordCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWordsConfig(JobConfig):
    """The interval of CountWords. One run counts the changes committed before it."""

    interval_s: float = 2.0
    longest_pause_s: float = 5.0  # one tenant whose changes cannot be counted must not delay the others


class CountWords:
    """Adds each change of a record's words to the statistics once, and to the word index."""

    name = JOB
    summary = "Count and index the words of new, edited and deleted records for word search."

    def __init__(self, resources: Resources, config: CountWordsConfig | None = None) -> None:
        self._words = WordCounter(resources.database)
        self.config = config or CountWordsConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Count the changes committed since the last run; `more` if a tenant has further ones."""
        counted = await self._words.count_changes()
        return JobResult(
            counts={"changes_counted": counted.changes, "segments_merged": counted.merged}, more=counted.more
        )
