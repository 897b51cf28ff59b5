"""Deleting a record with its history, relations and search terms; a tombstone and the audit log stay."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.named_entities import refuse_named_entity
from stratagraph.memory.revise.request import Delete
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_version
from stratagraph.store.erasure.removal import remove_records
from stratagraph.store.model.enums import DeletionPolicy
from stratagraph.store.model.errors import DeletionForbidden
from stratagraph.store.records.reevaluations import queue_dependents
from stratagraph.store.records.support import direct_dependents
from stratagraph.store.records.tombstones import Cause


async def delete(work: UnitOfWork, request: Delete) -> UUID:
    """Delete the record, contest the records that rested on it alone, and return its id.

    Raises DeletionForbidden if the record's deletion policy is `never`, and for an entity that a current fact names.
    """
    record = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([record])
    if record.lifecycle is not None and record.lifecycle.deletion_policy is DeletionPolicy.NEVER:
        raise DeletionForbidden(
            f"Record {record.id} cannot be deleted: its deletion policy is `never`. Retract it, or have it erased.",
            path=["recordId"],
        )
    rows = await work.lock([record.id])
    require_version(rows[record.id], request.expected_version)
    await refuse_named_entity(work.connection, work.caller, record, verb="deleted")
    dependents = []
    for hidden in (False, True):
        found = await direct_dependents(
            work.connection, work.caller, [record.id], hidden=hidden, limit=propagation.BUDGET + 1
        )
        if len(found) > propagation.BUDGET:  # queued before the deletion, which deletes the relations to them
            added = await queue_dependents(work.connection, work.caller, [record.id], hidden=hidden, at=work.at)
            work.queued += 0 if hidden else added
        else:
            dependents += found
    await work.end_disputes([record.id])
    removed = await remove_records(
        work.connection,
        work.directory,
        work.caller.tenant,
        [record.id],
        Cause.DELETED,
        actor=work.caller.trust.actor,
        rationale=work.rationale,
        at=work.at,
    )
    work.changes += removed.changes
    work.touched += [record.id, *removed.restored]
    for id_ in removed.restored:
        work.note_change(id_, Effect.TRIMMED)
    work.doubtful |= set(dependents)
    work.doubtful -= {record.id}
    return record.id
