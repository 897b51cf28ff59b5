"""Let a language model read new captures soon, if there is one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stratagraph.consolidation.job import JobConfig, JobResult, Resources
from stratagraph.memory.learning.extraction.reader import JOB


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpretCapturesConfig(JobConfig):
    """The interval of InterpretCaptures."""

    interval_s: float = 2.0
    deadline_s: float = 900.0  # an answer of a language model may take minutes
    longest_pause_s: float = 60.0  # a model that was away is asked again soon


class InterpretCaptures:
    """Reads the texts that have been captured since, some of one episode at a time. Runs only with a language model."""

    name = JOB
    summary = "Let a language model interpret new captures."

    def __init__(self, resources: Resources, config: InterpretCapturesConfig | None = None) -> None:
        assert resources.reading_soon is not None
        self._reading = resources.reading_soon
        self.config = config or InterpretCapturesConfig()

    async def run_once(self, now: datetime) -> JobResult:
        """Read texts that are due, in bounded steps; `more` if texts may be left that are due.

        It looks for texts after its interval also when there were none, so that new ones wait for seconds only.
        """
        done = await self._reading.turn(now)
        return JobResult(counts=done.counts, more=done.more, pause_s=None if done.more else self.config.interval_s)
