"""Noting that two records, which may look alike, do not say the same."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.revise.request import RejectDuplicate
from stratagraph.memory.revise.unit_of_work import UnitOfWork, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.learning.duplicates import ordered, reject_pair
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.model.errors import InvalidInput

_PATH = ["recordIds"]


async def reject_duplicate(work: UnitOfWork, request: RejectDuplicate) -> UUID:
    """Note that the two records are different, with an entry in the audit log of each; return the id of the first.

    Neither record changes. Raises InvalidInput for records that are never compared: of different types, scopes or
    sensitivities, or a record and itself.
    """
    ids = [request.record_id, request.other_id]
    if len(set(ids)) < 2:
        raise InvalidInput("recordIds: the two ids are equal; give two different records", path=_PATH)
    records = await work.targets(ids, path=_PATH)
    if len({(record.type, record.scope, record.sensitivity) for record in records}) > 1:
        raise InvalidInput(
            "recordIds: the records differ in type, scope or sensitivity, so they are never taken for the same; give"
            " two that `duplicateCandidates` lists",
            path=_PATH,
        )
    rows = await work.lock(ids, with_derived=False)
    require_version(rows[request.record_id], request.expected_version)
    require_current(rows)
    if await reject_pair(work.connection, work.caller.tenant, ordered(*ids), at=work.at):
        await work.audit(
            [
                AuditEvent(
                    record=id_, action=AuditAction.REVISE, rationale=f"not the same as {other}: {work.rationale}"
                )
                for id_, other in (ids, ids[::-1])
            ]
        )
    return request.record_id
