"""Runs of learning: their batches, each a transaction in which all stages learn from some due episodes of one group.

A run can be stopped at any instant: a batch is written as a whole, with the mark on its episodes, or not at all, and
the next call goes on with the episodes that have no mark. See docs/learning.md.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.learner import Learner
from stratagraph.memory.learning.reading import read_episodes
from stratagraph.memory.learning.stage import LearningBatch, Run, Stage, StageReport
from stratagraph.memory.learning.sweep import Sweep, Work
from stratagraph.memory.learning.sweeping import Sweeping
from stratagraph.memory.retrying import StaleRead, retried
from stratagraph.store.erasure.pruning import schedule_learned
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.jobs.set_aside import set_aside
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.changes import log_run_changes
from stratagraph.store.learning.episodes import (
    DueEpisode,
    clear_learned_set_aside,
    count_due,
    fetch_due_episodes,
    find_due_group,
    mark_learned,
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
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import KeyCollision, StatementTimedOut, StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import UNSCOPED, Trust
from stratagraph.store.postgres.database import Connection, Database, Role
from stratagraph.store.records.salience_rows import SalienceBefore, noting_salience

JOB = "consolidate"
ACTOR = "consolidation"
BATCH = 50  # episodes learned from in one transaction
COUNTED = 100_000  # due episodes that are counted for people, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone:
    """What one batch did: its group, how many episodes it learned from and set aside, and the reports of the stages."""

    run: UUID
    group: Group
    episodes: int
    set_aside: int = 0
    stages: dict[str, StageReport] = field(default_factory=dict)


class Learning:
    """The service that learns from due episodes, and then from the queues of its sweeps.

    `stages` and `sweeps` are all that this installation has, in their order. A stage and a sweep of one name belong
    together.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        stages: Sequence[Stage],
        sweeps: Sequence[Sweep] = (),
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self.stages = tuple(stages)
        self.sweeps = tuple(sweeps)
        self._sizes: dict[tuple[UUID, Group], int] = {}  # of the batches of a run that took too long with BATCH
        self._sweeping = Sweeping(self.sweeps)

    @property
    def names(self) -> list[str]:
        """The names of all stages and sweeps, in their order, each once."""
        return list(dict.fromkeys([*(stage.name for stage in self.stages), *(sweep.name for sweep in self.sweeps)]))

    def now(self) -> datetime:
        """Return the service's time."""
        return self._clock.now()

    async def open_run(self, now: datetime, stages: Sequence[str] = ()) -> StoredRun | None:
        """Return the run that was stopped before its end, or begin one at `now` with these stages, by default all.

        None if nothing is due.
        """
        wanted = [name for name in self.names if not stages or name in stages]
        async with self._database.background(Role.JOBS) as connection:
            stopped = await unfinished_run(connection)
            if stopped is not None:
                return stopped
            is_due = await find_due_group(connection, stages=self._stages_of(wanted), now=now, after=None) is not None
        if not is_due and not await self._sweeping.is_due(now, wanted):
            return None
        async with self._database.background(Role.JOBS) as connection:
            return await begin_run(connection, new_id(), stages=wanted, at=now)

    async def run_batch(self, run: StoredRun) -> BatchDone | None:
        """Learn from the next due episodes of a run; return what was done, or None if none are left.

        Episodes that cannot be learned from are set aside, and the others are learned from one by one. A batch that
        takes the database too long is halved, and so are those after it. Raises StoreUnavailable if the database cannot
        be reached.
        """
        async with self._database.background(Role.JOBS) as connection:
            group = await find_due_group(connection, stages=self._stages_of(run.stages), now=run.began_at, after=None)
        if group is None:
            return None
        while True:
            size = self._sizes.get((run.id, group), BATCH)
            try:
                return await retried(partial(self._commit, run, group, limit=size))
            except StatementTimedOut as error:
                if size == 1:
                    failed = await self._set_aside(run, group, error)
                    return BatchDone(run=run.id, group=group, episodes=0, set_aside=failed)
                self._sizes[run.id, group] = size // 2
            except Exception as error:
                if isinstance(error, StoreUnavailable) and not isinstance(error, KeyCollision):
                    raise
                return await self._one_by_one(run, group)

    async def run_sweep(self, run: StoredRun) -> BatchDone | None:
        """Do the next step of the first sweep of a run that has one; return what was done, or None if none is left.

        To be called once no batch is left. A sweep that fails does no more in this run. Raises StoreUnavailable if the
        database cannot be reached.
        """
        step = await self._sweeping.step(self, run)
        if step is None:
            return None
        name, done = step
        return BatchDone(run=run.id, group=done.group, episodes=0, set_aside=done.set_aside, stages={name: done.report})

    async def write(self, run: StoredRun, group: Group, name: str, work: Work) -> StageReport:
        """Let `work` learn of a group, in one transaction, and add its report to that of the run as `name`."""

        async def attempt() -> StageReport:
            caller = await self._caller(group)
            async with self._database.writing(caller.bounds) as connection:
                batch = await self._batch(connection, caller, run, group, name, ())
                began = time.monotonic()
                async with noting_salience(connection) as salience:
                    report = await work(batch)
                await self._finish(
                    connection,
                    run,
                    group,
                    caller,
                    [batch.learner],
                    salience,
                    {name: report},
                    {name: time.monotonic() - began},
                )
            return report

        return await retried(attempt)

    def _position(self, name: str) -> int:
        """Return the place of a stage or a sweep among all, in which reports list them."""
        return self.names.index(name)

    def _stages_of(self, names: Collection[str]) -> list[str]:
        """Return those of `names` that are stages, and not only sweeps."""
        return [stage.name for stage in self.stages if stage.name in names]

    async def close_run(self, run: StoredRun) -> None:
        """End a run of which no batch is left."""
        now = self._clock.now()
        self._sizes.clear()
        self._sweeping.close()
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

        All batches of a group are learned in one transaction that is rolled back, so that each sees those before it.
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
            found += await self._preview_group(run, group, most)

    async def _preview_group(self, run: StoredRun, group: Group, most: int) -> list[BatchDone]:
        found: list[BatchDone] = []
        caller = await self._caller(group)
        try:
            async with self._database.writing(caller.bounds) as connection:
                while sum(one.episodes for one in found) < most:
                    done = await self._learn(connection, caller, run, group, limit=BATCH)
                    if done is None:
                        break
                    found.append(done)
                raise _RollBackError
        except _RollBackError:
            return found

    async def _commit(self, run: StoredRun, group: Group, *, limit: int) -> BatchDone | None:
        """Learn from at most `limit` due episodes of a group in one transaction; None if none are due any more."""
        caller = await self._caller(group)
        async with self._database.writing(caller.bounds) as connection:
            done = await self._learn(connection, caller, run, group, limit=limit)
        return done or BatchDone(run=run.id, group=group, episodes=0)

    async def _one_by_one(self, run: StoredRun, group: Group) -> BatchDone:
        """Learn from the next BATCH episodes in a transaction each, and set aside those that fail."""
        learned = failed = 0
        for _ in range(BATCH):
            try:
                done = await retried(lambda: self._commit(run, group, limit=1))
            except Exception as error:
                is_of_one = isinstance(error, KeyCollision | StatementTimedOut)
                if isinstance(error, StoreUnavailable) and not is_of_one:
                    raise
                failed += await self._set_aside(run, group, error)
            else:
                if done is None or done.episodes == 0:
                    break
                learned += done.episodes
        return BatchDone(run=run.id, group=group, episodes=learned, set_aside=failed)

    async def _set_aside(self, run: StoredRun, group: Group, error: Exception) -> int:
        """Set aside the first due episode of a group, which failed with `error`; return 1, or 0 if none is due."""
        now = self._clock.now()
        async with self._database.background(Role.JOBS) as connection:
            stages = self._stages_of(run.stages)
            due = await fetch_due_episodes(connection, group, stages=stages, now=run.began_at, limit=1)
            for one in due:
                retry_at = await set_aside(connection, JOB, (group.tenant, one.id), error, at=now)
                await postpone_learning(connection, group.tenant, one.id, until=max(retry_at, run.began_at))
            if due:
                before = await lock_stage_reports(connection, run.id, group)
                await add_to_report(connection, run, group, episodes=0, set_aside=1, stages=before, at=now)
        return len(due)

    async def _learn(
        self, connection: Connection, caller: Caller, run: StoredRun, group: Group, *, limit: int
    ) -> BatchDone | None:
        """Let the stages of the run learn from at most `limit` due episodes of the group; None if none are due."""
        stages = [stage for stage in self.stages if stage.name in run.stages]
        names = [stage.name for stage in stages]
        due = await fetch_due_episodes(connection, group, stages=names, now=run.began_at, limit=limit)
        if not due:
            return None
        scope = (await self._directory.scope_names([group.scope]))[group.scope]
        episodes = await read_episodes(connection, caller, group, scope, due)
        learners: list[Learner] = []
        reports: dict[str, StageReport] = {}
        seconds: dict[str, float] = {}
        async with noting_salience(connection) as salience:
            for stage in stages:
                has_read = {one.id for one in due if stage.name in one.stages}
                unread = tuple(episode for episode in episodes if episode.id not in has_read)
                if not unread:
                    continue
                began = time.monotonic()
                batch = await self._batch(connection, caller, run, group, stage.name, unread)
                reports[stage.name] = await stage.learn(batch)
                seconds[stage.name] = time.monotonic() - began
                learners.append(batch.learner)
        await self._mark(connection, group, run, due)
        await self._finish(connection, run, group, caller, learners, salience, reports, seconds, episodes=len(due))
        return BatchDone(run=run.id, group=group, episodes=len(due), stages=reports)

    async def _batch(
        self,
        connection: Connection,
        caller: Caller,
        run: StoredRun,
        group: Group,
        name: str,
        episodes: tuple[Episode, ...],
    ) -> LearningBatch:
        scope = (await self._directory.scope_names([group.scope]))[group.scope]
        actor = replace(caller, trust=replace(caller.trust, actor=f"{ACTOR}/{name}"))
        return LearningBatch(
            connection=connection,
            directory=self._directory,
            caller=actor,
            group=group,
            run=Run(id=run.id, now=run.began_at),
            episodes=episodes,
            learner=Learner(connection, self._directory, actor, self._clock, group, scope, run.began_at),
        )

    async def _finish(
        self,
        connection: Connection,
        run: StoredRun,
        group: Group,
        caller: Caller,
        learners: Sequence[Learner],
        salience: Mapping[UUID, SalienceBefore],
        reports: dict[str, StageReport],
        seconds: dict[str, float],
        *,
        episodes: int = 0,
    ) -> None:
        """Log what the learners wrote, add to the report of the run, and append the changes to the feed."""
        tenant = caller.tenant
        changes = [change for learner in learners for change in learner.changes]
        merged = [id_ for learner in learners for id_ in learner.merged]
        await log_run_changes(connection, tenant, run.id, group, changes, salience=salience, merged=merged)
        await self._report(connection, run, group, episodes, reports, seconds)
        await append_changes(connection, tenant, changes)

    async def _mark(self, connection: Connection, group: Group, run: StoredRun, due: Sequence[DueEpisode]) -> None:
        """Mark the episodes as read. Raises StaleRead if one of them was changed since it was read."""
        at = self._clock.now()
        done = await mark_learned(
            connection,
            group.tenant,
            due,
            run_id=run.id,
            stages=self._stages_of(run.stages),
            all_stages=[stage.name for stage in self.stages],
            at=at,
        )
        if done is None:
            raise StaleRead
        await schedule_learned(connection, group.tenant, done, at=at)

    async def _report(
        self,
        connection: Connection,
        run: StoredRun,
        group: Group,
        episodes: int,
        reports: dict[str, StageReport],
        seconds: dict[str, float],
    ) -> None:
        """Add a batch to the report of the run on the group."""
        before = await lock_stage_reports(connection, run.id, group)
        stages: dict[str, Any] = dict(before)
        for name, report in reports.items():
            known = before.get(name)
            total = report if known is None else StageReport.from_json(known) + report
            took_s = seconds[name] + (known["seconds"] if known is not None else 0.0)
            stages[name] = {**total.as_json(), "seconds": round(took_s, 6), "position": self._position(name)}
        await add_to_report(connection, run, group, episodes=episodes, set_aside=0, stages=stages, at=self._clock.now())

    async def _caller(self, group: Group) -> Caller:
        """Return a caller that may read and write exactly what belongs to the group, and read what is unscoped."""
        tenant = await self._directory.tenant_by_id(group.tenant)
        scope = (await self._directory.scope_names([group.scope]))[group.scope]
        scopes = await self._directory.scopes(tenant, {UNSCOPED, scope}, create=True)
        trust = Trust(
            tenant=tenant.name,
            actor=ACTOR,
            access=Access.WRITE,
            ceiling=group.sensitivity,
            scopes=frozenset({scope}),
        )
        return Caller(tenant=tenant, trust=trust, scopes=tuple(sorted({scopes[UNSCOPED], group.scope})))


class _RollBackError(Exception):
    """Ends a transaction that must not be committed."""
