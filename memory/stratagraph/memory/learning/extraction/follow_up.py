"""The follow-up `semantic-extractor`: facts that a language model extracts from queued episodes.

See docs/learning.md.
Each step reads one part of one episode: the claim, the texts and the facts are transactions of their own, and the
request lies between them. A process that is killed leaves its claim, which runs out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import structlog

from stratagraph.memory.learning.drafting import LearnedRecord
from stratagraph.memory.learning.extraction.answers import ExtractedFact, Read
from stratagraph.memory.learning.extraction.asking import FIRST_PAUSE_S, Asking, NotToBeSent
from stratagraph.memory.learning.extraction.extractor import Extractor, ExtractorUnavailable
from stratagraph.memory.learning.extraction.items import items_of
from stratagraph.memory.learning.extraction.limits import Budget, Limits
from stratagraph.memory.learning.extraction.prompt import Item, parts
from stratagraph.memory.learning.extraction.queueing import NAME, SUMMARY
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter
from stratagraph.memory.learning.reading import episode_of
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.requests.retrying import StaleRead, is_outage
from stratagraph.store.erasure.pruning import schedule_learned
from stratagraph.store.jobs.set_aside import set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.episodes import fetch_members
from stratagraph.store.learning.extraction import (
    Claim,
    claim_episode,
    count_waiting,
    fetch_episode,
    finish_part,
    hold_sources,
    may_be_sent,
    postpone_episode,
)
from stratagraph.store.learning.runs import StoredRun, spent_by
from stratagraph.store.model.clock import RESOLUTION, Clock
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.fact_predicates import BUILT_IN
from stratagraph.store.postgres.database import Database, Role, savepoint
from stratagraph.store.records.predicates import registered_by

JOB = "consolidate"  # which sets aside what cannot be read
CONFIDENCE = 0.5  # of an extracted fact, below that of an observation
MAX_ATTEMPTS = 5  # at one part, by processes that died over it; then it is set aside
MAX_PREDICATES = 100  # that are named to the model
_log = structlog.get_logger(__name__)


class TooManyAttempts(StratagraphError):
    """No process could finish reading this part of the episode."""


class Extraction:
    """Reads queued episodes with a language model. `owner` names this server among all that read.

    Each tenant has limits of its own in a run; what they leave over waits for the next run. No report says so, because
    the limits are used up by all scopes of the tenant, of which a reader of the report may know only some.
    """

    name = NAME
    summary = SUMMARY

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        extractor: Extractor,
        *,
        owner: str,
        limits: Limits | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._extractor = extractor
        self._owner = owner
        self._limits = limits or Limits()
        self._first_pause_s = first_pause_s
        self._run: UUID | None = None  # to which the rest belongs
        self._budgets: dict[int, Budget] = {}  # by tenant
        self._is_silent = False  # the endpoint did not answer
        self._has_set_aside = False  # an episode for which the endpoint did not answer

    async def is_due(self, now: datetime) -> bool:
        return await self.waiting(now, most=1) > 0

    async def waiting(self, now: datetime, *, most: int) -> int:
        async with self._database.background(Role.JOBS) as connection:
            return await count_waiting(connection, below=self._directory.vault.seal_from, now=now, most=most)

    async def step(self, writer: GroupWriter, run: StoredRun) -> FollowedUp | None:
        """Read one part of the episode that has waited longest; None if none is left that the budgets suffice for.

        An endpoint that does not answer is asked again in the next run. If it did not answer about the same episode
        before, that is set aside, and one other episode is tried.
        """
        await self._begin(run)
        if self._is_silent or Budget.left(self._limits, {}).is_spent:
            return None
        async with self._database.background(Role.JOBS) as connection:
            claim = await claim_episode(
                connection,
                owner=self._owner,
                below=self._directory.vault.seal_from,
                now=run.began_at,
                spent=[tenant for tenant, budget in self._budgets.items() if budget.is_spent],
            )
        if claim is None:
            return None
        budget = self._budgets.setdefault(claim.group.tenant, Budget.left(self._limits, {}))
        reading = _Reading(writer, run, claim, budget, replace(budget))
        try:
            report = await self._read(reading)
        except ExtractorUnavailable as error:
            return FollowedUp(claim.group, await self._unanswered(reading, error))
        except NotToBeSent:  # if it is too sensitive, it is not claimed again; if it was erased, it is not queued
            report = await self._give_back(reading, "erased, or too sensitive by now", until=_next_run(run))
        except Exception as error:
            if is_outage(error):
                raise
            return FollowedUp(claim.group, await self._set_aside(reading, error), set_aside=1)
        return FollowedUp(claim.group, report)

    async def _begin(self, run: StoredRun) -> None:
        """Take the budgets of the run, of which another process may have spent a part."""
        if self._run == run.id:
            return
        async with self._database.background(Role.JOBS) as connection:
            spent = await spent_by(connection, run.id, self.name)
        self._budgets = {tenant: Budget.left(self._limits, costs) for tenant, costs in spent.items()}
        self._run, self._is_silent, self._has_set_aside = run.id, False, False

    async def _read(self, reading: _Reading) -> StageReport:
        """Ask about one part and store what it says."""
        claim = reading.claim
        if claim.attempts > MAX_ATTEMPTS:
            raise TooManyAttempts
        divided, predicates = await self._parts(claim)
        if claim.part >= len(divided):  # what was left of it has been erased
            return await self._store(reading, Read(facts=(), ungrounded=0), is_last=True)
        part = divided[claim.part]

        async def may_send() -> bool:
            async with self._database.background(Role.JOBS) as connection:
                ids = {claim.episode, *(item.record for item in part)}
                return await may_be_sent(connection, claim.group, ids, below=self._directory.vault.seal_from)

        asking = Asking(self._extractor, reading.budget, self._first_pause_s)
        found = await asking.read(part, predicates, may_send=may_send)
        if found is None:
            return await self._leave(reading)
        return await self._store(reading, found, is_last=claim.part + 1 >= len(divided))

    async def _parts(self, claim: Claim) -> tuple[list[tuple[Item, ...]], Sequence[str]]:
        """Return the texts of the claimed episode in parts, and predicates for the model to use."""
        tenant = await self._directory.tenant_by_id(claim.group.tenant)
        scope = (await self._directory.scope_names([claim.group.scope]))[claim.group.scope]
        async with self._database.background(Role.JOBS) as connection:
            due = await fetch_episode(connection, *claim.key)
            if due is None:
                return [], ()
            members = await fetch_members(connection, tenant, claim.group, [claim.episode])
            own = await registered_by(connection, tenant)
        if claim.episode not in members:
            return [], ()
        episode = episode_of(due, members[claim.episode], scope=scope, group=claim.group, named={})
        return parts(items_of(episode)), sorted({*BUILT_IN, *own})[:MAX_PREDICATES]

    async def _store(self, reading: _Reading, found: Read, *, is_last: bool) -> StageReport:
        """Store the facts found in a part, and note that it has been read, in one transaction."""
        claim, cost = reading.claim, reading.cost
        below = self._directory.vault.seal_from

        async def work(batch: LearningBatch) -> StageReport:
            if not await finish_part(batch.connection, claim, is_last=is_last):
                return StageReport(skips={"erased or read by another server": 1}, cost=cost)
            learned = [_learned(fact, claim.episode, self._extractor.name) for fact in found.facts]
            needed = [
                {*one.sources, fact.source.record, *fact.others} for one, fact in zip(learned, found.facts, strict=True)
            ]
            kept = await may_be_kept(batch, set().union(*needed))
            refused, ids = 0, []
            for one, records in zip(learned, needed, strict=True):
                if not records <= kept:
                    continue
                try:
                    async with savepoint(batch.connection):
                        ids += await batch.learner.create_all([one])
                except InvalidInput:
                    refused += 1
            if await hold_sources(batch.connection, batch.group, kept, below=below) != kept:
                raise StaleRead  # one was erased since
            if is_last:
                await schedule_learned(batch.connection, claim.group.tenant, [claim.episode], at=self._clock.now())
            new = batch.learner.created(ids)
            skips = {"facts that the text does not state": found.ungrounded, "facts that cannot be stored": refused}
            return StageReport(
                inputs=1,
                outputs=len(new),
                merges=len(ids) - len(new),
                skips={reason: count for reason, count in skips.items() if count},
                cost=cost,
            )

        async def may_be_kept(batch: LearningBatch, records: set[UUID]) -> set[UUID]:
            present = await batch.learner.records(records)
            return {id_ for id_, record in present.items() if record.sensitivity == batch.group.sensitivity}

        return await reading.writer.write(reading.run, claim.group, self.name, work)

    async def _leave(self, reading: _Reading) -> StageReport:
        """Leave an episode, and all others of its tenant, to the next run because of the limits.

        The report of the group has what was asked in vain, if anything was, and not that there are limits.
        """
        _log.info(
            "extraction limit of a tenant reached; its episodes wait for the next run",
            tenant=reading.claim.group.tenant,
        )
        report = StageReport()
        if reading.cost:
            report = await self._give_back(reading, None, until=_next_run(reading.run))
        else:
            async with self._database.background(Role.JOBS) as connection:
                await postpone_episode(connection, reading.claim, until=_next_run(reading.run))
        reading.budget.spend_all()
        return report

    async def _unanswered(self, reading: _Reading, error: ExtractorUnavailable) -> StageReport:
        """Leave an episode about which the endpoint did not answer to a later run, and with it the others.

        If it failed before, what fails may be the episode: once in a run it is set aside, and the others are read.
        """
        if reading.claim.attempts > 1 and not self._has_set_aside:
            self._has_set_aside = True
            return await self._set_aside(reading, error, attempts=1)
        _log.warning("extraction stopped until the next run: the endpoint is not available", reason=error.message)
        self._is_silent = True
        return await self._give_back(reading, "the endpoint did not answer", until=_next_run(reading.run), attempts=1)

    async def _set_aside(self, reading: _Reading, error: Exception, *, attempts: int = 0) -> StageReport:
        """Set an episode aside that could not be read, for a while that doubles with each time."""
        claim, kind = reading.claim, type(error).__name__
        _log.warning("extraction of an episode failed; it is set aside", episode=str(claim.episode), error=kind)
        async with self._database.background(Role.JOBS) as connection:
            until = await set_aside(connection, JOB, claim.key, error, at=self._clock.now(), stage=self.name)
        return await self._give_back(reading, f"set aside: {kind}", until=until, attempts=attempts)

    async def _give_back(
        self, reading: _Reading, reason: str | None, *, until: datetime, attempts: int = 0
    ) -> StageReport:
        """Give an episode back, to be claimed from `until` on; return the report, with the reason if there is one."""
        report = StageReport(skips={reason: 1} if reason is not None else {}, cost=reading.cost)

        async def work(batch: LearningBatch) -> StageReport:
            await postpone_episode(batch.connection, reading.claim, until=until, attempts=attempts)
            return report

        return await reading.writer.write(reading.run, reading.claim.group, self.name, work)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The reading of one part for a run: its claim, the budget of its tenant, and what that was `before`."""

    writer: GroupWriter
    run: StoredRun
    claim: Claim
    budget: Budget
    before: Budget

    @property
    def cost(self) -> dict[str, float]:
        """What reading it has cost so far, by unit."""
        return self.budget.cost_since(self.before)


def _next_run(run: StoredRun) -> datetime:
    """Return the earliest beginning of a later run."""
    return run.began_at + RESOLUTION


def _learned(fact: ExtractedFact, episode: UUID, model: str) -> LearnedRecord:
    """Return a fact to be stored.

    It rests on the record that it quotes. With words of other records it rests on the episode instead, which no longer
    supports what was learned from it once one of its records is erased.
    """
    return LearnedRecord(
        type=MemoryType.SEMANTIC,
        payload={"subject": fact.subject, "predicate": fact.predicate, "object": fact.object},
        sources=(episode if fact.others else fact.source.record,),
        confidence=CONFIDENCE,
        occurred_at=fact.source.at,
        rationale=f"extracted by {model} from record {fact.source.record}",
        yields=True,
    )
