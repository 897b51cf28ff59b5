"""Taking records out of the current truth: they stay as history, with salience 0 (SPEC §5)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.consumer import Change
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.salience import withdrawn
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import Edit, update_records, write_salience

_ACTIONS = {RecordState.SUPERSEDED: AuditAction.SUPERSEDE, RecordState.RETRACTED: AuditAction.RETRACT}


async def withdraw(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    ids: Collection[UUID],
    state: RecordState,
    *,
    rationale: str,
    at: datetime,
    by: UUID | None = None,
) -> list[Change]:
    """Supersede or retract locked records. A superseded fact names what took its place: `by`."""
    everything = caller.everything()
    async with elevated(connection, everything.bounds):  # a rule may have lifted a fact above its writer's ceiling
        records = await Reader(connection, directory, everything, at).records(sorted(ids))
    edits = []
    for id_ in sorted(records):
        payload = records[id_].payload or {}
        if by is not None and records[id_].type is MemoryType.SEMANTIC:
            told = {key: value for key, value in payload.get("revision", {}).items() if key != "status"}
            payload = {**payload, "revision": {**told, "superseded_by": str(by)}}
            edits.append(Edit(id=id_, state=int(state), payload=orjson.dumps(payload).decode()))
        else:
            edits.append(Edit(id=id_, state=int(state)))
    changes = await update_records(connection, directory, caller.tenant, edits, at=at)
    await write_salience(
        connection,
        caller.tenant,
        [(id_, withdrawn(record.lifecycle, at)) for id_, record in records.items() if record.lifecycle],
    )
    await write_audit(
        connection,
        caller.tenant,
        [AuditEvent(record=id_, action=_ACTIONS[state], rationale=rationale, salience=0.0) for id_ in sorted(records)],
        actor=caller.trust.actor,
        at=at,
    )
    return changes
