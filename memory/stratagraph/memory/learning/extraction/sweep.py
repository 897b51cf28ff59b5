"""Stage 3: facts that a language model extracts from queued episodes (docs/learning-extraction.md).

Each step reads one part of one episode: the claim, the texts and the facts are transactions of their own, and the
request lies between them. A process that is killed leaves its claim, which runs out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog

from stratagraph.memory.learning.drafting import Learned
from stratagraph.memory.learning.extraction.answers import ExtractedFact, Read
from stratagraph.memory.learning.extraction.asking import FIRST_PAUSE_S, Asking, NotToBeSent
from stratagraph.memory.learning.extraction.extractor import Extractor, ExtractorUnavailable
from stratagraph.memory.learning.extraction.items import items_of
from stratagraph.memory.learning.extraction.limits import Budget, Limits
from stratagraph.memory.learning.extraction.prompt import Item, parts
from stratagraph.memory.learning.extraction.queueing import NAME, SUMMARY
from stratagraph.memory.learning.reading import episode_of
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.learning.sweep import GroupWriter, Swept
from stratagraph.memory.retrying import StaleRead, is_outage
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

    What the limits leave over waits for the next run.
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
        self._run: UUID | None = None  # that the budget belongs to
        self._budget = Budget(0, 0)
        self._has_set_aside = False  # in the run, an episode for which the endpoint did not answer

    async def is_due(self, now: datetime) -> bool:
        async with self._database.background(Role.JOBS) as connection:
            return await count_waiting(connection, below=self._directory.vault.seal_from, now=now, most=1) > 0

    async def step(self, writer: GroupWriter, run: StoredRun) -> Swept | None:
        """Read one part of the episode that has waited longest; None if none is left or the budget is spent.

        An endpoint that does not answer is asked again in the next run. If it did not answer about the same episode
        before, that is set aside, and one other episode is tried.
        """
        await self._begin(run)
        if self._budget.is_spent:
            return None
        async with self._database.background(Role.JOBS) as connection:
            claim = await claim_episode(
                connection, owner=self._owner, below=self._directory.vault.seal_from, now=run.began_at
            )
        if claim is None:
            return None
        before = replace(self._budget)
        try:
            report = await self._read(writer, run, claim)
        except ExtractorUnavailable as error:
            return Swept(claim.group, await self._unanswered(writer, run, claim, before, error))
        except NotToBeSent:  # it is claimed no more if it is too sensitive, and gone if it was erased
            report = await self._put_off(writer, run, claim, before, "erased, or too sensitive by now")
        except Exception as error:
            if is_outage(error):
                raise
            report = await self._set_aside(writer, run, claim, before, error)
            return Swept(claim.group, report, set_aside=1)
        return Swept(claim.group, report)

    async def _begin(self, run: StoredRun) -> None:
        """Take the budget of the run, of which another process may have spent a part."""
        if self._run == run.id:
            return
        async with self._database.background(Role.JOBS) as connection:
            spent = await spent_by(connection, run.id, self.name)
        self._budget = Budget(
            self._limits.requests - int(spent.get("requests", 0)), self._limits.tokens - int(spent.get("tokens", 0))
        )
        self._run, self._has_set_aside = run.id, False

    async def _read(self, writer: GroupWriter, run: StoredRun, claim: Claim) -> StageReport:
        """Ask about one part and store what it says."""
        before = replace(self._budget)
        if claim.attempts > MAX_ATTEMPTS:
            raise TooManyAttempts
        divided, predicates = await self._parts(claim)
        if claim.part >= len(divided):  # what was left of it has been erased
            return await self._store(writer, run, claim, Read(facts=(), ungrounded=0), is_last=True, before=before)
        part = divided[claim.part]

        async def may_send() -> bool:
            async with self._database.background(Role.JOBS) as connection:
                ids = {claim.episode, *(item.record for item in part)}
                return await may_be_sent(connection, claim.group, ids, below=self._directory.vault.seal_from)

        asking = Asking(self._extractor, self._budget, self._first_pause_s)
        found = await asking.read(part, predicates, may_send=may_send)
        if found is None:
            report = await self._put_off(writer, run, claim, before, "left for the next run by the limits")
            self._budget = Budget(0, 0)
            return report
        is_last = claim.part + 1 >= len(divided)
        return await self._store(writer, run, claim, found, is_last=is_last, before=before)

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

    async def _store(
        self, writer: GroupWriter, run: StoredRun, claim: Claim, found: Read, *, is_last: bool, before: Budget
    ) -> StageReport:
        """Store the facts found in a part, and note that it has been read, in one transaction."""
        cost = self._cost(before)
        below = self._directory.vault.seal_from

        async def work(batch: LearningBatch) -> StageReport:
            if not await finish_part(batch.connection, claim, is_last=is_last):
                return StageReport(skips={"erased or read by another server": 1}, cost=cost)
            records = {fact.source.record for fact in found.facts}
            kept = await may_be_kept(batch, records)
            facts = [fact for fact in found.facts if fact.source.record in kept]
            refused, ids = 0, []
            for fact in facts:
                try:
                    async with savepoint(batch.connection):
                        ids += await batch.learner.create_all([_learned(fact, self._extractor.name)])
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

        return await writer.write(run, claim.group, self.name, work)

    async def _put_off(
        self, writer: GroupWriter, run: StoredRun, claim: Claim, before: Budget, reason: str
    ) -> StageReport:
        """Leave an episode to the next run; return the report, with what was asked in vain."""
        return await self._give_back(writer, run, claim, before, reason, until=run.began_at + RESOLUTION)

    async def _unanswered(
        self, writer: GroupWriter, run: StoredRun, claim: Claim, before: Budget, error: ExtractorUnavailable
    ) -> StageReport:
        """Leave an episode about which the endpoint did not answer to a later run, and with it the others.

        If it failed before, what fails may be the episode: once in a run it is set aside, and the others are read.
        """
        if claim.attempts > 1 and not self._has_set_aside:
            self._has_set_aside = True
            return await self._set_aside(writer, run, claim, before, error, attempts=1)
        _log.warning("episodes are not read until the next run", reason=error.message)
        until = run.began_at + RESOLUTION
        reason = "the endpoint did not answer"
        report = await self._give_back(writer, run, claim, before, reason, until=until, attempts=1)
        self._budget = Budget(0, 0)
        return report

    async def _set_aside(
        self,
        writer: GroupWriter,
        run: StoredRun,
        claim: Claim,
        before: Budget,
        error: Exception,
        *,
        attempts: int = 0,
    ) -> StageReport:
        """Set an episode aside that could not be read, for a while that doubles with each time."""
        kind = type(error).__name__
        _log.warning("an episode could not be read", episode=str(claim.episode), error=kind)
        async with self._database.background(Role.JOBS) as connection:
            until = await set_aside(connection, JOB, claim.key, error, at=self._clock.now())
        return await self._give_back(writer, run, claim, before, f"set aside: {kind}", until=until, attempts=attempts)

    async def _give_back(
        self,
        writer: GroupWriter,
        run: StoredRun,
        claim: Claim,
        before: Budget,
        reason: str,
        *,
        until: datetime,
        attempts: int = 0,
    ) -> StageReport:
        report = StageReport(skips={reason: 1}, cost=self._cost(before))

        async def work(batch: LearningBatch) -> StageReport:
            await postpone_episode(batch.connection, claim, until=until, attempts=attempts)
            return report

        return await writer.write(run, claim.group, self.name, work)

    def _cost(self, before: Budget) -> dict[str, float]:
        requests, tokens = before.requests - self._budget.requests, before.tokens - self._budget.tokens
        return {"requests": float(requests), "tokens": float(tokens)} if requests or tokens else {}


def _learned(fact: ExtractedFact, model: str) -> Learned:
    return Learned(
        type=MemoryType.SEMANTIC,
        payload={"subject": fact.subject, "predicate": fact.predicate, "object": fact.object},
        sources=(fact.source.record,),
        confidence=CONFIDENCE,
        occurred_at=fact.source.at,
        rationale=f"extracted by {model} from record {fact.source.record}",
        yields=True,
    )
