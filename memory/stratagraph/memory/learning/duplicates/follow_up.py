"""The follow-up `duplicates`: merge entities and facts that say the same, or list them for a decision.

See docs/learning.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.learning.duplicates.finding import Search
from stratagraph.memory.learning.duplicates.following import Following
from stratagraph.memory.learning.duplicates.merging import RATIONALE, Compared, compare_claimed
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter, Queued
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.requests.retrying import is_outage
from stratagraph.store.event_log import get_logger
from stratagraph.store.jobs.set_aside import set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.duplicates import (
    claim_due,
    clear_compared,
    count_due,
    next_group,
    queue_set_aside,
    withdraw_due,
)
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.runs import StoredRun
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import error_kind
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records.reading import Reader

JOB = "consolidate"  # which sets aside what cannot be compared
CLAIMED = 300  # queued records compared at once
MOST_FAILED = 10  # records of one group that are set aside in one run
_log = get_logger(__name__)


class Duplicates:
    """Compares the entities and facts that are new or have changed with those of their group.

    `owner` names this server as a reader of the change feed.
    """

    name = "duplicates"
    summary = "Merge entities and facts that say the same, and list those that may."

    def __init__(self, database: Database, directory: Directory, clock: Clock, *, owner: str) -> None:
        self._database = database
        self._clock = clock
        self._following = Following(database, directory, owner=owner)
        self._run: UUID | None = None  # for which the queue is complete
        self._left: int | None = None  # records in the queue, once they were counted in the run
        self._passed: Group | None = None  # the last group that is left to the next run
        self._failed: Counter[Group] = Counter()  # records set aside in the run
        self._size = CLAIMED  # of the next step

    async def queue(self, now: datetime) -> AsyncIterator[Queued]:
        """Queue what has changed or is to be tried again; yield after each transaction."""
        async with self._database.background(Role.JOBS) as connection:
            await queue_set_aside(connection, JOB, now=now)
        async for step in self._following.steps():
            yield step

    async def unqueued(self, what: str, *, most: int) -> int:
        return await self._following.left(what, most=most)

    async def is_due(self, now: datetime) -> bool:
        """Return whether anything is queued."""
        async with self._database.background(Role.JOBS) as connection:
            return await next_group(connection, None) is not None

    async def waiting(self, now: datetime, *, most: int) -> int:
        """Return the number of queued records. They are counted once a run: counting takes longer than a step."""
        if self._left is None:
            async with self._database.background(Role.JOBS) as connection:
                self._left = await count_due(connection, most=most)
        return self._left

    async def step(self, writer: GroupWriter, run: StoredRun) -> FollowedUp | None:
        """Compare queued records of the first group that has some; at first, queue what the run has changed, too.

        Of records that cannot be compared, fewer are at once, and one that fails alone is set aside. After MOST_FAILED
        of a group, the rest of it is left to the next run.
        """
        if self._run != run.id:
            async for _ in self.queue(run.began_at):
                self._left = None
            self._run, self._passed, self._size = run.id, None, CLAIMED
            self._failed.clear()
        async with self._database.background(Role.JOBS) as connection:
            group = await next_group(connection, self._passed)
            if group is None:
                await clear_compared(connection, JOB, now=run.began_at)
                self._left = None
                return None
        return await self._step(writer, run, group)

    async def _step(self, writer: GroupWriter, run: StoredRun, group: Group) -> FollowedUp:
        while True:
            taken: list[UUID] = []
            compare = partial(_compare, limit=self._size, taken=taken)
            try:
                report = await writer.write(run, group, self.name, compare)
            except Exception as error:
                if is_outage(error):
                    raise
                if self._size == 1:
                    return await self._set_aside(writer, run, group, taken, error)
                self._size //= 2
            else:
                self._size = min(CLAIMED, self._size * 2)
                self._note_taken(report.inputs)
                return FollowedUp(group, report)

    async def _set_aside(
        self, writer: GroupWriter, run: StoredRun, group: Group, failed: Sequence[UUID], error: Exception
    ) -> FollowedUp:
        """Set aside the record of a group that failed alone, with `error`.

        If `failed` is empty, the failure came before any record was taken, and the group is left to the next run.
        """
        kind = error_kind(error)
        _log.warning("comparison of a record failed; it is set aside", error=kind, records=[str(id_) for id_ in failed])
        async with self._database.background(Role.JOBS) as connection:
            withdrawn = await withdraw_due(connection, group.tenant, failed)
            for id_ in withdrawn:
                await set_aside(connection, JOB, (group.tenant, id_), error, at=self._clock.now(), stage=self.name)
        self._note_taken(len(withdrawn))
        self._failed[group] += 1
        if self._failed[group] >= MOST_FAILED or not failed:
            self._passed, self._size = group, CLAIMED

        async def only_report(_: LearningBatch) -> StageReport:
            return StageReport(skips={f"set aside: {kind}": len(withdrawn)} if withdrawn else {})

        return FollowedUp(group, await writer.write(run, group, self.name, only_report), set_aside=len(withdrawn))

    def _note_taken(self, records: int) -> None:
        if self._left is not None:
            self._left = max(0, self._left - records)


async def _compare(batch: LearningBatch, *, limit: int, taken: list[UUID]) -> StageReport:
    """Compare at most `limit` queued records, and note in `taken` which they are."""

    async def merge(cluster: Sequence[UUID]) -> UUID:
        return await batch.learner.merge(cluster[0], cluster[1:], rationale=RATIONALE)

    level = sealing_level(batch.directory.vault)
    search = Search(
        connection=batch.connection,
        tenant=batch.caller.tenant,
        group=batch.group,
        reader=Reader(batch.connection, batch.directory, batch.caller, batch.run.now),
        is_sealed=level is not None and batch.group.sensitivity >= level,
    )
    taken[:] = await claim_due(batch.connection, batch.group, limit=limit)
    return _report(await compare_claimed(search, merge, taken, at=batch.run.now))


def _report(done: Compared) -> StageReport:
    skips = {"pairs listed for a decision": done.listed, "merges refused, listed instead": done.refused}
    return StageReport(
        inputs=done.taken,
        outputs=0,
        merges=done.merged,
        skips={reason: count for reason, count in skips.items() if count},
        cost={"pairs": float(done.pairs)},
    )
