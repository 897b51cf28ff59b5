"""Reading soon: a language model reads new texts within seconds of their capture. See docs/learning.md.

What is read so belongs to a run of its own kind, which is reported and undone like one of consolidation. It ends after
a while, or when an administrator undoes it, and the next text begins another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from stratagraph.memory.learning.extraction.extractor import ExtractorUnavailable
from stratagraph.memory.learning.extraction.limits import Budget, Limits
from stratagraph.memory.learning.extraction.queueing import NAME
from stratagraph.memory.learning.extraction.reader import Reading, TextReader
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter
from stratagraph.store.learning.extraction import Claim
from stratagraph.store.learning.runs import (
    StoredRun,
    begin_run,
    end_soon_run,
    finish_soon_reports,
    spent_soon,
    unfinished_run,
)
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Database, Role

SETTLE = timedelta(seconds=2)  # for which a text waits for its neighbours, so that one request reads all of them
SHARE = 0.5  # of the limits of a run; the rest is left to the run, which reads more texts with each request
NEW = timedelta(minutes=1)  # after which a text is an older one
KEPT = 0.5  # of what may be used to read soon, for new texts; older ones, as after an outage, use the rest
OLDEST = datetime(1, 1, 2, tzinfo=UTC)
RUN = timedelta(minutes=10)  # after which a run ends, so that there are few of them and each can be undone soon
STEPS = 20  # claims of one turn
TURN_S = 60.0  # after which a turn begins no further step
ATTEMPTS = 1  # at one request; the texts are tried again by a later turn, and their state shows it
FIRST_PAUSE = timedelta(seconds=5)  # after an endpoint did not answer; doubles with each attempt
LONGEST_PAUSE = timedelta(minutes=10)
LATER = timedelta(minutes=1)  # after which texts are tried again that did not fit into the budget, or changed
MOST_UNANSWERED = 1_000  # claims without an answer that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class SoonDone:
    """What one turn did, as counts, and whether texts may be left that are due."""

    counts: Counter[str]
    more: bool


class ReadingSoon:
    """Reads texts as soon as they have waited for their neighbours. One server does so at a time."""

    def __init__(
        self, database: Database, clock: Clock, reader: TextReader, writer: GroupWriter, *, limits: Limits
    ) -> None:
        self._database = database
        self._clock = clock
        self._reader = reader
        self._writer = writer
        self._limits = limits.shared(SHARE)
        self._older_from = OLDEST  # when older texts are looked for again
        self._answers = 0  # of the endpoint, since this process began
        self._unanswered: dict[UUID, int] = {}  # the first record of claims without one, and how many there were then

    async def turn(self, now: datetime) -> SoonDone:
        """Read the texts that are due at `now`, in bounded steps.

        Raises ExtractorUnavailable if the endpoint does not answer; the texts are tried again later.
        """
        await self._end_run(now)
        due = now - SETTLE
        if self._limits.is_nothing or not await self._reader.waiting(due, most=1):
            return SoonDone(counts=Counter(), more=False)
        budgets = await self._budgets(now)
        counts: Counter[str] = Counter()
        began = time.monotonic()
        for _ in range(STEPS):
            if time.monotonic() - began > TURN_S:
                break
            claim = await self._claim(now, due, budgets)
            if claim is None:
                return SoonDone(counts=counts, more=False)
            budget = budgets.setdefault(claim.group.tenant, Budget.left(self._limits))
            reading = Reading(
                self._writer,
                await self._run(),
                claim,
                budget,
                replace(budget),
                next_try=now + LATER,
                attempts=ATTEMPTS,
            )
            try:
                done = await self._reader.read(reading)
            except ExtractorUnavailable:
                await self._leave(reading)
                raise
            except asyncio.CancelledError:  # the server stops, and another one need not wait for the lease to run out
                with contextlib.suppress(StoreUnavailable):
                    await asyncio.shield(self._reader.release(claim))
                raise
            if done.report.inputs:
                self._answers += 1
                self._unanswered.pop(claim.records[0], None)
            counts.update(_counts(done))
        return SoonDone(counts=counts, more=True)

    async def _claim(self, now: datetime, due: datetime, budgets: Mapping[int, Budget]) -> Claim | None:
        """Claim new texts or, if there are none, older ones of tenants that have enough left for new texts to come."""
        spent = [tenant for tenant, budget in budgets.items() if budget.is_spent]
        found = await self._reader.claim_new(now, due=due, since=now - NEW, spent=spent)
        if found is None and now >= self._older_from:
            kept = self._limits.shared(KEPT)
            spent = [tenant for tenant, budget in budgets.items() if not budget.exceeds(kept)]
            found = await self._reader.claim_new(now, due=due, since=OLDEST, spent=spent)
            if found is None and spent:  # many texts of theirs may be in the queue, which take time to pass over
                self._older_from = now + LATER
        return found

    async def _budgets(self, now: datetime) -> dict[int, Budget]:
        """Return what is left to each tenant that has spent something within the interval of a run."""
        async with self._database.background(Role.JOBS) as connection:
            spent = await spent_soon(connection, NAME, since=now - self._limits.interval)
        return {tenant: Budget.left(self._limits, costs) for tenant, costs in spent.items()}

    async def _run(self) -> StoredRun:
        """Return the open run of texts that are read soon, after beginning one if there is none."""
        async with self._database.background(Role.JOBS) as connection:
            run = await unfinished_run(connection, is_soon=True)
            if run is None:
                at = self._clock.now()
                await finish_soon_reports(connection, at=at)
                while run is None:  # another server may have begun one, or ended it again
                    run = await begin_run(connection, new_id(), stages=[NAME], at=at, is_soon=True)
                    run = run or await unfinished_run(connection, is_soon=True)
        return run

    async def _end_run(self, now: datetime) -> None:
        """End the open run if it began long ago."""
        async with self._database.background(Role.JOBS) as connection:
            run = await unfinished_run(connection, is_soon=True)
            if run is not None and run.began_at + RUN <= now:
                await end_soon_run(connection, run.id, at=now)

    async def _leave(self, reading: Reading) -> None:
        """Return texts about which the endpoint did not answer.

        If it has answered about others since it did not answer about these before, one of these may be the reason: they
        are read one by one then.
        """
        first, attempts = reading.claim.records[0], reading.claim.attempts
        pause = min(FIRST_PAUSE * 2.0 ** min(attempts - 1, 20), LONGEST_PAUSE)
        await self._reader.give_back(
            reading,
            "the endpoint did not answer",
            until=self._clock.now() + pause,
            has_failed=True,
            is_alone=self._unanswered.get(first, self._answers) < self._answers,
        )
        if len(self._unanswered) > MOST_UNANSWERED:
            self._unanswered.clear()
        self._unanswered[first] = self._answers


def _counts(done: FollowedUp) -> Counter[str]:
    report = done.report
    costs = {unit: int(amount) for unit, amount in report.cost.items()}
    return Counter(
        texts_read=report.inputs,
        records_learned=report.outputs,
        records_merged=report.merges,
        set_aside=done.set_aside,
        **costs,
    )
