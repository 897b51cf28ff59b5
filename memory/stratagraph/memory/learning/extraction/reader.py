"""The reader: asks a language model about texts of the queue, and stores what they say. See docs/learning.md.

Some texts of one episode are read at a time: the claim, the texts and what they say are transactions of their own, and
the request lies between them. A process that is killed leaves its claim, which runs out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from stratagraph.memory.learning.drafting import LearnedRecord
from stratagraph.memory.learning.extraction.annotating import annotate
from stratagraph.memory.learning.extraction.answers import ExtractedFact, Read
from stratagraph.memory.learning.extraction.asking import ATTEMPTS, FIRST_PAUSE_S, Asking, NotToBeSent
from stratagraph.memory.learning.extraction.extractor import Extractor, ExtractorUnavailable
from stratagraph.memory.learning.extraction.items import items_of
from stratagraph.memory.learning.extraction.limits import Budget
from stratagraph.memory.learning.extraction.prompt import PART_CHARACTERS, Item, known, parts, pieces
from stratagraph.memory.learning.extraction.queueing import NAME
from stratagraph.memory.learning.follow_ups import FollowedUp, GroupWriter
from stratagraph.memory.learning.reading import said_in
from stratagraph.memory.learning.stage import LearningBatch, StageReport
from stratagraph.memory.requests.retrying import StaleRead, is_outage
from stratagraph.store.erasure.pruning import schedule_learned
from stratagraph.store.event_log import get_logger
from stratagraph.store.jobs.set_aside import FIRST_PAUSE_S as ASIDE_S
from stratagraph.store.jobs.set_aside import clear_set_aside, set_aside
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.episodes import StoredMember
from stratagraph.store.learning.extraction import (
    Claim,
    StoredText,
    claim_texts,
    count_waiting,
    fetch_texts,
    finish_texts,
    hold_sources,
    may_be_sent,
    release_texts,
    return_texts,
)
from stratagraph.store.learning.runs import StoredRun, has_ended
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.fact_predicates import BUILT_IN
from stratagraph.store.postgres.database import Database, Role, savepoint
from stratagraph.store.records.predicates import registered_by

JOB = "interpret-captures"  # which sets aside what cannot be read
CONFIDENCE = 0.5  # of an extracted fact, below that of an observation
MAX_ATTEMPTS = 5  # at one text, by processes that died over it; then it is set aside
MAX_PREDICATES = 100  # that are named to the model
_log = get_logger(__name__)


class TooManyAttempts(StratagraphError):
    """No process could finish reading this text."""


class RunEnded(Exception):
    """The run was ended, so that it can be undone, before what was read for it was stored."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a claim for a run: the budget of its tenant, and what that was `before`.

    What the budget does not suffice for, or may not be sent now, is read again after `next_try`. A request is sent
    `attempts` times while the endpoint is overloaded.
    """

    writer: GroupWriter
    run: StoredRun
    claim: Claim
    budget: Budget
    before: Budget
    next_try: datetime
    attempts: int = ATTEMPTS

    @property
    def cost(self) -> dict[str, float]:
        """What reading it has cost so far, by unit."""
        return self.budget.cost_since(self.before)


@dataclass(frozen=True, slots=True)
class _Part:
    """What is sent in one request: texts of `records`, after some that are known. `is_last` of a text in parts."""

    items: tuple[Item, ...]
    records: tuple[UUID, ...]
    is_last: bool
    predicates: Sequence[str]

    @property
    def is_empty(self) -> bool:
        return all(item.is_known for item in self.items)


class TextReader:
    """Reads queued texts with a language model. `owner` names this server among all that read."""

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        extractor: Extractor,
        *,
        owner: str,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._extractor = extractor
        self._owner = owner
        self._first_pause_s = first_pause_s

    @property
    def _below(self) -> Sensitivity | None:
        return self._directory.vault.seal_from

    async def waiting(self, now: datetime, *, most: int) -> int:
        """Return the number of texts that may be read at `now`, at most `most`."""
        async with self._database.background(Role.JOBS) as connection:
            return await count_waiting(connection, below=self._below, now=now, most=most)

    async def claim(self, now: datetime, *, spent: Collection[int]) -> Claim | None:
        """Claim the texts that have waited longest, of no tenant of `spent`; None if there are none."""
        return await self._claim(now, now, None, spent)

    async def claim_new(self, now: datetime, *, due: datetime, since: datetime, spent: Collection[int]) -> Claim | None:
        """Claim the newest texts that wait since `due` and were queued since `since`, of no tenant of `spent`.

        None if there are none. The newest come first so that new texts need not wait for a long queue, which the runs
        of consolidation read.
        """
        return await self._claim(now, due, since, spent)

    async def _claim(
        self, now: datetime, due: datetime, since: datetime | None, spent: Collection[int]
    ) -> Claim | None:
        async with self._database.background(Role.JOBS) as connection:
            return await claim_texts(
                connection,
                owner=self._owner,
                below=self._below,
                now=now,
                due=due,
                newest_since=since,
                characters=PART_CHARACTERS,
                spent=spent,
            )

    async def read(self, reading: Reading) -> FollowedUp:
        """Ask about the claimed texts and store what they say; return what was done, for the report of the run.

        Texts that fail together are read again one by one, and one that fails alone is set aside. Raises
        ExtractorUnavailable if the endpoint does not answer: the caller returns the claim then.
        """
        try:
            return FollowedUp(reading.claim.group, await self._read(reading))
        except ExtractorUnavailable:
            raise
        except NotToBeSent:  # what is too sensitive is not claimed again; what was erased is not queued
            report = await self.give_back(reading, "erased, or too sensitive by now", until=reading.next_try)
        except RunEnded:
            await self.release(reading.claim)
            report = StageReport()
        except Exception as error:
            if is_outage(error):
                raise
            return await self.fail(reading, error)
        return FollowedUp(reading.claim.group, report)

    async def release(self, claim: Claim) -> None:
        """Give a claim back as if it had not been made."""
        async with self._database.background(Role.JOBS) as connection:
            await release_texts(connection, claim, claim.records)

    async def _read(self, reading: Reading) -> StageReport:
        claim = reading.claim
        if claim.has_died and claim.attempts > MAX_ATTEMPTS:
            raise TooManyAttempts
        part = await self._part(claim)
        if part.is_empty:
            return await self._store(reading, part, Read())

        async def may_send() -> bool:
            async with self._database.background(Role.JOBS) as connection:
                ids = {claim.episode, *(item.record for item in part.items)}
                return await may_be_sent(connection, claim.group, ids, below=self._below)

        asking = Asking(self._extractor, reading.budget, self._first_pause_s, reading.attempts)
        found = await asking.read(part.items, part.predicates, may_send=may_send)
        if found is None:
            return await self._leave(reading)
        return await self._store(reading, part, found)

    async def _part(self, claim: Claim) -> _Part:
        """Return the texts of the first request about a claim; release the claimed texts that do not fit into it.

        Raises NotToBeSent if all of them were erased or sealed.
        """
        tenant = await self._directory.tenant_by_id(claim.group.tenant)
        async with self._database.background(Role.JOBS) as connection:
            stored = await fetch_texts(connection, claim, below=self._below)
            own = await registered_by(connection, tenant)
        new = {one.record: _items([one]) for one in stored if one.is_new}
        if not new:
            raise NotToBeSent
        before = known(_items([one for one in stored if not one.is_new]))
        predicates = sorted({*BUILT_IN, *own})[:MAX_PREDICATES]
        first = next(iter(new))
        divided = parts(new[first])
        if claim.part or len(divided) > 1:
            read, said = [first], [*divided[claim.part]] if claim.part < len(divided) else []
            is_last = claim.part + 1 >= len(divided)
        else:
            read, said, is_last = [], [], True
            for record, items in new.items():
                more = [*pieces(items)]
                if sum(len(item.text) for item in (*said, *more)) > PART_CHARACTERS:
                    break
                read.append(record)
                said += more
        async with self._database.background(Role.JOBS) as connection:
            await release_texts(connection, claim, [id_ for id_ in claim.records if id_ not in read])
        return _Part((*before, *sorted(said, key=lambda one: one.at)), tuple(read), is_last, predicates)

    async def _store(self, reading: Reading, part: _Part, found: Read) -> StageReport:
        """Store what was found in the texts, and note that they have been read, in one transaction."""
        claim, cost, below = reading.claim, reading.cost, self._below
        model = self._extractor.name

        async def work(batch: LearningBatch) -> StageReport:
            if await has_ended(batch.connection, reading.run.id, claim.group):
                raise RunEnded
            held = await finish_texts(batch.connection, claim, part.records, is_last=part.is_last)
            if not held:
                return StageReport(skips={"erased or read by another server": 1}, cost=cost)
            facts = [fact for fact in found.facts if fact.source.record in held]
            learned = [_learned(fact, claim.episode, model) for fact in facts]
            needed = [
                {*one.sources, fact.source.record, *fact.others} for one, fact in zip(learned, facts, strict=True)
            ]
            kept = await may_be_kept(batch, held.union(*needed))
            refused, ids = 0, []
            for one, records in zip(learned, needed, strict=True):
                if not records <= kept:
                    continue
                try:
                    async with savepoint(batch.connection):
                        ids += await batch.learner.create_all([one])
                except InvalidInput:
                    refused += 1
            changed = await annotate(batch.learner, found, kept & held, model=model)
            if await hold_sources(batch.connection, batch.group, kept, below=below) != kept:
                raise StaleRead  # one was erased since
            if part.is_last:
                await schedule_learned(batch.connection, claim.group.tenant, [claim.episode], at=self._clock.now())
            new = batch.learner.created(ids)
            skips = {
                "facts that the text does not state": found.ungrounded,
                "facts that cannot be stored": refused,
                "names that the text does not have": found.refused_names,
                "times that the text does not name": found.refused_times,
                "labels that are no labels": found.refused_labels,
            }
            return StageReport(
                inputs=1,
                outputs=len(new) + len(changed),
                merges=len(ids) - len(new),
                skips={reason: count for reason, count in skips.items() if count},
                cost=cost,
            )

        async def may_be_kept(batch: LearningBatch, records: set[UUID]) -> set[UUID]:
            present = await batch.learner.records(records)
            return {id_ for id_, record in present.items() if record.sensitivity == batch.group.sensitivity}

        report = await reading.writer.write(reading.run, claim.group, NAME, work)
        if claim.attempts > 1:
            async with self._database.background(Role.JOBS) as connection:
                await clear_set_aside(connection, JOB, [(claim.group.tenant, id_) for id_ in part.records])
        return report

    async def _leave(self, reading: Reading) -> StageReport:
        """Leave texts, and all others of their tenant, because of its limits.

        The report of the group has what was asked in vain, if anything was, and not that there are limits.
        """
        _log.info("extraction limit of a tenant reached; its texts wait", tenant=reading.claim.group.tenant)
        report = StageReport()
        if reading.cost:
            report = await self.give_back(reading, None, until=reading.next_try)
        else:
            async with self._database.background(Role.JOBS) as connection:
                await return_texts(connection, reading.claim, until=reading.next_try)
        reading.budget.spend_all()
        return report

    async def fail(self, reading: Reading, error: Exception) -> FollowedUp:
        """Return texts that could not be read: to be read one by one, or set aside if it is one alone.

        It is set aside for a while that doubles with each time.
        """
        claim, kind = reading.claim, type(error).__name__
        _log.warning("extraction of texts failed", episode=str(claim.episode), texts=len(claim.records), error=kind)
        if len(claim.records) > 1:
            until = self._clock.now() + timedelta(seconds=ASIDE_S)
            report = await self.give_back(
                reading, f"to be read one by one: {kind}", until=until, has_failed=True, is_alone=True
            )
            return FollowedUp(claim.group, report)
        async with self._database.background(Role.JOBS) as connection:
            key = claim.group.tenant, claim.records[0]
            until = await set_aside(connection, JOB, key, error, at=self._clock.now(), stage=NAME)
        report = await self.give_back(
            reading, f"set aside: {kind}", until=until, has_failed=True, is_alone=True, is_set_aside=True
        )
        return FollowedUp(claim.group, report, set_aside=1)

    async def give_back(
        self,
        reading: Reading,
        reason: str | None,
        *,
        until: datetime,
        has_failed: bool = False,
        is_alone: bool = False,
        is_set_aside: bool = False,
    ) -> StageReport:
        """Return texts, to be claimed from `until` on; return the report, with the reason if there is one."""
        report = StageReport(skips={reason: 1} if reason is not None else {}, cost=reading.cost)

        async def work(batch: LearningBatch) -> StageReport:
            await return_texts(
                batch.connection,
                reading.claim,
                until=until,
                has_failed=has_failed,
                is_alone=is_alone,
                is_set_aside=is_set_aside,
            )
            return report

        return await reading.writer.write(reading.run, reading.claim.group, NAME, work)


def _items(stored: Sequence[StoredText]) -> list[Item]:
    members = [StoredMember(record=one.record, occurred_at=one.occurred_at, payload=one.payload) for one in stored]
    return items_of(*said_in(members))


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
