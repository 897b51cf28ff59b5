"""Follow-ups: learning from a queue of its own, after the episodes of a run.

A follow-up that fails stops neither the others nor the learning from episodes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.requests.retrying import is_outage
from stratagraph.store.event_log import get_logger
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import StoredRun
from stratagraph.store.model.errors import error_kind

_log = get_logger(__name__)
Work = Callable[[LearningBatch], Awaitable[StageReport]]


@dataclass(frozen=True, slots=True)
class FollowedUp:
    """What one step of a follow-up did in a group, and how many records it set aside."""

    group: Group
    report: StageReport
    set_aside: int = 0


@dataclass(frozen=True, slots=True)
class Queued:
    """A step of finding what is to be done: `done` is the number of `what` that were looked at."""

    what: str
    done: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step of what comes before a run: `done` is the number of `what` that were looked at, `left` that of the others.

    `what` is `links`, entities to which earlier records are linked; `changes` in the change feed; existing `records`
    that are queued; or `names` of entities, whose keys are noted.
    """

    what: str
    done: int
    left: int


class GroupWriter(Protocol):
    """Writes what a follow-up learns of a group."""

    async def write(self, run: StoredRun, group: Group, name: str, work: Work) -> StageReport:
        """Run `work` for a group in one transaction, and add its report to the run's report under `name`.

        The batch that it is given has no episodes. The transaction is repeated if it conflicts with another writer.
        """
        ...


class FollowUp(Protocol):
    """Learning that is not done in the batches of episodes: from records that have changed, or with an endpoint.

    `name` and `summary` are as of a stage. What a follow-up leaves undone must be in its queue, so that the next step,
    also of another process, goes on from there.
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

    async def step(self, writer: GroupWriter, run: StoredRun) -> FollowedUp | None:
        """Do the next part of the work, outside any transaction but those of `writer`; None if none is left.

        What comes into the queue after the run began may wait for the next one. What fails is set aside; a step that
        raises is the last one of its follow-up in the run.
        """
        ...


@runtime_checkable
class Queueing(Protocol):
    """A follow-up that must look for what is to be done before a run, for example in the change feed."""

    @property
    def name(self) -> str: ...

    def queue(self, now: datetime) -> AsyncIterator[Queued]:
        """Queue what is to be done at `now`; yield after each transaction."""
        ...

    async def unqueued(self, what: str, *, most: int) -> int:
        """Return the number of `what` that are left to be looked at, at most about `most`."""
        ...


class FollowUps:
    """Takes the steps of the follow-ups, in their order."""

    def __init__(self, follow_ups: Sequence[FollowUp]) -> None:
        self._follow_ups = follow_ups
        self._ended: set[tuple[UUID, str]] = set()  # runs, and the follow-ups that have failed in them

    async def is_due(self, now: datetime, names: Collection[str]) -> bool:
        """Return whether one of the follow-ups `names` may have something to do; one that fails has nothing."""
        due = False
        for follow_up in self._follow_ups:
            if follow_up.name in names:
                try:
                    due |= await follow_up.is_due(now)
                except Exception as error:
                    self._note(follow_up, error)
        return due

    async def queue(self, now: datetime, names: Collection[str], *, most: int) -> AsyncIterator[Prepared]:
        """Let the follow-ups `names` queue what is to be done, and yield after each step; one that fails is left out.

        What is left is counted once, at the first step of its kind, up to `most`.
        """
        for follow_up in self._follow_ups:
            if follow_up.name not in names or not isinstance(follow_up, Queueing):
                continue
            left: dict[str, int] = {}
            try:
                async for step in follow_up.queue(now):
                    if step.what not in left:
                        left[step.what] = await follow_up.unqueued(step.what, most=most) + step.done
                    left[step.what] = max(0, left[step.what] - step.done)
                    yield Prepared(step.what, step.done, left[step.what])
            except Exception as error:
                self._note(follow_up, error)

    async def waiting(self, run: StoredRun, *, most: int) -> dict[str, int]:
        """Return how much each follow-up of a run still has in its queue, at most `most` each, by name."""
        going_on = [one for one in self._follow_ups if one.name in run.stages and (run.id, one.name) not in self._ended]
        return {follow_up.name: await follow_up.waiting(run.began_at, most=most) for follow_up in going_on}

    async def step(self, writer: GroupWriter, run: StoredRun) -> tuple[str, FollowedUp] | None:
        """Take the next step of the first follow-up of the run that has one; return its name and what it did.

        None if no step is left. A follow-up that fails takes no more steps in the run. Raises StoreUnavailable if the
        database cannot be reached.
        """
        for follow_up in self._follow_ups:
            if follow_up.name not in run.stages or (run.id, follow_up.name) in self._ended:
                continue
            try:
                done = await follow_up.step(writer, run)
            except Exception as error:
                self._note(follow_up, error)
                self._ended.add((run.id, follow_up.name))
                continue
            if done is not None:
                return follow_up.name, done
        return None

    def close(self) -> None:
        """Let all follow-ups take steps again, in the next run."""
        self._ended.clear()

    def _note(self, follow_up: FollowUp, error: Exception) -> None:
        """Log why a follow-up failed. Raises `error` if the database cannot be reached."""
        if is_outage(error):
            raise error
        _log.warning("a follow-up of learning failed", follow_up=follow_up.name, error=error_kind(error))
