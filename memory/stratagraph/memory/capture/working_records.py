"""The working state of a thread: one record, updated in place (docs/specification.md, Capture)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.working import lock_working


@dataclass(slots=True)
class WorkingUpdates:
    """Drafts that update existing working records, each with the record's id, and when each record was last changed.

    `changed_at` bounds the write's instant from below.
    """

    updates: list[tuple[Draft, UUID]]
    changed_at: list[datetime]

    async def apply(self, writes: WriteSet) -> None:
        """Update the records and write their audit entries."""
        tenant = writes.caller.tenant
        edits = [
            Edit(
                id=record,
                name=draft.name,
                text=draft.text,
                payload=orjson.dumps(draft.payload).decode(),
                terms=record_terms(tenant.index_key, draft.text, draft.request.summary or ""),
                occurred_at=draft.occurred_at,
            )
            for draft, record in self.updates
        ]
        writes.changes += await update_records(writes.connection, writes.directory, tenant, edits, at=writes.at)
        for draft, record in self.updates:
            writes.note_change(draft, record, Effect.REVISED)
        await write_audit(
            writes.connection,
            tenant,
            [
                AuditEvent(record=record, action=AuditAction.REVISE, rationale=draft.request.reason_to_remember)
                for draft, record in self.updates
            ],
            actor=writes.caller.trust.actor,
            at=writes.at,
        )


async def lock_working_records(writes: WriteSet) -> WorkingUpdates:
    """Find and lock the working records that drafts of this group update, and merge each draft with its record.

    A field that the draft leaves out stays as it is, and one that it sets to null is removed. Raises InvalidInput for
    the first working state of a thread that names no state.
    """
    tenant = writes.caller.tenant
    wanted = {
        Thread(
            writes.scopes[draft.scope],
            int(draft.sensitivity),
            handle_key(tenant, MemoryType.WORKING, draft.payload["thread_id"]),
        ): draft
        for draft in writes.drafts
        if draft.type is MemoryType.WORKING
    }
    found = await lock_working(writes.connection, tenant, wanted)
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
    return WorkingUpdates(
        [(wanted[thread], record.id) for thread, record in found.items()],
        [record.updated_at for record in found.values()],
    )
