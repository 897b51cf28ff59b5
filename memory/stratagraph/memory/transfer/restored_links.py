"""Storing what connects an export's records, once these are stored: relations, members of episodes, trims."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from stratagraph.memory.capture.episodes import member_words
from stratagraph.memory.requests.retrying import retried
from stratagraph.memory.transfer.import_session import ImportSession
from stratagraph.memory.transfer.search_words import words_of
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import RecordLine, RelationLine
from stratagraph.store.model.predicates import check_predicate
from stratagraph.store.model.words import Terms, record_terms
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.episode_endings import read_members
from stratagraph.store.transfer.checking import check_record
from stratagraph.store.transfer.known import KnownRelation, find_known_relations
from stratagraph.store.transfer.restorable import Restorable
from stratagraph.store.transfer.restoring import (
    calls_of_members,
    restore_episodes,
    restore_relations,
    restore_trims,
    set_words,
)

HOLDING = (b'"episode":{', b'"trims":[')  # in lines of records that are connected by more than relations
_REFUSED = "relations of a refused record"
_MISSING = "relations with an end that is not stored"
_Numbered = tuple[int, RelationLine]


async def restore_connections(session: ImportSession, lines: Sequence[tuple[int, RecordLine]]) -> None:
    """Store the states of episodes with their members, and the trims of facts, of the records of some lines.

    Those of refused records are left out. What is stored already stays as it is.
    """
    kept = [line for _, line in lines if line.id not in session.report.refused_ids]
    if session.is_dry_run or not kept:
        return
    tenant = session.writer.tenant
    scopes = await session.directory.scopes(tenant, {line.scope for line in kept}, create=True)
    episodes = []
    for line in kept:
        if line.episode is not None:
            try:
                check_record(line)
                words = partial(words_of, tenant.index_key)
                one = Restorable.of(tenant, line, scope=scopes[line.scope], words=words)
            except InvalidInput:
                continue  # refused with its record
            episodes.append(one)

    async def transaction() -> int:
        async with session.database.writing(session.writer.bounds) as connection:
            calls = await calls_of_members(connection, tenant, episodes)
            inserted = await restore_episodes(connection, tenant, episodes, calls)
            words = await _words(connection, tenant, [one for one in episodes if one.id in set(inserted)])
            await set_words(connection, tenant, words)
            await restore_trims(connection, tenant, kept)
        return len(inserted)

    inserted = await retried(transaction)
    session.report.episodes += inserted
    session.report.present["episode"] += len(episodes) - inserted


async def _words(connection: Connection, tenant: Tenant, episodes: Sequence[Restorable]) -> dict[UUID, Terms]:
    """Return the terms of closed episodes of threads, by which the words of their members find them."""
    closed = [
        one
        for one in episodes
        if one.line.episode is not None
        and one.line.episode.closed_at is not None
        and not one.line.content.payload.get("timeline")
    ]
    members = await read_members(connection, tenant, [one.id for one in closed]) if closed else {}
    found = {}
    for one in closed:
        content = one.line.content
        summary = f"{content.name}\n{content.payload.get('outcome_reason', '')}"
        words = member_words(members.get(one.id, ()))
        found[one.id] = record_terms(tenant.index_key, f"{content.text}\n{words}", summary)
    return found


async def restore_relation_batch(session: ImportSession, lines: Sequence[_Numbered]) -> None:
    """Store relations as they were, open and ended ones, but for those that are stored or cannot be; report on all."""
    report, tenant = session.report, session.writer.tenant
    wanted: list[_Numbered] = []
    for number, line in lines:
        if {line.source, line.target} & report.refused_ids:
            report.left_out[_REFUSED] += 1
            continue
        try:
            check_predicate(line.predicate, path=["predicate"])
        except InvalidInput as error:
            report.refuse(number, "relation", line.id, error.message)
            continue
        if line.ended_at is not None and line.ended_at < line.created_at:
            report.refuse(number, "relation", line.id, "ended_at: is before created_at")
            continue
        wanted.append((number, line))
    if not wanted:
        return
    if not session.is_dry_run:
        await session.directory.predicates(tenant, {line.predicate for _, line in wanted})  # makes missing ones

    async def transaction() -> tuple[list[KnownRelation], int]:
        relations = [line for _, line in wanted]
        async with session.database.writing(session.writer.bounds) as connection:
            known = await find_known_relations(connection, tenant, relations)
            new = [line for line, one in zip(relations, known, strict=True) if one.is_free]
            changes = []
            if not session.is_dry_run:
                changes = await restore_relations(connection, session.directory, tenant, new)
                await append_changes(connection, tenant, changes)
            return known, len(changes)

    known, inserted = await retried(transaction)
    _report(session, wanted, known, inserted)


def _report(session: ImportSession, wanted: Sequence[_Numbered], known: Sequence[KnownRelation], inserted: int) -> None:
    report, free = session.report, 0
    for (number, line), one in zip(wanted, known, strict=True):
        ends = ((one.has_source, line.source), (one.has_target, line.target))
        if one.stored == (line.source, line.target):
            report.present["relation"] += 1
        elif one.stored is not None:
            report.refuse(number, "relation", line.id, "another relation is stored here under this id")
        elif not all(has or _comes(session, id_) for has, id_ in ends):
            report.left_out[_MISSING] += 1
        elif one.open_id is not None:
            report.present["relation"] += 1
        else:
            free += 1
    report.relations += free if session.is_dry_run else inserted
    if not session.is_dry_run:
        report.present["relation"] += free - inserted  # another relation of the file stands for it


def _comes(session: ImportSession, id_: UUID) -> bool:
    """Return whether a dry run would have stored the record before."""
    return session.is_dry_run and id_ in session.ids
