"""Feedback, as callers use it: report what came of a retrieval. See docs/specification.md, Feedback."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.error_paths import within_item
from stratagraph.memory.feedback.deleted import deleted_among
from stratagraph.memory.feedback.request import OutcomeReport, check, check_batch
from stratagraph.memory.feedback.salience import after_disuse, after_outcome
from stratagraph.memory.feedback.statistics import after_use, learned_confidence
from stratagraph.memory.feedback.waiting import IDS_CLOCK, NotLoggedError, when_logged
from stratagraph.memory.lessons.block import lesson_of
from stratagraph.memory.plans.composing import parts_named
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode, warning
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change, append_changes
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION, Clock, rfc3339
from stratagraph.store.model.enums import Access, AuditAction, MemoryType, Outcome, RecordState
from stratagraph.store.model.errors import IdempotencyMismatch, InvalidInput
from stratagraph.store.model.ids import made_at
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.salience import Salience
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.candidates import hash_request
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.lessons import count_lessons
from stratagraph.store.records.locking import LockedRecord, lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience
from stratagraph.store.search.outcomes import (
    RetrievalEntry,
    StoredReport,
    count_use,
    fetch_retrieval,
    lock_retrieval,
    store_report,
)
from stratagraph.store.search.retrievals import RETENTION, RetrievalLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Credited:
    """What a report changed: the ids of records whose salience was raised and lowered.

    `skipped` are the used records that could not be credited: those that are deleted, superseded, retracted, or
    no longer the caller's to read and write. With `replayed` it is the result of the same report before. Records that
    were deleted since that are skipped then.
    """

    retrieval: UUID
    outcome: Outcome
    reinforced: tuple[UUID, ...]
    penalized: tuple[UUID, ...]
    skipped: tuple[UUID, ...]
    sequence: str
    warnings: tuple[RequestWarning, ...] = ()
    replayed: bool = False


_SKIPPED = (
    "was not credited: it is deleted, superseded or retracted, or no longer this credential's to read and write;"
    " nothing needs to be done"
)


@dataclass(slots=True, kw_only=True)
class _Batch:
    """The transaction of some reports: the records that it has locked, the instant of its last write, and its changes.

    `entries` are those of the log, by id.
    """

    entries: dict[UUID, RetrievalEntry]
    locked: Mapping[UUID, LockedRecord]
    at: datetime
    changes: list[Change] = field(default_factory=list)


class Feedback:
    """The service that takes reports on retrievals. One per process; safe to call from many tasks.

    `log` is where the retrievals of this process wait to be written.
    """

    def __init__(self, database: Database, directory: Directory, clock: Clock, log: RetrievalLog) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._log = log
        self._sequences = Sequences()

    async def report(self, trust: Trust, report: OutcomeReport) -> Credited:
        """Credit the records of a retrieval with its outcome, in one transaction; return what changed.

        A composed plan stands for the skills and plans that it was composed of. The retrieval must be the same
        caller's. Its outcome is reported once: the same report again returns the first one's result, and another one
        raises IdempotencyMismatch. A retrieval that another process answered a moment ago is waited for, up to WAIT_S
        seconds. Raises InvalidInput, also for a used record that the retrieval did not
        return and once RETENTION has passed, RecordNotFound, Forbidden or StoreUnavailable, with nothing changed.
        """
        (credited,) = await self._report(trust, [report], is_batch=False)
        return credited

    async def report_all(self, trust: Trust, reports: Sequence[OutcomeReport]) -> list[Credited]:
        """Make several reports in one transaction, in their order: all of them or none; return what each changed.

        Reports that were made before are replayed. Raises as `report` does, with the path of the report, and
        InvalidInput where two are of one retrieval.
        """
        check_batch(reports)
        return await self._report(trust, reports, is_batch=True)

    async def _report(self, trust: Trust, reports: Sequence[OutcomeReport], *, is_batch: bool) -> list[Credited]:
        trust.require(Access.WRITE)
        problems = Problems()
        for position, report in enumerate(reports):
            with problems, within_item(position, is_batch=is_batch):
                check(report)
        problems.refuse()
        caller = await self._directory.resolve(trust)
        for report in reports:
            await self._log.write_now(report.retrieval)
        return await when_logged(lambda: self._commit(caller, reports, is_batch=is_batch), of="retrieval")

    async def _commit(self, caller: Caller, reports: Sequence[OutcomeReport], *, is_batch: bool) -> list[Credited]:
        async with self._database.writing(caller.bounds) as connection:
            batch = await self._begin(connection, caller, reports, is_batch=is_batch)
            sequence = await self._sequences.current(connection, caller.tenant)
            done: list[Credited] = []
            fresh: list[tuple[OutcomeReport, RetrievalEntry]] = []
            for position, given in enumerate(reports):
                with within_item(position, is_batch=is_batch):
                    entry = batch.entries[given.retrieval]
                    report = _by_parts(given, entry)
                    report_hash = hash_request(caller.tenant, given.as_json())
                    if entry.report is not None:
                        done.append(await self._replayed(connection, caller, report, entry.report, report_hash))
                        continue
                    await self._check_used(connection, caller, report, entry)
                    used, penalized = await self._credit(connection, caller, batch, report, entry, report_hash)
                    done.append(_credited(report, used, penalized, sequence))
                    fresh.append((report, entry))
            await append_changes(connection, caller.tenant, batch.changes)
            for report, entry in fresh:
                returned = set(entry.nodes)
                await count_use(
                    connection, caller, report.outcome, returned=len(returned), used=len(returned & set(report.used))
                )
        return done

    async def _begin(
        self, connection: Connection, caller: Caller, reports: Sequence[OutcomeReport], *, is_batch: bool
    ) -> _Batch:
        """Return the entries of the log, with those locked that have no report yet, and their records.

        The records of all are locked first and then the entries, in the order of an erasure.
        """

        async def entries() -> dict[UUID, RetrievalEntry]:
            found = {}
            for position, report in enumerate(reports):
                path = [*(["items", str(position)] if is_batch else []), "retrievalId"]
                with within_item(position, is_batch=is_batch):
                    found[report.retrieval] = await self._entry(connection, caller, report, path)
            return found

        found = await entries()
        unreported = [entry for entry in found.values() if entry.report is None]
        locked: Mapping[UUID, LockedRecord] = {}
        if unreported:
            locked = await lock_records(connection, caller.tenant, {id_ for entry in unreported for id_ in entry.nodes})
            for id_ in sorted(entry.id for entry in unreported):
                await lock_retrieval(connection, caller, id_)
            found = await entries()  # as they are now that no other report can end
        return _Batch(entries=found, locked=locked, at=self._clock.now())

    async def _credit(
        self,
        connection: Connection,
        caller: Caller,
        batch: _Batch,
        report: OutcomeReport,
        entry: RetrievalEntry,
        report_hash: bytes,
    ) -> tuple[list[UUID], list[UUID]]:
        """Write what a report changes; return the records that it credits, and those whose salience it lowers."""
        reader = Reader(connection, self._directory, caller, batch.at)
        nodes = [id_ for id_ in batch.locked if id_ in set(entry.nodes)]
        heads = {id_: head for id_, head in (await reader.heads(nodes)).items() if _may_change(caller, head)}
        at = max([batch.at, *(_after(head, batch.locked[id_].updated_at) for id_, head in heads.items())])
        used = [id_ for id_ in dict.fromkeys(report.used) if id_ in heads]
        penalized = await self._apply(connection, caller, batch, report, heads, used, at=at)
        await store_report(
            connection,
            caller,
            entry,
            report.outcome,
            at=at,
            report_hash=report_hash,
            credited=used,
            penalized=penalized,
        )
        batch.at = at + RESOLUTION  # the next report may change the same records
        return used, penalized

    async def _entry(
        self, connection: Connection, caller: Caller, report: OutcomeReport, path: Sequence[str]
    ) -> RetrievalEntry:
        """Return the log's entry. Raises NotLoggedError, or InvalidInput for a playbook or once the time has passed."""
        entry = await fetch_retrieval(connection, caller, report.retrieval)
        made = entry.at if entry is not None else made_at(report.retrieval)
        now = self._clock.now() if entry is not None else IDS_CLOCK.now()
        if made is not None and now - made >= RETENTION and (entry is None or entry.report is None):
            raise InvalidInput(
                f"retrievalId: {report.retrieval} was answered at {rfc3339(made)}; an outcome can be reported for"
                f" {RETENTION.days} days after that. Retrieve again, and report on the new retrieval.",
                path=["retrievalId"],
            )
        if entry is None:
            raise NotLoggedError(report.retrieval, path)
        if entry.is_playbook:
            raise InvalidInput(
                f"retrievalId: {report.retrieval} is the id of a playbook; credit its lessons with `creditLessons` and"
                " playbookId",
                path=["retrievalId"],
            )
        return entry

    async def _check_used(
        self, connection: Connection, caller: Caller, report: OutcomeReport, entry: RetrievalEntry
    ) -> None:
        """Raise InvalidInput if the retrieval did not return a used record, except for one that was deleted since."""
        others = set(report.used) - set(entry.nodes)
        if not others:
            return
        others -= await deleted_among(connection, self._directory, caller, others)
        if others:
            raise InvalidInput(
                f"usedRecordIds: the retrieval did not return {min(others)}; give only ids of its nodes",
                path=["usedRecordIds"],
            )

    async def _apply(
        self,
        connection: Connection,
        caller: Caller,
        batch: _Batch,
        report: OutcomeReport,
        heads: Mapping[UUID, MemoryRecord],
        used: Sequence[UUID],
        *,
        at: datetime,
    ) -> list[UUID]:
        """Write the salience, statistics and audit entries of the locked records `heads`; return those lowered."""
        outcome, in_use = report.outcome, set(used)
        after: dict[UUID, Salience] = {}
        for id_, head in heads.items():
            change = after_outcome if id_ in in_use else after_disuse
            salience = change(_lifecycle(head), outcome, at)
            if salience is not None:
                after[id_] = salience
        edits = await self._statistics(connection, caller, report, heads, in_use, at=at)
        raised = in_use if outcome is Outcome.SUCCESS else set[UUID]()
        await write_salience(connection, caller.tenant, sorted(after.items()))
        await write_audit(
            connection,
            caller.tenant,
            [
                AuditEvent(
                    record=id_,
                    action=_action(is_raised=id_ in raised, is_lowered=id_ in after),
                    rationale=f"{outcome.label} reported of retrieval {report.retrieval}: "
                    + ("used" if id_ in in_use else "returned and not used"),
                    salience=after[id_].s if id_ in after else None,
                )
                for id_ in sorted({*after, *(edit.id for edit in edits)})
            ],
            actor=caller.trust.actor,
            at=at,
        )
        batch.changes += await update_records(connection, self._directory, caller.tenant, edits, at=at)
        return [id_ for id_ in sorted(after) if id_ not in raised]

    async def _statistics(
        self,
        connection: Connection,
        caller: Caller,
        report: OutcomeReport,
        heads: Mapping[UUID, MemoryRecord],
        used: Collection[UUID],
        *,
        at: datetime,
    ) -> list[Edit]:
        """Return the new payloads of the procedures and plans used; count the lessons that were returned."""
        wanted = [
            id_
            for id_, head in heads.items()
            if head.type is MemoryType.COMPETENCE or (head.type is MemoryType.PLAN_GRAPH and id_ in used)
        ]
        for position, step in enumerate(report.steps):
            if step.record in heads and step.record not in wanted:
                raise InvalidInput(
                    f"steps.{position}.recordId: {step.record} is not a plan; leave out its steps",
                    path=["steps", str(position), "recordId"],
                )
        records = await Reader(connection, self._directory, caller, at).records(wanted, as_stored=True)
        lessons = [id_ for id_ in wanted if lesson_of(records[id_].payload) is not None]
        helpful = set(used) if report.outcome is Outcome.SUCCESS else set[UUID]()
        await count_lessons(connection, caller.tenant, lessons, helpful=helpful, at=at)
        edits = []
        for id_ in sorted(wanted):
            if id_ in used:
                payload = after_use(records[id_], report, at)
                edits.append(
                    Edit(
                        id=id_,
                        payload=orjson.dumps(payload).decode(),
                        confidence=learned_confidence(records[id_], report.outcome),
                        is_revision=False,
                    )
                )
        return edits

    async def _replayed(
        self,
        connection: Connection,
        caller: Caller,
        report: OutcomeReport,
        stored: StoredReport,
        report_hash: bytes,
    ) -> Credited:
        if stored.hash != report_hash:
            raise IdempotencyMismatch(
                f"retrievalId: the outcome of {report.retrieval} was reported as {stored.outcome.label} at"
                f" {rfc3339(stored.at)}, with other details; it is reported once. Use `reinforce` or `penalize` to"
                " correct single records.",
                path=["retrievalId"],
            )
        sequence = await self._sequences.token(connection, caller.tenant, stored.sequence)
        return _credited(report, stored.credited, stored.penalized, sequence, replayed=True)


def _by_parts(report: OutcomeReport, entry: RetrievalEntry) -> OutcomeReport:
    """Return the report with the parts of a composed plan in its place: its outcome is theirs.

    Raises InvalidInput for steps of the composed plan, which is not stored and counts none.
    """
    if entry.composed is None:
        return report
    id_, plan = entry.composed
    for position, step in enumerate(report.steps):
        if step.record == id_:
            raise InvalidInput(
                f"steps.{position}.recordId: {id_} is a composed plan, of which no steps are counted; leave out its"
                " steps",
                path=["steps", str(position), "recordId"],
            )
    parts = [part for part, _ in parts_named(plan) or ()]
    return replace(report, used=tuple(one for used in report.used for one in (parts if used == id_ else [used])))


def _credited(
    report: OutcomeReport, used: Sequence[UUID], penalized: Sequence[UUID], sequence: str, *, replayed: bool = False
) -> Credited:
    skipped = tuple(id_ for id_ in dict.fromkeys(report.used) if id_ not in set(used))
    return Credited(
        retrieval=report.retrieval,
        outcome=report.outcome,
        reinforced=tuple(used) if report.outcome is Outcome.SUCCESS else (),
        penalized=tuple(penalized),
        skipped=skipped,
        sequence=sequence,
        warnings=tuple(
            warning(WarningCode.RECORD_NOT_CREDITED, ("usedRecordIds",), f"the record {id_} {_SKIPPED}")
            for id_ in skipped
        ),
        replayed=replayed,
    )


def _may_change(caller: Caller, record: MemoryRecord) -> bool:
    """Return whether the record is current and, like a revision, the caller's to change."""
    scopes = caller.trust.scopes
    return record.state in (RecordState.ACTIVE, RecordState.CONTESTED) and (scopes is None or record.scope in scopes)


def _after(head: MemoryRecord, updated_at: datetime) -> datetime:
    """Return the earliest instant that is later than the last write of the record and of its salience."""
    return max(updated_at, _lifecycle(head).t0) + RESOLUTION


def _lifecycle(record: MemoryRecord) -> Salience:
    assert record.lifecycle is not None  # of a record that is readable in full
    return record.lifecycle


def _action(*, is_raised: bool, is_lowered: bool) -> AuditAction:
    if is_raised:
        return AuditAction.REINFORCE
    return AuditAction.DECAY if is_lowered else AuditAction.REVISE
