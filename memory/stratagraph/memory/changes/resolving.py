"""From entries of the log to changes that a caller may see, by the rows as they are now.

What a caller may not see leaves no trace. The sensitivity of a record only rises and its scope never changes, so a
record that is visible now was visible at each of its versions. One that is not was seen until the entry that deleted it
or raised it beyond the caller's reach, and only of that entry the caller is told, if it saw the record before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.changes.change import Change, ChangedRun, ChangeKind, RunStep
from stratagraph.store.audit.events import fetch_causes
from stratagraph.store.feed.change_log import Place, RowChange
from stratagraph.store.feed.changes import Kind
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.changed import (
    ChangedRelation,
    Step,
    fetch_changed_relations,
    fetch_steps,
    find_ends_in_sight,
    find_runs,
)
from stratagraph.store.records.episodes import fetch_threads, thread_key
from stratagraph.store.records.reading import Reader

LEARNER = LEARNED_BY.rstrip("/")  # begins the actor of what learning does


class Resolver:
    """Resolves entries of the log for callers."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def resolve(
        self, caller: Caller, changes: Sequence[RowChange], *, start: Place, end: Place
    ) -> tuple[Change, ...]:
        """Return what the caller may see of `changes`, entries of its tenant in their order.

        `start` and `end` are the places before and after them. Raises StoreUnavailable.
        """
        if not changes:
            return ()
        places = _places(changes, start, end)
        async with self._database.reading(caller.bounds) as connection:
            return tuple(await self._resolve(connection, caller, changes, places))

    async def _resolve(
        self, connection: Connection, caller: Caller, changes: Sequence[RowChange], places: Sequence[Place]
    ) -> list[Change]:
        relations = [one for one in changes if one.kind is Kind.RELATION]
        written = [one for one in changes if one.kind is Kind.RECORD]
        reader = Reader(connection, self._directory, caller, self._clock.now())
        # The relations first: their sources are read with the records, for the filters of readers.
        known = await fetch_changed_relations(reader, {one.id for one in relations if not one.is_deleted})
        ends = await find_ends_in_sight(
            connection, caller, {end for one in relations if one.is_deleted for end in one.ends or ()}
        )
        wanted = {one.id for one in written if not one.is_deleted}
        wanted |= {one.relation.source for one in known.values()} | ends.keys()
        records = await reader.records(wanted)
        full = [one for one in written if one.id in records and not records[one.id].redacted]
        steps = await fetch_steps(connection, caller, full)
        threads = await self._threads(connection, caller, records)
        scopes = await self._directory.scope_names({one.seen.scope for one in changes if one.seen is not None})
        resolved: list[tuple[Change, RowChange, UUID | None, datetime | None]] = []
        for one, place in zip(changes, places, strict=True):
            match one.kind:
                case Kind.RECORD:
                    change = _of_record(caller, one, place, records.get(one.id), steps.get(one), scopes)
                case Kind.RELATION:
                    change = _of_relation(one, place, known.get(one.id), ends, records)
                case Kind.RUN:
                    change = _of_run(caller, one, place, scopes)
            if change is None:
                continue
            if change.record is not None:
                change = replace(change, threads=threads.get(change.record.id, frozenset()))
            resolved.append((change, one, *_asked_cause(change, one, steps.get(one))))
        asked = [(place, (id_, at)) for place, (_, _, id_, at) in enumerate(resolved) if id_ is not None]
        causes = await fetch_causes(connection, caller, [one for _, one in asked])
        found = {asked[number][0]: cause for number, cause in causes.items()}
        learned = [resolved[place][1] for place, cause in found.items() if cause.actor.startswith(LEARNER)]
        runs = await find_runs(connection, caller, [one for one in learned if one in steps])
        return [
            replace(change, cause=found.get(place), made_by_run=runs.get(one))
            for place, (change, one, _, _) in enumerate(resolved)
        ]

    async def _threads(
        self, connection: Connection, caller: Caller, records: dict[UUID, MemoryRecord]
    ) -> dict[UUID, frozenset[bytes]]:
        """Return the keyed hashes of the threads to which records belong that the caller may read in full, by id."""
        full = [record for record in records.values() if not record.redacted]
        events = [record.id for record in full if record.type is MemoryType.EPISODIC]
        found = {id_: frozenset(keys) for id_, keys in (await fetch_threads(connection, caller, events)).items()}
        for record in full:
            thread = (record.payload or {}).get("thread_id") if record.type is MemoryType.WORKING else None
            if isinstance(thread, str):
                found[record.id] = frozenset([thread_key(caller.tenant, thread)])
        return found


def _places(changes: Sequence[RowChange], start: Place, end: Place) -> list[Place]:
    """Return the place after each of `changes`, which lie between the places `start` and `end`."""
    window = end.window if end.window is not None else end.snapshot
    places = [replace(start, window=window, seq=one.seq) for one in changes]
    if end.window is None:
        places[-1] = end
    return places


def _of_record(
    caller: Caller,
    change: RowChange,
    place: Place,
    record: MemoryRecord | None,
    step: Step | None,
    scopes: dict[int, str],
) -> Change | None:
    if record is not None:
        if change.first == 1:
            kind = ChangeKind.CREATED
        elif step is not None and step.is_stamped and step.before is not step.after:
            kind = ChangeKind.STATE
        else:
            kind = ChangeKind.UPDATED
        at = change.began_at if step is None or not step.is_stamped else step.at
        return Change(place=place, kind=kind, subject=record.id, at=at, record=record)
    seen = change.seen
    if seen is None or change.first == 1 or not _sees(caller, seen.scope, seen.sensitivity):
        return None
    if not change.is_deleted and (seen.raised_to is None or _sees(caller, seen.scope, seen.raised_to)):
        return None  # it has been deleted since, of which a later entry tells
    return Change(place=place, kind=ChangeKind.GONE, subject=change.id, at=change.began_at, scope=scopes[seen.scope])


def _of_relation(
    change: RowChange,
    place: Place,
    known: ChangedRelation | None,
    ends: dict[UUID, bool],
    records: dict[UUID, MemoryRecord],
) -> Change | None:
    if change.is_deleted:
        # Where an end is gone, the relation went with it, and the end's own change tells that.
        if change.ends is None or not all(end in ends for end in change.ends):
            return None
        if not any(ends[end] for end in change.ends):  # a relation of two redacted records is not shown
            return None
        source, target = change.ends
        return Change(
            place=place,
            kind=ChangeKind.UNRELATED,
            subject=source,
            at=change.began_at,
            record=records.get(source),
            relation_id=change.id,
            target=target,
        )
    if known is None or (known.ended_at is not None and change.first == 1):
        return None  # that it has ended is told by a later entry, or it was never open
    relation = known.relation
    return Change(
        place=place,
        kind=ChangeKind.RELATED if known.ended_at is None else ChangeKind.UNRELATED,
        subject=relation.source,
        at=relation.created_at if known.ended_at is None else known.ended_at,
        record=records.get(relation.source),
        relation_id=relation.id,
        target=relation.target,
        relation=relation,
    )


def _of_run(caller: Caller, change: RowChange, place: Place, scopes: dict[int, str]) -> Change | None:
    seen = change.seen
    if seen is None or not caller.may_read(seen.scope, seen.sensitivity):
        return None
    run = ChangedRun(id=change.id, step=RunStep(change.last), scope=scopes[seen.scope], sensitivity=seen.sensitivity)
    return Change(place=place, kind=ChangeKind.RUN, subject=change.id, at=change.began_at, run=run, scope=run.scope)


def _sees(caller: Caller, scope: int, sensitivity: int) -> bool:
    """Return whether the caller may see records of this scope and sensitivity, in full or redacted."""
    return sensitivity <= caller.ceiling + 1 and (caller.scopes is None or scope in caller.scopes)


def _asked_cause(change: Change, entry: RowChange, step: Step | None) -> tuple[UUID | None, datetime | None]:
    """Return the record and the instant of the audit entry that tells why; no record where none is to be shown."""
    match change.kind:
        case ChangeKind.RELATED | ChangeKind.UNRELATED:
            return (change.subject, change.at) if change.relation is not None else (None, None)
        case ChangeKind.GONE:
            return (entry.id, None) if entry.is_deleted else (None, None)
        case _:
            return (entry.id, step.at) if step is not None and step.is_stamped else (None, None)
