"""Learn from closed episodes: summaries, facts, skills and plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from stratagraph.consolidation.job import CONSOLIDATE_EVERY_S, JobConfig, JobResult, Resources, repeat
from stratagraph.consolidation.runner import Runner
from stratagraph.memory.learning.batches import BatchDone
from stratagraph.memory.learning.follow_ups import Prepared
from stratagraph.memory.learning.service import JOB, Learning
from stratagraph.store.model.errors import StoreUnavailable

LONGEST_COMMAND_S = 24 * 3_600.0  # for which a person's command may learn; a service does so in short turns


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateConfig(JobConfig):
    """The interval of Consolidate, and how many batches it learns from before its lease is given up and taken again."""

    interval_s: float = CONSOLIDATE_EVERY_S
    first_pause_s: float = CONSOLIDATE_EVERY_S  # an upgrade may have queued every record, which takes minutes
    deadline_s: float = 1_200.0  # an answer of a language model may take minutes
    batches: int = 10  # transactions in one turn; the next turn of the same run follows at once where more is due
    steps: int = 10  # of the follow-ups in one turn, each a request to a language model, or a transaction


class Consolidate:
    """Runs learning over all due episodes, in turns that a deadline cannot cut short.

    A run that was stopped is resumed, with its own instant and stages, before another one begins.
    """

    name = JOB
    summary = "Learn from closed episodes."

    def __init__(self, resources: Resources, config: ConsolidateConfig | None = None) -> None:
        self._learning = resources.learning
        every_s = resources.consolidate_every_s
        self.config = config or ConsolidateConfig(interval_s=every_s, first_pause_s=every_s)

    async def run_once(self, now: datetime) -> JobResult:
        """Resume the run that was stopped, or begin one; learn from `batches` batches, and end it if none are left."""
        run = await self._learning.open_run(now)
        if run is None:
            return JobResult()

        async def batch() -> JobResult:
            done = await self._learning.run_batch(run)
            return JobResult() if done is None else JobResult(counts=counts_of(done), more=True)

        result = await repeat(batch, times=self.config.batches)
        if result.more:
            return result

        async def step() -> JobResult:
            done = await self._learning.run_follow_up(run)
            return JobResult() if done is None else JobResult(counts=counts_of(done), more=True)

        followed_up = await repeat(step, times=self.config.steps)
        if not followed_up.more:
            await self._learning.close_run(run)
        return JobResult(counts=Counter(result.counts) + Counter(followed_up.counts), more=followed_up.more)


def counts_of(done: BatchDone) -> dict[str, int]:
    """Return what a batch did as the counts of a job."""
    reports = done.stages.values()
    costs = Counter({unit: int(amount) for report in reports for unit, amount in report.cost.items()})
    return {
        "episodes_learned": done.episodes,
        "records_learned": sum(report.outputs for report in reports),
        "records_merged": sum(report.merges for report in reports),
        "set_aside": done.set_aside,
        **costs,
    }


class LearningProgress(Protocol):
    """Is told how far a run has come that a person waits for."""

    def prepared(self, step: Prepared) -> None:
        """Note a step of what comes before the run, or before its follow-ups."""
        ...

    def learned(self, batch: BatchDone) -> None:
        """Note a batch of episodes that was learned from."""
        ...

    def remains(self, waiting: Mapping[str, int]) -> None:
        """Note how much each follow-up has left to do, by name: once the episodes are read, and after each step."""
        ...


class _ConsolidateAll:
    """The same job for a person who waits: it learns from all due episodes in one turn, and keeps what each batch did.

    After the run that was stopped, if there is one, it begins a run with `stages`.
    """

    name = JOB
    summary = Consolidate.summary

    def __init__(self, learning: Learning, stages: Sequence[str], progress: LearningProgress) -> None:
        self._learning = learning
        self._stages = stages
        self._progress = progress
        self.done: list[BatchDone] = []
        self.config = ConsolidateConfig(deadline_s=LONGEST_COMMAND_S)

    async def run_once(self, now: datetime) -> JobResult:
        counts: Counter[str] = Counter()
        while True:
            await self._prepare(now, self._stages)
            run = await self._learning.open_run(now, self._stages)
            if run is None:
                break
            while (batch := await self._learning.run_batch(run)) is not None:
                self.done.append(batch)
                counts.update(counts_of(batch))
                self._progress.learned(batch)
            await self._prepare(run.began_at, run.stages)
            self._progress.remains(await self._learning.follow_ups_waiting(run))
            while (followed_up := await self._learning.run_follow_up(run)) is not None:
                self.done.append(followed_up)
                counts.update(counts_of(followed_up))
                self._progress.remains(await self._learning.follow_ups_waiting(run))
            await self._learning.close_run(run)
            if run.began_at >= now:  # what its limits have left over waits for the next run
                break
        return JobResult(counts=dict(counts))

    async def _prepare(self, now: datetime, stages: Sequence[str]) -> None:
        async for step in self._learning.prepare(now, stages):
            self._progress.prepared(step)


async def consolidate_now(
    runner: Runner, learning: Learning, stages: Sequence[str], *, progress: LearningProgress
) -> list[BatchDone] | None:
    """Learn now, with the job's lease, and return what each batch did; None if another server is learning.

    `progress` is told of it. Raises RunStopped or whatever ended the run before its end.
    """
    job = _ConsolidateAll(learning, stages, progress)
    done = await runner.run_now(job)
    if done is None:
        return None
    if done.error is not None:
        raise StoreUnavailable(f"Learning was stopped: {done.error}. What it has learned is kept; run it again.")
    return job.done
