"""Runs of learning: their batches, each a transaction in which all stages learn from some due episodes of one group.

A run can be stopped at any instant: a batch is written as a whole, with the mark on its episodes, or not at all, and
the next call goes on with the episodes that have no mark. See docs/learning.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from uuid import UUID

from stratagraph.memory.learning.batches import Attempt, BatchDone, Batches
from stratagraph.memory.learning.follow_ups import FollowUp, FollowUps, GroupWriter, Prepared
from stratagraph.memory.learning.preview import preview_group
from stratagraph.memory.learning.stage import Stage
from stratagraph.memory.revise.linking import link_due
from stratagraph.store.jobs.set_aside import set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.episodes import (
    DueEpisode,
    clear_learned_set_aside,
    count_due,
    find_due_group,
    lock_due_episodes,
    postpone_learning,
)
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import (
    StoredRun,
    add_to_report,
    begin_run,
    finish_run,
    lock_stage_reports,
    unfinished_run,
)
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import KeyCollision, StatementTimedOut, StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.link_requests import count_link_requests

JOB = "consolidate"
BATCH = 50  # episodes learned from in one transaction
LINKED = 50  # queued entities to which earlier records are linked in one transaction
COUNTED = 10_000_000  # of what is due that is counted for people, at most


class Learning:
    """The service that learns from due episodes, and then from the queues of its follow-ups.

    `stages` and `follow_ups` are all that this installation has, in their order. A stage and a follow-up of one name
    belong together.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        stages: Sequence[Stage],
        follow_ups: Sequence[FollowUp] = (),
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self.stages = tuple(stages)
        self.follow_ups = tuple(follow_ups)
        self._sizes: dict[tuple[UUID, Group], int] = {}  # of the batches of a run that took too long with BATCH
        self._follow_ups = FollowUps(self.follow_ups)
        self._batches = Batches(database, directory, clock, self.stages, self.names)

    @property
    def names(self) -> list[str]:
        """The names of all stages and follow-ups, in their order, each once."""
        return list(dict.fromkeys([*(one.name for one in self.stages), *(one.name for one in self.follow_ups)]))

    @property
    def writer(self) -> GroupWriter:
        """What writes the parts of a run that are no batches of episodes."""
        return self._batches

    def now(self) -> datetime:
        """Return the service's time."""
        return self._clock.now()

    async def open_run(self, now: datetime, stages: Sequence[str] = ()) -> StoredRun | None:
        """Return the run that was stopped before its end, or begin one at `now` with these stages, by default all.

        None if nothing is due.
        """
        wanted = self._wanted(stages)
        async with self._database.background(Role.JOBS) as connection:
            stopped = await unfinished_run(connection)
        if stopped is not None:
            return stopped
        async for _ in self.prepare(now, stages, most=0):
            pass
        async with self._database.background(Role.JOBS) as connection:
            is_due = await find_due_group(connection, stages=self._stages_of(wanted), now=now, after=None) is not None
        if not is_due and not await self._follow_ups.is_due(now, wanted):
            return None
        async with self._database.background(Role.JOBS) as connection:
            return await begin_run(connection, new_id(), stages=wanted, at=now)

    async def prepare(
        self, now: datetime, stages: Sequence[str] = (), *, most: int = COUNTED
    ) -> AsyncIterator[Prepared]:
        """Do what comes before a run with these stages, by default all, and yield after each transaction.

        Earlier records are linked to the entities that are queued for that, because what is learned names the entities
        that its events are linked to; then follow-ups queue what has changed. What is left is counted up to `most`.
        `open_run` does the same without counting; whoever shows the progress does it before.
        """
        left: int | None = None
        while (linked := (await link_due(self._database, self._directory, now=now, batch=LINKED)).due) == LINKED:
            if left is None:
                async with self._database.background(Role.JOBS) as connection:
                    left = await count_link_requests(connection, now=now, most=most) + linked
            left = max(0, left - linked)
            yield Prepared("links", linked, left)
        async for step in self._follow_ups.queue(now, self._wanted(stages), most=most):
            yield step

    async def run_batch(self, run: StoredRun) -> BatchDone | None:
        """Learn from the next due episodes of a run; return what was done, or None if none are left.

        A batch that fails is divided until each episode that fails alone is found, which is set aside; the others are
        learned from. A batch that takes the database too long is halved, and so are those after it. Raises
        StoreUnavailable if the database cannot be reached.
        """
        async with self._database.background(Role.JOBS) as connection:
            group = await find_due_group(connection, stages=self._stages_of(run.stages), now=run.began_at, after=None)
        if group is None:
            return None
        while True:
            attempt = Attempt(limit=self._sizes.get((run.id, group), BATCH))
            try:
                return await self._batches.commit(run, group, attempt)
            except Exception as error:
                _raise_outage(error)
                if isinstance(error, StatementTimedOut) and attempt.limit > 1:
                    self._sizes[run.id, group] = attempt.limit // 2
                else:
                    return await self._without_failing(run, group, attempt, error)

    async def run_follow_up(self, run: StoredRun) -> BatchDone | None:
        """Do the next step of the first follow-up of a run that has one; return what was done, or None if none is left.

        To be called once no batch is left. A follow-up that fails does no more in this run. Raises StoreUnavailable if
        the database cannot be reached.
        """
        step = await self._follow_ups.step(self._batches, run)
        if step is None:
            return None
        name, done = step
        return BatchDone(run=run.id, group=done.group, episodes=0, set_aside=done.set_aside, stages={name: done.report})

    async def follow_ups_waiting(self, run: StoredRun) -> dict[str, int]:
        """Return how much the follow-ups of a run still have to do, each up to COUNTED, by name."""
        return await self._follow_ups.waiting(run, most=COUNTED)

    def _wanted(self, stages: Collection[str]) -> list[str]:
        return [name for name in self.names if not stages or name in stages]

    def _stages_of(self, names: Collection[str]) -> list[str]:
        """Return those of `names` that are stages, and not only follow-ups."""
        return [stage.name for stage in self.stages if stage.name in names]

    async def close_run(self, run: StoredRun) -> None:
        """End a run of which no batch is left."""
        now = self._clock.now()
        self._sizes.clear()
        self._follow_ups.close()
        async with self._database.background(Role.JOBS) as connection:
            await finish_run(connection, run.id, at=now)
            await clear_learned_set_aside(connection, JOB)

    async def due(self, now: datetime, stages: Sequence[str] = ()) -> tuple[int, int]:
        """Return the numbers of due episodes, and of those that wait for their outcome, each up to COUNTED."""
        wanted = [stage.name for stage in self.stages if not stages or stage.name in stages]
        async with self._database.background(Role.JOBS) as connection:
            return await count_due(connection, stages=wanted, now=now, most=COUNTED)

    async def preview(self, now: datetime, stages: Sequence[str], *, most: int) -> list[BatchDone]:
        """Return what a run would do with the first `most` due episodes of each group, without writing anything.

        It gives way to writers: where they need its locks, it looks at fewer episodes of the group.
        """
        names = tuple(stage.name for stage in self.stages if not stages or stage.name in stages)
        run = StoredRun(id=new_id(), began_at=now, stages=names)
        found: list[BatchDone] = []
        group: Group | None = None
        while True:
            async with self._database.background(Role.JOBS) as connection:
                group = await find_due_group(connection, stages=names, now=now, after=group)
            if group is None:
                return found
            found += await preview_group(self._database, self._batches, run, group, most=most, limit=BATCH)

    async def _without_failing(self, run: StoredRun, group: Group, failed: Attempt, error: Exception) -> BatchDone:
        """Learn from the episodes of a failed attempt, in halves, and set aside those that fail alone.

        Raises `error` if the attempt failed before it had read any.
        """
        if not failed.due:
            raise error
        done = BatchDone(run=run.id, group=group, episodes=0)
        if len(failed.due) == 1:
            return await self._without_failing_stages(run, group, failed.due[0], error)
        half = len(failed.due) // 2
        parts = [len(failed.due) - half, half]
        while parts:
            attempt = Attempt(limit=parts.pop())
            try:
                done += await self._batches.commit(run, group, attempt)
            except Exception as error_of_part:
                _raise_outage(error_of_part)
                done += await self._without_failing(run, group, attempt, error_of_part)
        return done

    async def _without_failing_stages(
        self, run: StoredRun, group: Group, one: DueEpisode, error: Exception
    ) -> BatchDone:
        """Let the stages that do not fail learn from an episode that failed alone, and set it aside for the others.

        Where an earlier episode has become due, that one is learned from, and this one is left to the next batch.
        """
        attempt = Attempt(limit=1, isolates=True)
        done = BatchDone(run=run.id, group=group, episodes=0)
        try:
            done += await self._batches.commit(run, group, attempt)
        except Exception as error_of_all:
            _raise_outage(error_of_all)
            error = error_of_all
        else:
            if not attempt.failed:
                return done
            error = next(iter(attempt.failed.values()))
        failing = attempt.due[0] if attempt.due else one
        return done + await self._set_aside(run, group, failing, error, stages=[*attempt.failed])

    async def _set_aside(
        self, run: StoredRun, group: Group, one: DueEpisode, error: Exception, *, stages: Sequence[str]
    ) -> BatchDone:
        """Set aside an episode that failed alone in `stages`, with the first `error`.

        Not one that was learned from or deleted since. `stages` is empty for a failure outside all of them.
        """
        now = self._clock.now()
        async with self._database.background(Role.JOBS) as connection:
            due_for = self._stages_of(run.stages)
            held = await lock_due_episodes(connection, group, [one], stages=due_for, now=run.began_at)
            if held:
                key = group.tenant, one.id
                retry_at = await set_aside(connection, JOB, key, error, at=now, stage=", ".join(stages) or None)
                await postpone_learning(connection, group.tenant, one.id, until=max(retry_at, run.began_at))
                before = await lock_stage_reports(connection, run.id, group)
                await add_to_report(connection, run, group, episodes=0, set_aside=1, stages=before, at=now)
        return BatchDone(run=run.id, group=group, episodes=0, set_aside=len(held))


def _raise_outage(error: Exception) -> None:
    """Raise an error that says that the database cannot be used now, and not that these episodes cannot be learned."""
    if isinstance(error, StoreUnavailable) and not isinstance(error, KeyCollision | StatementTimedOut):
        raise error
