"""Changes of lessons by callers: marking one as verified or not, and removing one that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import orjson

from stratagraph.memory.lessons.block import lesson_of
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.request import RemoveLesson, VerifyLesson
from stratagraph.memory.revise.retract import retract
from stratagraph.memory.revise.unit_of_work import UnitOfWork, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import Access, AuditAction
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.lessons import fetch_lesson_authors
from stratagraph.store.records.reading import Reader


async def verify_lesson(work: UnitOfWork, request: VerifyLesson) -> UUID:
    """Note in the lesson whether it was verified, and that this was tried; return its id.

    Raises InvalidInput for a record that is no lesson, and Forbidden where a caller without access `admin` would verify
    what it wrote itself.
    """
    (record,) = await work.targets([request.record_id], path=["recordId"])
    _require_lesson(record)
    rows = await work.lock([record.id], with_derived=False)
    require_version(rows[record.id], request.expected_version)
    require_current(rows)
    if request.verified and work.caller.trust.access < Access.ADMIN:
        _refuse_authors(record.id, work.caller.trust.identity, await lesson_authors(work, [record.id]))
    reader = Reader(work.connection, work.directory, work.caller, work.at)
    payload = (await reader.records([record.id], as_stored=True))[record.id].payload or {}
    noted = {**(lesson_of(payload) or {}), "verified": request.verified, "verification_attempted": True}
    edit = Edit(id=record.id, payload=orjson.dumps({**payload, "lesson": noted}).decode())
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)
    await work.audit([AuditEvent(record=record.id, action=AuditAction.REVISE, rationale=work.rationale)])
    work.touched.append(record.id)
    work.note_change(record.id, Effect.REVISED)
    return record.id


async def remove_lesson(work: UnitOfWork, request: RemoveLesson) -> UUID:
    """Retract the lesson, and return its id. Raises InvalidInput for a record that is no lesson."""
    (record,) = await work.targets([request.record_id], path=["recordId"])
    _require_lesson(record)
    return await retract(work, request)


async def lesson_authors(work: UnitOfWork, ids: Sequence[UUID]) -> tuple[str, ...]:
    """Return the identities of those who wrote the advice of the lessons among `ids`, in the order of the lessons."""
    authors = await fetch_lesson_authors(work.connection, work.caller.tenant, ids)
    return tuple(dict.fromkeys(one for id_ in ids for one in authors.get(id_, ())))


def _refuse_authors(id_: UUID, identity: str, authors: Sequence[str]) -> None:
    if not authors or identity in authors:
        who = "this credential wrote advice of" if authors else "the authors are not known of"
        raise Forbidden(
            f"recordId: {who} the lesson {id_}, so it may not say that it is verified; verify it with a credential that"
            " wrote none of it, or with access admin",
            path=["recordId"],
        )


def _require_lesson(record: MemoryRecord) -> None:
    if lesson_of(record.payload) is None:
        raise InvalidInput(
            f"recordId: {record.id} is no lesson; give the id of one that `lessons` lists", path=["recordId"]
        )
