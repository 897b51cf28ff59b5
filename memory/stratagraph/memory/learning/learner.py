"""The writes of learning: what a stage stores, by the rules of captures and revisions, logged so it can be undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.grouping import independent_groups, require_few_contending
from stratagraph.memory.capture.naming import link_names, resolve_names
from stratagraph.memory.capture.new_records import draft_terms
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.capture.slots import LockedSlots, lock_slots_of_facts
from stratagraph.memory.capture.write_set import MAX_SOURCES
from stratagraph.memory.capture.writer import write_group
from stratagraph.memory.learning.drafting import MAX_ENTITIES, LearnedRecord, draft_of, evidence_of, state_to_keep
from stratagraph.memory.revise.merge import merge
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.supersede import supersede_by_draft
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.extraction import find_stated_slots
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.clock import RESOLUTION, Clock, rfc3339
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import RecordNotFound
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.salience import Salience, penalized, reinforced
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.inserting import NewRelation, insert_relations, relation_changes
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.procedures import Version, lock_procedures
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.reevaluations import queue_records
from stratagraph.store.records.salience_rows import write_salience

NAMED_WEIGHT = 0.4  # of the relations to the entities that the sources name
DERIVED_WEIGHT = 0.8  # of the relations from sources to what was learned from them, as of references of a capture


@dataclass(slots=True)
class Learner:
    """The writes of one stage in one batch, in the batch's transaction.

    Each goes through the same rules as the capture or the revision that it resembles, as the actor of `caller`, within
    the caller's one scope and sensitivity. `now` is that of the run, which what is stored may name; the instants of the
    writes are those of `clock`, as of any other write. `changes` collects the changes of records and relations, and
    `merged` the entities that were merged into others; the run logs both for `undoRun`, and appends the changes to
    the feed when all stages are done.
    """

    connection: Connection
    directory: Directory
    caller: Caller
    clock: Clock
    group: Group
    scope: str
    now: datetime
    changes: list[Change] = field(default_factory=list)
    merged: list[UUID] = field(default_factory=list)

    async def records(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return records that the group may read, keyed by id, with their content decrypted."""
        return await self._reader(self.clock.now()).records(ids)

    async def versions(self, memory_type: MemoryType, name: str) -> list[Version]:
        """Lock a skill (by `skill_name`) or a plan (by `plan_id`) of the group; return its versions, newest first.

        They are the current ones, to be read before deciding what to create, revise or count, and the newest
        superseded one.
        """
        key = handle_key(self.caller.tenant, memory_type, name)
        wanted = Thread(self.group.scope, int(self.group.sensitivity), key)
        return (await lock_procedures(self.connection, self.caller.tenant, [wanted], superseded=1)).get(wanted, [])

    async def create(self, learned: LearnedRecord) -> UUID:
        """Store one thing learned; see `create_all`."""
        return (await self.create_all([learned]))[0]

    async def create_all(self, learned: Sequence[LearnedRecord]) -> list[UUID]:
        """Store what was learned, and return the id of the record that each became.

        Each is related to its sources (`derived_semantic`, read from the other end as `derived_from`), and rests on
        them. As in a capture, a fact that is known creates no record: it gets the sources and is reinforced, once for
        each of `learned` that repeats it; and a skill or plan with the content of a current version gets the sources.
        Raises InvalidInput for a payload that a capture would refuse, ConditionsOverlap, or LimitExceeded.
        """
        if not learned:
            return []
        tenant, now = self.caller.tenant, self.clock.now()
        drafts = [
            draft_of(
                one,
                position,
                caller=self.caller,
                directory=self.directory,
                scope=self.scope,
                sensitivity=self.group.sensitivity,
                now=now,
            )
            for position, one in enumerate(learned)
        ]
        scopes = await self.directory.scopes(tenant, {UNSCOPED, self.scope}, create=True)
        names = await resolve_names(self.connection, tenant, drafts, scopes)
        require_few_contending(drafts)
        slots = await lock_slots_of_facts(self.connection, tenant, drafts, scopes)
        await self._let_yield([draft for draft, one in zip(drafts, learned, strict=True) if one.yields], slots)
        ids: dict[int, UUID] = {}
        for group in independent_groups(drafts, names, slots):
            done = await write_group(
                self.connection,
                self.directory,
                self.caller,
                group,
                names,
                slots,
                now=self.clock.now(),
                author=self.caller.trust.actor,
            )
            self.changes += done.changes
            ids |= {position: one.primary.id for position, one in done.written.items()}
        named = dict.fromkeys(
            (ids[position], entity)
            for position, one in enumerate(learned)
            for entity in one.entities[:MAX_ENTITIES]
            if entity != ids[position]
        )
        await self.relate(
            [
                NewRelation(source=record, target=entity, predicate="mentions_entity", weight=NAMED_WEIGHT)
                for record, entity in named
            ]
        )
        return [ids[position] for position in range(len(learned))]

    async def _let_yield(self, drafts: Sequence[Draft], slots: LockedSlots) -> None:
        """Let facts contest, instead of replace, what others have stated in slots that have one value."""
        single = {
            draft.position: slots.of_draft[draft.position] for draft in drafts if draft.type is MemoryType.SEMANTIC
        }
        single = {position: slot for position, slot in single.items() if slots.single_valued[slot]}
        stated = await find_stated_slots(
            self.connection, self.group, {slot.key for slot in single.values()}, author=self.caller.trust.actor
        )
        for draft in drafts:
            if draft.position in single and single[draft.position].key in stated:
                draft.payload["revision_policy"] = "contest"

    def created(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of `ids` that this learner has created, each once."""
        new = {change.id for change in self.changes if change.kind is Kind.RECORD and change.version == 1}
        return [id_ for id_ in dict.fromkeys(ids) if id_ in new]

    async def revise(
        self,
        record: UUID,
        payload: Mapping[str, Any],
        *,
        sources: Sequence[UUID],
        rationale: str,
        confidence: float | None = None,
        keeps_sources: bool = True,
        state: Mapping[str, Any] | None = None,
    ) -> UUID:
        """Supersede a fact, a skill or a plan by a new record with `payload`; return the new id.

        A skill or plan gets the next version unless `payload` names one; it keeps its `skill_name` or `plan_id`. The
        new record rests on `sources` and, with `keeps_sources`, on those of the old one; `confidence` None keeps that
        of the old one. `state` is what was observed of a skill or plan. For an entity, use `create` with its new names.
        """
        work = self._work(rationale)
        old = (await work.targets([record], path=["recordId"]))[0]
        level = sealing_level(self.directory.vault)
        draft = successor(
            old,
            payload,
            evidence_of(sources),
            caller=self.caller,
            rationale=rationale,
            now=work.at,
            seals_from=level,
        )
        draft.learned_state = state_to_keep(state, self.caller, self.group.sensitivity, level)
        if confidence is not None:
            draft.confidence = confidence
        if keeps_sources:
            draft.inherited_sources = tuple((old.provenance or {}).get("sources", ()))
        writes = await work.writes(draft)
        writes.author = self.caller.trust.actor
        await link_names(writes)
        current = await supersede_by_draft(work, writes, draft, [old], expected={old.id: None})
        work.causes.add(old.id)
        await self._settle(work)
        return current

    async def count(
        self,
        record: UUID,
        payload: Mapping[str, Any],
        *,
        sources: Sequence[UUID],
        rationale: str,
        confidence: float | None = None,
    ) -> None:
        """Replace the payload of a skill or plan whose statistics have moved, in place: its `version` does not move.

        `sources` are added to those that it rests on, of which the newest MAX_SOURCES are kept in its provenance; the
        relations to all of them stay. Name, text and search terms stay as they are.
        """
        edit = Edit(id=record, payload=orjson.dumps(dict(payload)).decode(), confidence=confidence, is_revision=False)
        await self._change_in_place(edit, sources, rationale)

    async def retell(self, record: UUID, learned: LearnedRecord) -> None:
        """Replace a skill or plan by what is known of it now, in place: its `version` does not move.

        As `count`, but its name, text and search terms become those of a capture of `learned`, and secrets are masked.
        """
        draft = draft_of(
            learned,
            0,
            caller=self.caller,
            directory=self.directory,
            scope=self.scope,
            sensitivity=self.group.sensitivity,
            now=self.clock.now(),
        )
        edit = Edit(
            id=record,
            name=draft.name,
            text=draft.text,
            payload=orjson.dumps(draft.payload).decode(),
            learned_state=None if draft.learned_state is None else orjson.dumps(draft.learned_state).decode(),
            terms=draft_terms(self.caller.tenant, draft),
            confidence=learned.confidence,
            is_revision=False,
        )
        await self._change_in_place(edit, learned.sources, learned.rationale)

    async def _change_in_place(self, edit: Edit, sources: Sequence[UUID], rationale: str) -> None:
        """Write an edit of a record that rests on `sources` too from now on."""
        tenant, record = self.caller.tenant, edit.id
        locked = (await lock_records(self.connection, tenant, [record])).get(record)
        if locked is None:
            raise RecordNotFound(record)
        at = max(self.clock.now(), locked.updated_at + RESOLUTION)
        stored = (await self._reader(at).records([record]))[record]
        provenance = stored.provenance or {}
        known = {source["ref"]: source for source in provenance.get("sources", ())}
        for source in sources:
            known[str(source)] = {
                "kind": "event",
                "ref": str(source),
                "created_by": self.caller.trust.actor,
                "timestamp": rfc3339(self.now),
            }
        sourced = orjson.dumps({**provenance, "sources": list(known.values())[-MAX_SOURCES:]}).decode()
        edit = replace(edit, provenance=sourced)
        self.changes += await update_records(self.connection, self.directory, tenant, [edit], at=at)
        await self._audit([AuditEvent(record=record, action=AuditAction.REVISE, rationale=rationale)], at=at)
        await self.relate(
            [
                NewRelation(source=source, target=record, predicate="derived_semantic", weight=DERIVED_WEIGHT)
                for source in sources
            ]
        )
        if locked.state is RecordState.CONTESTED:  # it may have lost its other sources
            await queue_records(self.connection, tenant, [record], at=at)

    async def reinforce(self, records: Collection[UUID], *, rationale: str) -> None:
        """Raise the salience of current records by their gains, up to 1."""
        await self._move_salience(records, AuditAction.REINFORCE, rationale, reinforced)

    async def fade(self, records: Collection[UUID], *, share: float, rationale: str) -> None:
        """Lower the salience of records to `share` of its present value, in [0, 1]; pinned ones keep theirs."""

        def lowered(one: Salience, at: datetime) -> Salience | None:
            if one.pinned:
                return None
            return penalized(one, one.at(at) * (1.0 - share), at)

        await self._move_salience(records, AuditAction.DECAY, rationale, lowered)

    async def merge(
        self, record: UUID, others: Sequence[UUID], *, rationale: str, payload: Mapping[str, Any] | None = None
    ) -> UUID:
        """Merge records that say the same, of one type, as the mutation `merge` does; return the resulting id.

        Entities are merged into the one with the most facts. Of another type, a new record supersedes them.
        """
        work = self._work(rationale)
        request = Merge(
            record_id=record, others=tuple(others), rationale=rationale, payload=dict(payload) if payload else None
        )
        current = await merge(work, request)
        if work.known[record].type is MemoryType.ENTITY:
            self.merged += [id_ for id_ in (record, *others) if id_ != current]
        await self._settle(work)
        return current

    async def relate(self, relations: Sequence[NewRelation]) -> None:
        """Write relations; those that exist already are left as they are."""
        written = await insert_relations(
            self.connection, self.directory, self.caller.tenant, relations, at=self.clock.now()
        )
        self.changes += relation_changes(written)

    async def _move_salience(
        self,
        records: Collection[UUID],
        action: AuditAction,
        rationale: str,
        event: Callable[[Salience, datetime], Salience | None],
    ) -> None:
        """Write a salience event of each record that is current; `event` returns None for no change."""
        locked = await lock_records(self.connection, self.caller.tenant, records)
        current = [id_ for id_, row in locked.items() if row.state in CURRENT]
        stored = await self._reader(self.clock.now()).heads(current)
        lifecycles = {id_: head.lifecycle for id_, head in sorted(stored.items()) if head.lifecycle is not None}
        if not lifecycles:
            return
        at = max([self.clock.now(), *(one.t0 + RESOLUTION for one in lifecycles.values())])
        moved = {id_: event(one, at) for id_, one in lifecycles.items()}
        after = [(id_, one) for id_, one in moved.items() if one is not None]
        await write_salience(self.connection, self.caller.tenant, after)
        await self._audit(
            [AuditEvent(record=id_, action=action, rationale=rationale, salience=one.s) for id_, one in after], at=at
        )

    async def _audit(self, events: Sequence[AuditEvent], *, at: datetime) -> None:
        await write_audit(self.connection, self.caller.tenant, events, actor=self.caller.trust.actor, at=at)

    def _work(self, rationale: str) -> UnitOfWork:
        return UnitOfWork(self.connection, self.directory, self.caller, self.clock.now(), rationale)

    async def _settle(self, work: UnitOfWork) -> None:
        await work.settle()
        self.changes += work.changes

    def _reader(self, at: datetime) -> Reader:
        return Reader(self.connection, self.directory, self.caller, at)
