"""The working state of a thread: one record, updated in place, and removed once the task is done.

See docs/specification.md, Capture.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.salience import Salience, of_task
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience
from stratagraph.store.records.working import WorkingRecord, lock_working

DONE = "done"  # the state of a task that has ended


@dataclass(slots=True)
class WorkingUpdates:
    """The working records of the threads that a group is about: existing ones, locked, and those that it creates.

    `states` has the working states of the group, `ends` the positions of its outcomes, by thread; a thread has one of
    each at most. `found` has the records that existed.
    """

    states: dict[Thread, Draft]
    ends: dict[Thread, Draft]
    found: dict[Thread, WorkingRecord]

    @property
    def changed_at(self) -> list[datetime]:
        """When each locked record was last changed, which bounds the write's instant from below."""
        return [max(record.updated_at, record.salience.t0) for record in self.found.values()]

    async def apply(self, writes: WriteSet) -> None:
        """Update the existing records that a working state names, and let those of done tasks be pruned."""
        tenant = writes.caller.tenant
        updated = [(draft, self.found[thread].id) for thread, draft in self.states.items() if thread in self.found]
        edits = [
            Edit(
                id=record,
                name=draft.name,
                text=draft.text,
                payload=orjson.dumps(draft.payload).decode(),
                terms=record_terms(tenant.index_key, draft.text, draft.request.summary or ""),
                occurred_at=draft.occurred_at,
            )
            for draft, record in updated
        ]
        writes.changes += await update_records(writes.connection, writes.directory, tenant, edits, at=writes.at)
        for draft, record in updated:
            writes.note_change(draft, record, Effect.REVISED)
        saliences = self._saliences(writes)
        await write_salience(writes.connection, tenant, sorted(saliences.items()))
        events = [
            AuditEvent(record=record, action=AuditAction.REVISE, rationale=draft.request.reason_to_remember)
            for draft, record in updated
        ]
        await write_audit(
            writes.connection,
            tenant,
            [*events, *(task_event(record, salience) for record, salience in sorted(saliences.items()))],
            actor=writes.caller.trust.actor,
            at=writes.at,
        )

    def _saliences(self, writes: WriteSet) -> dict[UUID, Salience]:
        """Return the salience of each record whose task is done now, or goes on after it was done."""
        created = {draft.id: record.as_record(writes.caller.tenant, writes.at) for draft, record in writes.records}
        changed: dict[UUID, Salience] = {}
        for thread in self.states.keys() | self.ends.keys():
            state, end = self.states.get(thread), self.ends.get(thread)
            if thread in self.found:
                record, salience = self.found[thread].id, self.found[thread].salience
            elif state is not None and (lifecycle := created[state.id].lifecycle) is not None:
                record, salience = state.id, lifecycle
            else:
                continue
            is_ended = end is not None and (state is None or state.position < end.position)
            is_done = is_ended or (state is not None and state.payload["state"] == DONE)
            after = of_task(salience, is_done=is_done, at=writes.at)
            if after is not None:
                changed[record] = after
        return changed


def task_event(record: UUID, salience: Salience) -> AuditEvent:
    """Return the audit entry of a working record that was given the salience of a done task, or of one that goes on."""
    is_done = salience.s == 0.0
    return AuditEvent(
        record=record,
        action=AuditAction.DECAY if is_done else AuditAction.REVISE,
        rationale="the task is done" if is_done else "the task goes on",
        salience=salience.s,
    )


async def lock_working_records(writes: WriteSet) -> WorkingUpdates:
    """Find and lock the working records that drafts of this group update or end; merge each update with its record.

    A field that the draft leaves out stays as it is, and one that it sets to null is removed. Raises InvalidInput for
    the first working state of a thread that names no state.
    """
    wanted = {
        _thread(writes, draft.payload["thread_id"], writes.scopes[draft.scope], int(draft.sensitivity)): draft
        for draft in writes.drafts
        if draft.type is MemoryType.WORKING
    }
    ends = await _ended_threads(writes)
    found = await lock_working(writes.connection, writes.caller.tenant, wanted.keys() | ends.keys())
    for thread, draft in wanted.items():
        if thread in found:
            writes.use_existing(draft, found[thread].id)
            kept = {key: value for key, value in found[thread].payload.items() if key not in draft.cleared}
            draft.payload = {**kept, **draft.payload}
            caption(draft)
        elif "state" not in draft.payload:
            raise InvalidInput(
                "content.state: this is the thread's first working state, which must name its state: planning,"
                " executing, blocked, waiting or done",
                path=[f"#{draft.position}", "content", "state"],
            )
    return WorkingUpdates(wanted, ends, found)


async def _ended_threads(writes: WriteSet) -> dict[Thread, Draft]:
    """Return the threads whose episodes the outcomes of the group close, as their working records name them."""
    ends = {
        _thread(writes, draft.thread, writes.scopes[draft.scope], int(draft.sensitivity)): draft
        for draft in writes.drafts
        if is_outcome(draft) and draft.thread is not None
    }
    named = {draft.outcome_of: draft for draft in writes.drafts if is_outcome(draft) and draft.outcome_of is not None}
    if named:
        reader = Reader(writes.connection, writes.directory, writes.caller, writes.at)
        episodes = await reader.records(named)
        scopes = await writes.directory.scopes(
            writes.caller.tenant, {one.scope for one in episodes.values()}, create=False
        )
        for id_, episode in episodes.items():
            thread = (episode.payload or {}).get("thread_id")  # an episode that was captured whole may have none
            if isinstance(thread, str) and episode.scope in scopes:
                ends[_thread(writes, thread, scopes[episode.scope], int(episode.sensitivity))] = named[id_]
    return ends


def _thread(writes: WriteSet, name: str, scope: int, sensitivity: int) -> Thread:
    return Thread(scope, sensitivity, handle_key(writes.caller.tenant, MemoryType.WORKING, name))
