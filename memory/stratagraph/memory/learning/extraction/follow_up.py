"""The follow-up `semantic-extractor`: in a run of consolidation, a language model reads the texts that still wait.

Most texts are read soon after their capture (`soon`). See docs/learning.md.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.learning.extraction.extractor import ExtractorUnavailable
from stratagraph.memory.learning.extraction.limits import Budget, Limits
from stratagraph.memory.learning.extraction.queueing import NAME, SUMMARY
from stratagraph.memory.learning.extraction.reader import Reading, TextReader
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter
from stratagraph.store.event_log import get_logger
from stratagraph.store.learning.runs import StoredRun, spent_by, spent_soon
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.postgres.database import Database, Role

_log = get_logger(__name__)


class Extraction:
    """Reads queued texts in runs of consolidation.

    Each tenant has limits of its own in a run, less what reading its texts soon has cost since the last one; what they
    leave over waits for the next run. No report says so, because the limits are used up by all scopes of the tenant, of
    which a reader of the report may know only some.
    """

    name = NAME
    summary = SUMMARY

    def __init__(self, database: Database, reader: TextReader, *, limits: Limits) -> None:
        self._database = database
        self._reader = reader
        self._limits = limits
        self._run: UUID | None = None  # to which the rest belongs
        self._budgets: dict[int, Budget] = {}  # by tenant
        self._is_silent = False  # the endpoint did not answer
        self._has_set_aside = False  # texts for which the endpoint did not answer

    async def is_due(self, now: datetime) -> bool:
        return await self.waiting(now, most=1) > 0

    async def waiting(self, now: datetime, *, most: int) -> int:
        return await self._reader.waiting(now, most=most)

    async def step(self, writer: GroupWriter, run: StoredRun) -> FollowedUp | None:
        """Read the texts that have waited longest; None if none are left that the budgets suffice for.

        An endpoint that does not answer is asked again in the next run. If it did not answer about the same texts
        before, those are set aside, and others are tried once.
        """
        await self._begin(run)
        if self._is_silent or self._limits.is_nothing:
            return None
        spent = [tenant for tenant, budget in self._budgets.items() if budget.is_spent]
        claim = await self._reader.claim(run.began_at, spent=spent)
        if claim is None:
            return None
        budget = self._budgets.setdefault(claim.group.tenant, Budget.left(self._limits))
        reading = Reading(writer, run, claim, budget, replace(budget), next_try=_next_run(run))
        try:
            return await self._reader.read(reading)
        except ExtractorUnavailable as error:
            return await self._unanswered(reading, error)

    async def _begin(self, run: StoredRun) -> None:
        """Take the budgets of the run, of which another process, or reading soon, may have spent a part."""
        if self._run == run.id:
            return
        async with self._database.background(Role.JOBS) as connection:
            spent = await spent_by(connection, run.id, self.name)
            soon = await spent_soon(connection, self.name, since=run.began_at - self._limits.interval)
        self._budgets = {
            tenant: Budget.left(self._limits, spent.get(tenant, {}), soon.get(tenant, {}))
            for tenant in spent.keys() | soon.keys()
        }
        self._run, self._is_silent, self._has_set_aside = run.id, False, False

    async def _unanswered(self, reading: Reading, error: ExtractorUnavailable) -> FollowedUp:
        """Leave texts about which the endpoint did not answer to a later run, and with them the others.

        If they failed before, what fails may be one of them: once in a run they fail, and others are read.
        """
        if reading.claim.attempts > 1 and not self._has_set_aside:
            self._has_set_aside = True
            return await self._reader.fail(reading, error)
        _log.warning("extraction stopped until the next run: the endpoint is not available", reason=error.message)
        self._is_silent = True
        report = await self._reader.give_back(
            reading, "the endpoint did not answer", until=_next_run(reading.run), has_failed=True
        )
        return FollowedUp(reading.claim.group, report)


def _next_run(run: StoredRun) -> datetime:
    """Return the earliest beginning of a later run."""
    return run.began_at + RESOLUTION
