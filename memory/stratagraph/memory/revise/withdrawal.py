"""Withdrawal of records: superseded and retracted records stay as history, with salience 0.

See docs/specification.md, Revision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.salience import withdrawn
from stratagraph.store.postgres.database import Connection, elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import delete_terms
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience

_ACTIONS = {RecordState.SUPERSEDED: AuditAction.SUPERSEDE, RecordState.RETRACTED: AuditAction.RETRACT}


async def withdraw(
    connection: Connection,
    directory: Directory,
    caller: Caller,
    ids: Collection[UUID],
    state: RecordState,
    *,
    rationale: str | Mapping[UUID, str],
    at: datetime,
    by: UUID | Mapping[UUID, UUID] | None = None,
    sensitivity: Sensitivity | None = None,
) -> list[Change]:
    """Set locked records to `state`, SUPERSEDED or RETRACTED, and return the changes to announce in the feed.

    `by` is the record that supersedes them, or that of each; superseded facts name it in their payload. The rationale
    may be one for each, too.
    `sensitivity` is that of the most sensitive record that the rationale is about, None for those of the records.
    """
    unrestricted = caller.unrestricted()
    # Elevated, because a policy rule may have raised a fact above its writer's ceiling.
    async with elevated(connection, unrestricted.bounds):
        records = await Reader(connection, directory, unrestricted, at).records(sorted(ids))
    edits = []
    for id_ in sorted(records):
        payload = records[id_].payload or {}
        successor = by.get(id_) if isinstance(by, Mapping) else by
        if successor is not None and records[id_].type is MemoryType.SEMANTIC:
            revision = {key: value for key, value in payload.get("revision", {}).items() if key != "status"}
            payload = {**payload, "revision": {**revision, "superseded_by": str(successor)}}
            edits.append(Edit(id=id_, state=int(state), payload=orjson.dumps(payload).decode()))
        else:
            edits.append(Edit(id=id_, state=int(state)))
    entities = [id_ for id_, record in records.items() if record.type is MemoryType.ENTITY]
    if entities:  # their names and identifiers are free for others
        await delete_terms(connection, caller.tenant, entities)
    changes = await update_records(connection, directory, caller.tenant, edits, at=at)
    await write_salience(
        connection,
        caller.tenant,
        [(id_, withdrawn(record.lifecycle, at)) for id_, record in records.items() if record.lifecycle],
    )
    await write_audit(
        connection,
        caller.tenant,
        [
            AuditEvent(
                record=id_,
                action=_ACTIONS[state],
                rationale=rationale if isinstance(rationale, str) else rationale[id_],
                salience=0.0,
                sensitivity=sensitivity,
            )
            for id_ in sorted(records)
        ],
        actor=caller.trust.actor,
        at=at,
    )
    return changes
