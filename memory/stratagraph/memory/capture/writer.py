"""The write of a group of drafts, inside the transaction (docs/specification.md, Capture).

Every writer takes its locks in one order: entity terms, fact slots, working records, lessons, plans and skills,
episodes (docs/architecture.md, Lock order).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.capture.attachments import attach
from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.lessons import lock_known_lessons
from stratagraph.memory.capture.naming import Names
from stratagraph.memory.capture.new_records import ids_with_record_sources, insert_write_set, new_record
from stratagraph.memory.capture.references import link_references
from stratagraph.memory.capture.replacing import lock_replaced
from stratagraph.memory.capture.slots import LockedSlots
from stratagraph.memory.capture.teaching import finish_names, lock_taught
from stratagraph.memory.capture.threads import close_with_outcomes, join_threads, lock_threads
from stratagraph.memory.capture.versions import lock_versions
from stratagraph.memory.capture.working_records import lock_working_records
from stratagraph.memory.capture.write_set import INTERPRETER, WriteSet
from stratagraph.memory.propagation.reevaluation import derived_records, reevaluate
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reading import Reader


@dataclass(slots=True)
class Written:
    """What one draft wrote. `primary` is the record that it became or that it was added to.

    `effects` is what it did to stored records, and `changed` has these records. `warnings` are those
    that depend on what is stored.
    """

    primary: MemoryRecord
    created: list[MemoryRecord] = field(default_factory=list)
    edges: list[Relation] = field(default_factory=list)
    effects: list[tuple[UUID, Effect]] = field(default_factory=list)
    changed: dict[UUID, MemoryRecord] = field(default_factory=dict)
    warnings: list[RequestWarning] = field(default_factory=list)


@dataclass(slots=True)
class GroupWritten:
    """What a group of drafts wrote, by the drafts' positions, and the changes to append to the feed.

    `read` are the records that were read back after they were written; the new ones are shown as they were written.
    """

    written: dict[int, Written]
    changes: list[Change]
    read: set[UUID]

    @property
    def updated(self) -> set[UUID]:
        """The records that the group changed after they had been written, by itself or before; collected anew."""
        return {change.id for change in self.changes if change.kind is Kind.RECORD and change.version > 1}


async def write_group(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    drafts: Sequence[Draft],
    names: Names,
    slots: LockedSlots,
    *,
    now: datetime,
    author: str = INTERPRETER,
) -> GroupWritten:
    """Write drafts that do not depend on each other (see `grouping`), and return what each wrote.

    `names` are the resolved names, and `slots` the locked slots, of the whole request. `author` is the `created_by` of
    the provenance of new records.

    Raises InvalidInput, Forbidden, RecordNotFound, ConditionsOverlap, or WriteCollision for a lost race; an error's
    path begins with `#<position>` of the draft it concerns.
    """
    scopes = await directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=True)
    writes = WriteSet(connection, directory, caller, list(drafts), scopes, now, author=author)
    names.apply(writes)
    await link_references(writes)
    taught = await lock_taught(writes)
    facts = await capture_facts.lock_facts(writes, slots)
    replaced = await lock_replaced(writes)
    working = await lock_working_records(writes)
    lessons = await lock_known_lessons(writes)
    versions = await lock_versions(writes)
    threads = await lock_threads(writes)
    displaced = [id_ for draft in writes.drafts for id_ in facts.displaced(draft.position)]
    derived = await _lock_derived(writes, [*displaced, *replaced.facts, *versions.displaced_ids], facts.opponents)
    changes = (
        *taught,
        *facts.changed_at,
        *replaced.changed_at,
        *working.changed_at,
        *lessons.changed_at,
        *versions.changed_at,
        *derived,
    )
    writes.at = max([now, *(changed_at + RESOLUTION for changed_at in changes)])
    await capture_facts.settle_facts(writes, facts)
    await replaced.settle(writes)
    await lessons.settle(writes)
    await versions.settle(writes)
    for draft in writes.drafts:
        if not is_outcome(draft) and draft.position not in writes.primaries and draft.type is not MemoryType.ENTITY:
            writes.records.append((draft, new_record(writes, draft)))
    join_threads(writes, threads)
    await insert_write_set(writes)
    await finish_names(writes)
    names.note_taught(writes)
    await threads.append(writes)
    await working.apply(writes)
    await lessons.retire(writes)
    await close_with_outcomes(writes, threads)
    await _propagate(writes)
    written = await _written(writes)
    await attach(writes, {position: one.primary for position, one in written.items()})
    return GroupWritten(written, writes.changes, set(writes.primaries.values()))


async def read_final_state(
    connection: Connection, directory: Directory, caller: Caller, groups: Sequence[GroupWritten], *, now: datetime
) -> dict[int, Written]:
    """Return what the drafts of all groups wrote, by their positions, with every record as it is after the last group.

    Only records that were changed after they were written or read are read, without trust restrictions.
    """
    outdated: set[UUID] = set()
    current: set[UUID] = set()
    for group in groups:
        updated = group.updated
        current -= updated
        current |= group.read
        for one in group.written.values():
            shown = {one.primary.id, *(record.id for record in one.created)}
            current |= shown - updated
            outdated |= shown | {id_ for id_, _ in one.effects}
    outdated -= current
    written = {position: one for group in groups for position, one in group.written.items()}
    known = {record.id: record for one in written.values() for record in (one.primary, *one.created)}
    if outdated:
        unrestricted = caller.unrestricted()
        async with elevated(connection, unrestricted.bounds):
            known |= await Reader(connection, directory, unrestricted, now).records(outdated)
    for one in written.values():
        one.primary = known[one.primary.id]
        one.created = [known[record.id] for record in one.created]
        one.changed = {id_: known[id_] for id_, _ in one.effects if id_ in known}
    return written


async def _lock_derived(writes: WriteSet, displaced: Sequence[UUID], opponents: Collection[UUID]) -> list[datetime]:
    """Lock the records derived from facts that will be displaced, and those in dispute with them.

    Returns when each was last changed.
    """
    if not displaced:
        return []
    derived = await derived_records(writes.connection, writes.caller, displaced)
    rows = await lock_records(writes.connection, writes.caller.tenant, {*derived, *opponents})
    return [row.updated_at for row in rows.values()]


async def _propagate(writes: WriteSet) -> None:
    """Re-evaluate the records whose support this group changed, and the new records that name records as sources."""
    new = ids_with_record_sources(writes.records)
    writes.doubtful |= new
    if writes.withdrawn or writes.causes or writes.doubtful:
        done = await reevaluate(
            writes.connection,
            writes.directory,
            writes.caller,
            doubtful=writes.doubtful,
            causes=writes.withdrawn | writes.causes,
            new=new,
            actor=writes.caller.trust.actor,
            at=writes.at,
        )
        writes.changes += done.changes


async def _written(writes: WriteSet) -> dict[int, Written]:
    """Return what each draft wrote. Primary records that existed before are read back without trust restrictions."""
    tenant = writes.caller.tenant
    records = {record.id: record.as_record(tenant, writes.at) for _, record in writes.records}
    if writes.primaries:
        unrestricted = writes.caller.unrestricted()
        # A policy rule may have raised a record above the ceiling of the caller who wrote it.
        async with elevated(writes.connection, unrestricted.bounds):
            reader = Reader(writes.connection, writes.directory, unrestricted, writes.at)
            records |= await reader.records(set(writes.primaries.values()))
    written: dict[int, Written] = {}
    for draft in writes.drafts:
        primary = writes.primaries.get(draft.position, draft.id)
        if primary not in records:
            raise RecordNotFound(primary)
        written[draft.position] = Written(primary=records[primary])
    for draft, record in writes.records:
        written[draft.position].created.append(records[record.id])
    for position, effects in writes.effects.items():
        written[position].effects += effects
    for position, warnings in writes.warnings.items():
        written[position].warnings += warnings
    for draft, relation in writes.relations:
        written[draft.position].edges.append(relation.as_relation(writes.at))
    return written
