"""Changing the content of entities and working records in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.naming import mention_of
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import Mention

CHANGED_IN_PLACE = (MemoryType.ENTITY, MemoryType.WORKING)


def edited_entity(old: MemoryRecord, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an entity with `changes`: other fields are kept, and null removes an optional one.

    Raises InvalidInput where the canonical name would be removed.
    """
    if "canonical_name" in changes and changes["canonical_name"] is None:
        raise InvalidInput(
            "payload.canonical_name: an entity needs a name; give another one, or leave the field out to keep it",
            path=["payload", "canonical_name"],
        )
    return {name: value for name, value in {**(old.payload or {}), **changes}.items() if value is not None}


async def entity_mention(work: UnitOfWork, record: MemoryRecord, payload: dict[str, Any]) -> Mention:
    """Return the names, identifiers and types in `payload`, an entity's, as a mention in the scope of `record`."""
    scopes = await work.directory.scopes(work.caller.tenant, {record.scope}, create=False)
    return mention_of(payload, scope=scopes[record.scope], sensitivity=record.sensitivity)


async def rewrite_record(
    work: UnitOfWork, id_: UUID, payload: dict[str, Any], name: str, text: str, *, action: AuditAction
) -> None:
    """Replace payload, name, text and search terms of the locked record `id_`, with an audit entry for `action`."""
    tenant = work.caller.tenant
    edit = Edit(
        id=id_,
        name=name,
        text=text,
        payload=orjson.dumps(payload).decode(),
        terms=record_terms(tenant.index_key, text, name),
    )
    work.changes += await update_records(work.connection, work.directory, tenant, [edit], at=work.at)
    await work.audit([AuditEvent(record=id_, action=action, rationale=work.rationale)])
    work.touched.append(id_)
    work.note_change(id_, Effect.REVISED)
