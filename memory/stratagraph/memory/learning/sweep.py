"""What a sweep of learning is: learning from a queue of its own, after the episodes of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import StoredRun

Work = Callable[[LearningBatch], Awaitable[StageReport]]


@dataclass(frozen=True, slots=True)
class Swept:
    """What one step of a sweep did in a group, and how many records it set aside."""

    group: Group
    report: StageReport
    set_aside: int = 0


class GroupWriter(Protocol):
    """Writes what a sweep learns of a group."""

    async def write(self, run: StoredRun, group: Group, name: str, work: Work) -> StageReport:
        """Run `work` for a group in one transaction, and add its report to the run's report under `name`.

        The batch that it is given has no episodes. The transaction is repeated if it conflicts with another writer.
        """
        ...


class Sweep(Protocol):
    """Learning that is not done in the batches of episodes: from records that have changed, or with an endpoint.

    `name` and `summary` are as of a stage. What a sweep leaves undone must be in its queue, so that the next step, also
    of another process, goes on from there.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    async def is_due(self, now: datetime) -> bool:
        """Return whether there may be something to do at `now`."""
        ...

    async def waiting(self, now: datetime, *, most: int) -> int:
        """Return the number of records or episodes in the queue at `now`, at most `most`."""
        ...

    async def step(self, writer: GroupWriter, run: StoredRun) -> Swept | None:
        """Do the next part of the work, outside any transaction but those of `writer`; None if none is left.

        What comes into the queue after the run began may wait for the next one. What fails is set aside; a step that
        raises is the last one of its sweep in the run.
        """
        ...
