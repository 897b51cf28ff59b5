"""Retracting a record that was wrong."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.revise.named_entities import refuse_named_entity
from stratagraph.memory.revise.request import Retract
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.learning.examples import note_refused
from stratagraph.store.model.enums import RecordState


async def retract(work: UnitOfWork, request: Retract) -> UUID:
    """Retract the record, contest the records that rested on it alone, and return its id.

    Learning does not make a learned skill or plan again that was retracted.
    Raises InvalidInput for an entity that a current fact names.
    """
    record = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([record])
    rows = await work.lock([record.id])
    require_version(rows[record.id], request.expected_version)
    require_current(rows)
    await refuse_named_entity(work.connection, work.caller, record, verb="retracted")
    await work.replace([record.id], RecordState.RETRACTED)
    work.causes.add(record.id)
    if record.learned_tools is not None:
        await note_refused(work.connection, work.caller.tenant, [record.id])
    return record.id
