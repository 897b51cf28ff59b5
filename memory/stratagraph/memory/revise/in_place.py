"""Changing the content of entities and working records in place."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction, MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import Mention

CHANGED_IN_PLACE = (MemoryType.ENTITY, MemoryType.WORKING)


async def entity_mention(work: UnitOfWork, record: MemoryRecord, payload: dict[str, Any]) -> Mention:
    """Return the names and identifiers in `payload`, an entity's, as a mention in the scope of `record`."""
    scopes = await work.directory.scopes(work.caller.tenant, {record.scope}, create=False)
    return Mention(
        name=payload["canonical_name"],
        scope=scopes[record.scope],
        sensitivity=int(record.sensitivity),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in payload.get("identifiers") or ()),
        aliases=tuple(alias["value"] for alias in payload.get("aliases") or ()),
    )


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
