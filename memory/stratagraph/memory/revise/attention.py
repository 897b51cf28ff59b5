"""How much a record matters, as callers say it: reinforced, penalized, pinned. Content and version stay as they are."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.revise.request import Penalize, Pin, Reinforce, Revise
from stratagraph.memory.revise.unit_of_work import UnitOfWork, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.model.salience import Salience, penalized, pinned, reinforced
from stratagraph.store.records.lifecycles import keep_lifecycle
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import write_salience


async def reinforce(work: UnitOfWork, request: Reinforce) -> UUID:
    """Raises VersionConflict for what was superseded or retracted: it stays at 0."""
    before = await _lifecycle(work, request)
    await _fix(work, request.record_id, reinforced(before, work.at), AuditAction.REINFORCE)
    return request.record_id


async def penalize(work: UnitOfWork, request: Penalize) -> UUID:
    before = await _lifecycle(work, request)
    await _fix(work, request.record_id, penalized(before, request.amount, work.at), AuditAction.DECAY)
    return request.record_id


async def pin(work: UnitOfWork, request: Pin) -> UUID:
    """A salience event: it fixes the value of this instant, whether decay ends or begins again."""
    before = await _lifecycle(work, request)
    if before.pinned is not request.pinned:
        await keep_lifecycle(work.connection, work.caller.tenant, request.record_id, before, until=work.at)
        await _fix(work, request.record_id, pinned(before, request.pinned, work.at), AuditAction.REVISE)
    return request.record_id


async def _lifecycle(work: UnitOfWork, request: Revise) -> Salience:
    await work.targets([request.record_id], path=["recordId"])
    rows = await work.lock([request.record_id], with_derived=False)
    require_version(rows[request.record_id], request.expected_version)
    require_current(rows)
    record = (await Reader(work.connection, work.directory, work.caller, work.at).records([request.record_id]))[
        request.record_id
    ]
    assert record.lifecycle is not None  # `targets` refuses redacted records
    work.after(record.lifecycle.t0)
    return record.lifecycle


async def _fix(work: UnitOfWork, id_: UUID, after: Salience, action: AuditAction) -> None:
    await write_salience(work.connection, work.caller.tenant, [(id_, after)])
    await work.audit([AuditEvent(record=id_, action=action, rationale=work.rationale, salience=after.s)])
    work.touched.append(id_)
