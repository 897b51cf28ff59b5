"""What a background job is: a name, a config, and `run_once(now) -> JobResult`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.memory.imports.span_intake import SpanIntake
from stratagraph.memory.learning.extraction.soon import ReadingSoon
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.postgres.database import Database

CONSOLIDATE_EVERY_S = 6 * 3_600.0  # seconds between two runs of learning, unless the settings say otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class JobConfig:
    """The schedule of a job, in seconds. A job's own config adds how much one transaction and one run do."""

    interval_s: float  # from the end of one run to the beginning of the next, over all servers together
    deadline_s: float = 300.0  # after which a run is stopped and counts as failed
    longest_pause_s: float = 600.0  # between attempts of a job that keeps failing; the pause doubles up to here
    first_pause_s: float = 0.0  # before the first run of all, and the first one after an upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The result of one run.

    `counts` maps the name of each count, such as records_pruned, to a number. `more` asks for another run at once, and
    `pause_s` for one after so many seconds in place of the job's interval.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    pause_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The services that jobs are built from. `owner` names this server among all that run jobs.

    Without an `embedder`, there is no job that embeds records; without `reading_soon`, none that interprets captures.
    Learning runs every `consolidate_every_s` seconds; an
    episode that it has not read, or keeps for a skill, is kept for `keep_unlearned` after it was closed.
    """

    database: Database
    directory: Directory
    clock: Clock
    artifacts: Artifacts
    failed_captures: FailedCaptures
    span_intake: SpanIntake
    learning: Learning
    owner: str
    embedder: Embedder | None = None
    reading_soon: ReadingSoon | None = None
    consolidate_every_s: float = CONSOLIDATE_EVERY_S
    keep_unlearned: timedelta = KEEP_UNLEARNED


class Job(Protocol):
    """A background job. It may be stopped at any instant and run again: each transaction leaves the store consistent.

    `name` identifies the job in the database, in logs and on the command line; `summary` says in one line what it does.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def config(self) -> JobConfig: ...

    async def run_once(self, now: datetime) -> JobResult:
        """Process what is due at `now`, in bounded batches, each a transaction of its own.

        An exception ends the run and counts as its failure; batches committed before it stay.
        """
        ...


async def repeat(batch: Callable[[], Awaitable[JobResult]], *, times: int) -> JobResult:
    """Run `batch` until it asks for no more, at most `times` times; return the added counts.

    `more` of the result says whether the last batch asked for another.
    """
    counts: Counter[str] = Counter()
    for _ in range(times):
        result = await batch()
        counts.update(result.counts)
        if not result.more:
            return JobResult(counts=dict(counts))
    return JobResult(counts=dict(counts), more=True)
