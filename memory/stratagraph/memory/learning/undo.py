"""Undo a run: restore the contents, states and salience from before it.

Versions, history and audit entries are added, never removed.

What the run created is retracted, and what it changed is restored from the history. A record that another writer has
changed since is left as it is, and named. The work is done in batches, each a transaction, so an undo that was
interrupted is continued by asking for it again. See docs/learning.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.new_records import stored_times
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.revise.in_place import entity_mention
from stratagraph.memory.revise.request import Unmerge
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork
from stratagraph.memory.revise.unmerge import unmerge
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.changes import (
    FormerVersion,
    Kept,
    LoggedRecord,
    LoggedRelation,
    fetch_former_versions,
    follow_changes,
    follow_salience,
    forget_changes,
    keep_changes,
    next_changes,
    next_relations,
    used_entities,
)
from stratagraph.store.learning.duplicates import reject_merged
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection, savepoint
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import replace_terms
from stratagraph.store.records.inserting import NewRelation, latest_evidence
from stratagraph.store.records.keyed_facts import set_evidence_times
from stratagraph.store.records.merges import row_versions
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import end_relations
from stratagraph.store.records.salience_rows import noting_salience, write_salience

BATCH = 100  # records or relations undone in one transaction


@dataclass(slots=True)
class UndoBatch:
    """One batch of the undoing of a run, in the groups that the caller undoes."""

    connection: Connection
    directory: Directory
    caller: Caller
    clock: Clock
    run: UUID
    groups: Sequence[Group]
    rationale: str

    async def undo_next(self) -> int:
        """Undo the next records or relations of the log; return how many, 0 if none are left."""
        async with noting_salience(self.connection) as salience:
            count = await self._undo_next()
        await follow_salience(self.connection, self.caller.tenant, self.run, salience)
        return count

    async def _undo_next(self) -> int:
        tenant = self.caller.tenant
        logged = await next_changes(self.connection, tenant, self.run, self.groups, limit=BATCH)
        if logged and logged[0].is_merged:
            return await self._unmerge(logged[0])
        created = [one for one in logged if one.is_created]
        if created and created[0].type is not MemoryType.ENTITY:
            return await self._retract([one for one in created if one.type is not MemoryType.ENTITY], {})
        relations = await next_relations(self.connection, tenant, self.run, self.groups, limit=BATCH)
        if relations:  # before the entities, which count as used while a relation of the run leads to them
            return await self._undo_relations(relations)
        if created:
            used = await used_entities(self.connection, tenant, self.run, [one.id for one in created])
            return await self._retract(created, dict.fromkeys(used, Kept.USED))
        return await self._restore(logged) if logged else 0

    async def _unmerge(self, entity: LoggedRecord) -> int:
        """Undo one merge of entities; where it cannot be undone, keep the entity merged."""
        work = self._work()
        try:
            async with savepoint(self.connection):
                await unmerge(work, Unmerge(record_id=entity.id, rationale=self.rationale))
                await work.settle()
        except InvalidInput:
            await self._close({entity.id: Kept.REVISED}, [])
        else:
            await self._finish(work)
            await self._close({}, [entity.id])
        return 1

    async def _retract(self, logged: Sequence[LoggedRecord], kept: dict[UUID, Kept]) -> int:
        """Retract records that the run created, but for those in `kept` and those that were changed since."""
        work = self._work()
        found = await self._read(work, logged)
        kept |= {one.id: Kept.REVISED for one in logged if not one.is_untouched or one.id not in found}
        ids = [one.id for one in logged if one.id not in kept]
        if ids:
            await self._lock(work, [one for one in logged if one.id not in kept])
            await work.replace(ids, RecordState.RETRACTED)
            await reject_merged(self.connection, self.caller.tenant, ids, at=work.at)
            work.causes |= set(ids)
            await work.settle()
            await self._finish(work)
        await self._close(kept, ids)
        return len(logged)

    async def _undo_relations(self, relations: Sequence[LoggedRelation]) -> int:
        """End the relations that the run inserted, and insert those again that it ended."""
        work = self._work()
        ended = [one.id for one in relations if one.is_new and one.is_live]
        work.changes += await end_relations(self.connection, self.caller.tenant, ended, at=work.at)
        await work.relate(
            [
                NewRelation(source=one.source, target=one.target, predicate=one.predicate, weight=one.weight)
                for one in relations
                if not one.is_new and not one.is_live
            ]
        )
        await append_changes(self.connection, self.caller.tenant, work.changes)
        await forget_changes(
            self.connection, self.caller.tenant, self.run, records=(), relations=[one.id for one in relations]
        )
        return len(relations)

    async def _restore(self, logged: Sequence[LoggedRecord]) -> int:
        """Give records that existed before the run their content, state and salience of before."""
        work = self._work()
        found = await self._read(work, logged)
        kept = {one.id: Kept.REVISED for one in logged if not one.is_untouched or one.id not in found}
        mine = [one for one in logged if one.id not in kept]
        kept |= {one.id: Kept.SALIENCE for one in mine if one.salience is not None and one.t0 != one.t0_after}
        changed = {one.id: one.before for one in mine if one.before is not None}
        former = await fetch_former_versions(self.connection, self.caller.tenant, changed)
        kept |= dict.fromkeys(changed.keys() - former.keys(), Kept.REVISED)
        await self._lock(work, mine)
        await self._restore_contents(work, found, former)
        await self._restore_salience(work, found, [one for one in mine if one.id not in kept])
        work.causes |= former.keys()
        work.doubtful |= former.keys()
        await work.settle()
        await self._finish(work)
        current = await Reader(self.connection, self.directory, self.caller.unrestricted(), work.at).records(
            former.keys()
        )
        kept |= {
            id_: Kept.DISPLACED
            for id_, before in former.items()
            if id_ in current and before.state is RecordState.ACTIVE and current[id_].state is not RecordState.ACTIVE
        }
        await self._close(kept, [one.id for one in logged if one.id not in kept])
        return len(logged)

    async def _restore_contents(
        self, work: UnitOfWork, found: Mapping[UUID, MemoryRecord], former: Mapping[UUID, FormerVersion]
    ) -> None:
        """Write the former contents. What was superseded becomes contested, and active again by the re-evaluation."""
        edits = []
        times: dict[UUID, datetime] = {}
        for id_, before in sorted(former.items()):
            record = found[id_]
            state: RecordState | None = before.state
            if before.state in CURRENT and record.state not in CURRENT:
                state = RecordState.CONTESTED
            elif before.state in CURRENT:
                state = None  # as its sources and disputes make it
            payload = before.payload
            if record.type is MemoryType.SEMANTIC:
                times[id_] = latest_evidence(before.provenance, before.occurred_at)
            is_renamed = (before.name, before.text) != (record.name, record.text)
            edits.append(
                Edit(
                    id=id_,
                    state=int(state) if state is not None else None,
                    confidence=before.confidence,
                    name=before.name if is_renamed else None,
                    text=before.text if is_renamed else None,
                    terms=before.terms if is_renamed else None,
                    payload=orjson.dumps(payload).decode(),
                    provenance=orjson.dumps(before.provenance).decode(),
                    interpretation=None
                    if before.interpretation is None
                    else orjson.dumps(before.interpretation).decode(),
                    named_times=stored_times(before.interpretation) if record.type is MemoryType.EPISODIC else None,
                    learned_state=None if before.learned_state is None else orjson.dumps(before.learned_state).decode(),
                    is_revision=payload != record.payload or state is not None,
                )
            )
            if record.type is MemoryType.ENTITY and payload != record.payload:
                mention = await entity_mention(work, record, payload)
                await replace_terms(self.connection, self.caller.tenant, mention, id_)
        work.changes += await update_records(self.connection, self.directory, self.caller.tenant, edits, at=work.at)
        await set_evidence_times(self.connection, self.caller.tenant, times)
        await work.audit(
            [AuditEvent(record=edit.id, action=AuditAction.REVISE, rationale=self.rationale) for edit in edits]
        )
        work.touched += [edit.id for edit in edits]

    async def _restore_salience(
        self, work: UnitOfWork, found: Mapping[UUID, MemoryRecord], logged: Sequence[LoggedRecord]
    ) -> None:
        """Give records the salience that they would have without the run."""
        restored = [
            (one.id, replace(lifecycle, **one.salience.as_fields(), is_withdrawn=False))
            for one in sorted(logged, key=lambda one: one.id)
            if one.salience is not None and (lifecycle := found[one.id].lifecycle) is not None
        ]
        await write_salience(self.connection, self.caller.tenant, restored)
        # A reader of the past computes the salience from the last event that has one.
        await work.audit(
            [
                AuditEvent(
                    record=id_,
                    action=AuditAction.REVISE,
                    rationale=self.rationale,
                    salience=lifecycle.at(work.at),
                )
                for id_, lifecycle in restored
            ]
        )

    async def _read(self, work: UnitOfWork, logged: Sequence[LoggedRecord]) -> dict[UUID, MemoryRecord]:
        """Return the records that the caller may read in full, and make them known to the unit of work."""
        reader = Reader(self.connection, self.directory, self.caller, work.at)
        found = await reader.records([one.id for one in logged])
        found = {id_: record for id_, record in found.items() if not record.redacted}
        work.known |= found
        work.after(*(one.t0 for one in logged if one.id in found))
        return found

    async def _lock(self, work: UnitOfWork, logged: Sequence[LoggedRecord]) -> None:
        """Lock records, with those derived from them. Raises StaleRead if one was changed since the log was read."""
        await work.lock([one.id for one in logged])
        versions = await row_versions(self.connection, self.caller.tenant, [one.id for one in logged])
        if any(one.id not in versions or versions[one.id].row_version != one.row_version for one in logged):
            raise StaleRead

    async def _finish(self, work: UnitOfWork) -> None:
        await follow_changes(self.connection, self.caller.tenant, self.run, work.changes)
        await append_changes(self.connection, self.caller.tenant, work.changes)

    async def _close(self, kept: Mapping[UUID, Kept], undone: Sequence[UUID]) -> None:
        await keep_changes(self.connection, self.caller.tenant, self.run, kept)
        await forget_changes(self.connection, self.caller.tenant, self.run, records=undone, relations=())

    def _work(self) -> UnitOfWork:
        return UnitOfWork(self.connection, self.directory, self.caller, self.clock.now(), self.rationale)
