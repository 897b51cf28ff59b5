"""Batches of learning: transactions in which the stages learn from due episodes of one group, or a follow-up learns.

A batch is written as a whole, with the mark on its episodes and its part of the report, or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.follow_ups import Work
from stratagraph.memory.learning.learner import Learner
from stratagraph.memory.learning.reading import read_episodes
from stratagraph.memory.learning.stage import LearningBatch, Run, Stage, StageReport
from stratagraph.memory.propagation.queue import caller_of
from stratagraph.memory.requests.retrying import StaleRead, is_outage, retried
from stratagraph.store.erasure.pruning import schedule_learned
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.changes import log_run_changes
from stratagraph.store.learning.episodes import DueEpisode, fetch_due_episodes, lock_due_episodes, mark_learned
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import StoredRun, add_to_report, lock_stage_reports
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import WriteCollision
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.postgres.database import Connection, Database, savepoint
from stratagraph.store.records.salience_rows import SalienceBefore, noting_salience

ACTOR = LEARNED_BY.rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone:
    """What one batch did: its group, how many episodes it learned from and set aside, and the reports of the stages."""

    run: UUID
    group: Group
    episodes: int
    set_aside: int = 0
    stages: Mapping[str, StageReport] = field(default_factory=dict)

    def __add__(self, other: BatchDone) -> BatchDone:
        """Return what both batches did, which must be of one run and one group."""
        names = dict.fromkeys([*self.stages, *other.stages])
        return replace(
            self,
            episodes=self.episodes + other.episodes,
            set_aside=self.set_aside + other.set_aside,
            stages={n: self.stages.get(n, StageReport()) + other.stages.get(n, StageReport()) for n in names},
        )


@dataclass(slots=True, kw_only=True)
class Attempt:
    """At most `limit` due episodes to be learned from in one transaction.

    `due` has the episodes that the last attempt read. With `isolates`, a stage that fails is rolled back alone:
    `failed` has its error, and the episodes are marked as read by the other stages.
    """

    limit: int
    isolates: bool = False
    due: tuple[DueEpisode, ...] = ()
    failed: dict[str, Exception] = field(default_factory=dict)


class Batches:
    """Writes the batches of runs. `stages` are all of them, `names` those of stages and follow-ups."""

    def __init__(
        self, database: Database, directory: Directory, clock: Clock, stages: Sequence[Stage], names: Sequence[str]
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._stages = stages
        self._names = names

    async def commit(self, run: StoredRun, group: Group, attempt: Attempt) -> BatchDone:
        """Learn from the next due episodes of a group in one transaction, which is repeated if it conflicts."""

        async def once() -> BatchDone:
            attempt.due = ()
            attempt.failed = {}
            caller = await self.caller(group)
            async with self._database.writing(caller.bounds) as connection:
                done = await self.learn(connection, caller, run, group, attempt)
            return done or BatchDone(run=run.id, group=group, episodes=0)

        return await retried(once)

    async def write(self, run: StoredRun, group: Group, name: str, work: Work) -> StageReport:
        """Run `work` for a group in one transaction, and add its report to the run's report under `name`."""

        async def attempt() -> StageReport:
            caller = await self.caller(group)
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

    async def learn(
        self, connection: Connection, caller: Caller, run: StoredRun, group: Group, attempt: Attempt
    ) -> BatchDone | None:
        """Let the stages of the run learn from the next due episodes of the group; None if none are due.

        They are as many as can be read at once. They are locked before their records are, as captures do, so that the
        two do not wait for each other in a circle.
        """
        stages = [stage for stage in self._stages if stage.name in run.stages]
        names = [stage.name for stage in stages]
        found = await fetch_due_episodes(connection, group, stages=names, now=run.began_at, limit=attempt.limit)
        if not found:
            return None
        locked = await lock_due_episodes(connection, group, found, stages=names, now=run.began_at)
        if not locked:
            raise StaleRead
        attempt.due = tuple(locked)
        scope = (await self._directory.scope_names([group.scope]))[group.scope]
        due, episodes = await read_episodes(connection, caller, group, scope, locked)
        attempt.due = tuple(due)
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
                report = await (_isolated(stage, batch, salience, attempt) if attempt.isolates else stage.learn(batch))
                if report is None:
                    continue
                reports[stage.name] = report
                seconds[stage.name] = time.monotonic() - began
                learners.append(batch.learner)
        if attempt.failed and not reports:
            raise next(iter(attempt.failed.values()))
        await self._mark(connection, group, run, due, failed=attempt.failed)
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
        actor = replace(caller, trust=replace(caller.trust, actor=f"{LEARNED_BY}{name}"))
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

    async def _mark(
        self,
        connection: Connection,
        group: Group,
        run: StoredRun,
        due: Sequence[DueEpisode],
        *,
        failed: Collection[str],
    ) -> None:
        """Mark the episodes as read, by all stages but the `failed` ones.

        Raises StaleRead if one of them was changed since it was read.
        """
        at = self._clock.now()
        done = await mark_learned(
            connection,
            group.tenant,
            due,
            run_id=run.id,
            stages=[stage.name for stage in self._stages if stage.name in run.stages and stage.name not in failed],
            all_stages=[stage.name for stage in self._stages],
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
            stages[name] = {**total.as_json(), "seconds": round(took_s, 6), "position": self._names.index(name)}
        await add_to_report(connection, run, group, episodes=episodes, set_aside=0, stages=stages, at=self._clock.now())

    async def caller(self, group: Group) -> Caller:
        """Return a caller that may read and write exactly what belongs to the group, and read what is unscoped."""
        return await caller_of(self._directory, group, ACTOR)


async def _isolated(
    stage: Stage, batch: LearningBatch, salience: dict[UUID, SalienceBefore], attempt: Attempt
) -> StageReport | None:
    """Let a stage learn in a savepoint; None where it fails, and then its error is in `attempt.failed`.

    What must be repeated as a whole, or tells that the database cannot be used, is raised.
    """
    noted = {*salience}
    try:
        async with savepoint(batch.connection):
            return await stage.learn(batch)
    except Exception as error:
        if isinstance(error, WriteCollision) or is_outage(error):
            raise
        attempt.failed[stage.name] = error
        for record in salience.keys() - noted:
            del salience[record]
        return None
