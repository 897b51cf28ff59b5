"""Storing a batch of an export's records: those that contradict nothing, in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from uuid import UUID

from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.transfer.contradictions import Verdict, erased_sources, judge, may_write
from stratagraph.memory.transfer.import_session import ImportSession
from stratagraph.memory.transfer.one_ahead import in_thread
from stratagraph.memory.transfer.search_words import words_of
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    InvalidInput,
    KeyCollision,
    StatementFailed,
)
from stratagraph.store.model.exported import RecordLine
from stratagraph.store.postgres.database import Connection, Role
from stratagraph.store.records.entities import lock_names
from stratagraph.store.records.erased_sources import restore_sources
from stratagraph.store.records.facts import lock_known_slots
from stratagraph.store.transfer.checking import check_record
from stratagraph.store.transfer.known import Known, find_known, stored_ids
from stratagraph.store.transfer.restorable import Restorable
from stratagraph.store.transfer.restoring import (
    delete_tombstones,
    restore_artifact_references,
    restore_records,
    restore_slots,
)

_INVALID = "22", "23"  # classes of SQLSTATE: data that PostgreSQL refuses, and constraints
_Numbered = tuple[int, Restorable]
Batch = Sequence[_Numbered]


async def restorable_batches(session: ImportSession) -> AsyncIterator[Batch]:
    """Yield the records of the file in batches, with what this instance computes of those that are not stored yet.

    Those that cannot be stored are refused. Reading and computing takes as long as storing, and is done apart from the
    event loop.
    """
    async for lines in in_thread(session.records()):
        tenant, names = session.writer.tenant, {line.scope for _, line in lines}
        scopes = await session.directory.scopes(tenant, names, create=not session.is_dry_run)
        known: set[UUID] = set()
        if not session.is_dry_run:
            async with session.database.reading(session.writer.bounds) as connection:
                known = await stored_ids(connection, tenant, [line.id for _, line in lines])
        yield await asyncio.to_thread(_restorable, session, lines, scopes, known)


async def restore_batch(session: ImportSession, records: Batch) -> None:
    """Store records, but for those that are stored already or contradict others, and report on all."""
    try:
        await _store(session, records)
    except (ConditionsOverlap, KeyCollision, StatementFailed) as error:
        if isinstance(error, StatementFailed) and not _is_invalid(error):
            raise
        for one in records:  # the constraints of the database do not say which of them it was
            try:
                await _store(session, [one])
            except (ConditionsOverlap, KeyCollision):
                _refuse(session, one, "contradicts another record of the file, or one that is being stored now")
            except StatementFailed as failed:
                if not _is_invalid(failed):
                    raise
                _refuse(session, one, "has values that contradict each other, so it cannot be stored")


def _is_invalid(error: StatementFailed) -> bool:
    return (error.sqlstate or "")[:2] in _INVALID


def _refuse(session: ImportSession, one: _Numbered, reason: str) -> None:
    number, record = one
    session.report.refuse(number, "record", record.id, reason)


def _restorable(
    session: ImportSession,
    lines: Sequence[tuple[int, RecordLine]],
    scopes: Mapping[str, int],
    known: Collection[UUID],
) -> Batch:
    """Return the records of lines with what this instance computes of them; refuse those that cannot be stored.

    Words are computed now for all but the `known` ones, so that nothing is locked meanwhile.
    """
    tenant, report = session.writer.tenant, session.report
    found: list[_Numbered] = []
    seen: set[UUID] = set()
    for number, line in lines:
        try:
            check_record(line)
            one = Restorable.of(
                tenant,
                line,
                scope=scopes.get(line.scope, 0),  # a dry run creates none, and nothing contradicts what is in a new one
                words=partial(words_of, tenant.index_key),
            )
        except InvalidInput as error:
            report.refuse(number, "record", line.id, error.message)
            continue
        reason = may_write(session.caller, one)
        if line.id in seen:
            reason = "has the id of another record of the file"
        if reason is not None:
            report.refuse(number, "record", line.id, reason)
            continue
        seen.add(line.id)
        found.append((number, one))
        if not session.is_dry_run and line.id not in known:
            _ = (one.terms, one.past_terms)
    return found


async def _store(session: ImportSession, records: Sequence[_Numbered]) -> None:
    """Store what may be stored of the records, in one transaction, then count and report."""
    if not records:
        return
    verdicts = await (_judged(session, records) if session.is_dry_run else retried(lambda: _written(session, records)))
    for (number, one), verdict in zip(records, verdicts, strict=True):
        if verdict.is_new:
            session.report.stored[one.line.type.label] += 1
        elif verdict.is_known:
            session.report.unchanged += 1
        else:
            session.report.refuse(number, "record", one.id, verdict.reason or "")


async def _judged(session: ImportSession, records: Sequence[_Numbered]) -> list[Verdict]:
    """Return what would become of records, without storing any."""
    every = [one for _, one in records]
    async with session.database.writing(session.writer.bounds) as connection:  # readers may not read keys
        # A missing slot is not made, and contradicts nothing.
        wanted = {slot for one in every if (slot := one.slot) is not None}
        slots = await lock_known_slots(connection, session.writer.tenant, sorted(wanted))
        known = await find_known(connection, session.writer.tenant, every, slots=slots)
    return _verdicts(session, every, known)


def _verdicts(session: ImportSession, records: Sequence[Restorable], known: Known) -> list[Verdict]:
    lost = session.lost | session.report.refused_ids
    return [
        judge(one, known, restore_erased=session.restore_erased, lost=lost, contradicted=session.contradicted)
        for one in records
    ]


async def _written(session: ImportSession, records: Sequence[_Numbered]) -> list[Verdict]:
    """Store the records that may be stored, in one transaction, and return what became of each.

    The locks are those of a capture, in its order: names, slots, then the log and the feed. New records need none.
    """
    tenant, every = session.writer.tenant, [one for _, one in records]
    restored: list[UUID] = []
    async with session.database.writing(session.writer.bounds) as connection:
        await lock_names(connection, tenant, {term.key for one in every for term in one.terms_of_names})
        flags = {slot: one.is_single_valued for one in every if (slot := one.slot) is not None}
        slots = await restore_slots(connection, tenant, flags)
        known = await find_known(connection, tenant, every, slots=slots)
        verdicts = _verdicts(session, every, known)
        new = [one for one, verdict in zip(every, verdicts, strict=True) if verdict.is_new]
        await _restore_erased(connection, session, new, known)
        changes = await restore_records(connection, tenant, new, logs=known.logs)
        stored = [one for one, verdict in zip(every, verdicts, strict=True) if verdict.reason is None]
        await restore_artifact_references(connection, tenant, [one.line for one in stored])
        await append_changes(connection, tenant, changes)
        restored = [one.id for one in stored if one.id in known.tombstones] if session.restore_erased else []
    if restored:
        # If this is interrupted, a tombstone stays beside its record, where it does no harm until the next run.
        async with session.database.background(Role.ERASE, tenant=tenant.id) as connection:
            await delete_tombstones(connection, tenant, restored)
    return verdicts


async def _restore_erased(
    connection: Connection, session: ImportSession, new: Sequence[Restorable], known: Known
) -> None:
    if session.restore_erased:
        await restore_sources(connection, session.writer.tenant, erased_sources(new, known))
