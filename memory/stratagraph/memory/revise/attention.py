"""Changes of salience by callers: reinforce, penalize and pin. Content and version do not change."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.request import Penalize, Pin, Reinforce, Revise
from stratagraph.memory.revise.unit_of_work import UnitOfWork, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.model.salience import Salience, penalized, pinned, reinforced
from stratagraph.store.records.lifecycles import insert_lifecycle_history
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience


async def reinforce(work: UnitOfWork, request: Reinforce) -> UUID:
    """Raise the record's salience by its reinforcement gain, up to 1, and return its id.

    Raises VersionConflict for a superseded or retracted record, whose salience stays 0.
    """
    before = await _lifecycle(work, request)
    await _write(work, request.record_id, reinforced(before, work.at), AuditAction.REINFORCE)
    work.note_change(request.record_id, Effect.REINFORCED)
    return request.record_id


async def penalize(work: UnitOfWork, request: Penalize) -> UUID:
    """Lower the record's salience by `amount`, but not below its minimum, and return its id."""
    before = await _lifecycle(work, request)
    await _write(work, request.record_id, penalized(before, request.amount, work.at), AuditAction.DECAY)
    return request.record_id


async def pin(work: UnitOfWork, request: Pin) -> UUID:
    """Pin the record, which keeps its present salience, or unpin it, so that it decays again from there; return its id.

    A record that is already pinned, or not, as `request.pinned` asks is left unchanged.
    """
    before = await _lifecycle(work, request)
    if before.pinned is not request.pinned:
        await insert_lifecycle_history(work.connection, work.caller.tenant, request.record_id, before, until=work.at)
        await _write(work, request.record_id, pinned(before, request.pinned, work.at), AuditAction.REVISE)
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


async def _write(work: UnitOfWork, id_: UUID, after: Salience, action: AuditAction) -> None:
    await write_salience(work.connection, work.caller.tenant, [(id_, after)])
    await work.audit([AuditEvent(record=id_, action=action, rationale=work.rationale, salience=after.s)])
    work.touched.append(id_)
