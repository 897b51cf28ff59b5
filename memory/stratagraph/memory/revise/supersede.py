"""Superseding a record by a new one, or changing it in place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.naming import link_names
from stratagraph.memory.capture.new_records import new_record
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.capture.working_records import DONE, task_event
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.requests.evidence import accepted_evidence
from stratagraph.memory.revise.in_place import CHANGED_IN_PLACE, edited_entity, entity_mention, rewrite_record
from stratagraph.memory.revise.lessons import lesson_authors
from stratagraph.memory.revise.merge_patch import patched
from stratagraph.memory.revise.noting import masked_in_revision, payload_warnings
from stratagraph.memory.revise.request import Amend, Supersede
from stratagraph.memory.revise.slots import equal_fact, lock_slot, settle_slot
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import EvidenceRequired, InvalidInput, StratagraphError
from stratagraph.store.model.payloads.procedures import refuse_computed, without_computed
from stratagraph.store.model.payloads.working import STATES
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.salience import Salience, of_task
from stratagraph.store.records.entities import replace_terms
from stratagraph.store.records.link_requests import insert_link_requests
from stratagraph.store.records.merges import note_decided
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of
from stratagraph.store.records.salience_rows import write_salience


async def supersede(work: UnitOfWork, request: Supersede) -> UUID:
    """Supersede the record, or change an entity or a working record in place; return the id of the current record.

    The payload of an entity need only have the fields that change.
    """
    old = await _target(work, request)
    work.warnings += payload_warnings(request.payload, old)
    payload = edited_entity(old, request.payload) if old.type is MemoryType.ENTITY else request.payload
    return await _replace(work, old, payload, request)


async def amend(work: UnitOfWork, request: Amend) -> UUID:
    """Supersede the record by one whose payload has the changes, as `supersede` does; return the id of the current one.

    What the service computes is left out, as it is by who gives a whole payload. Errors of the payload name `changes`.
    """
    old = await _target(work, request)
    work.warnings += payload_warnings(request.changes, old, field="changes")
    try:
        return await _replace(work, old, amended_payload(old, request, work.at), request)
    except StratagraphError as error:
        if error.path and error.path[0] == "payload":
            error.move(
                lambda path: ["changes", *path[1:]] if path[:1] == ["payload"] else path,
                lambda said: said.replace("payload", "changes", 1),
            )
        raise


def amended_payload(old: MemoryRecord, request: Amend, at: datetime) -> dict[str, Any]:
    """Return the payload of the record with the changes of the request.

    Raises EvidenceRequired for a fact without evidence of the change, InvalidInput for an entity without a name.
    """
    known = without_computed(old.payload or {}, old.type)
    if old.type is MemoryType.SEMANTIC:
        if not request.evidence and "evidence" not in request.changes:
            raise EvidenceRequired(
                "evidence: what is changed in a fact needs a source; give {source_type, source_id} or {kind, ref}",
                path=["evidence"],
            )
        known["evidence"] = accepted_evidence(known.get("evidence") or (), at)
    payload = patched(known, request.changes)
    return edited_entity(old, {**dict.fromkeys(known), **payload}) if old.type is MemoryType.ENTITY else payload


async def _target(work: UnitOfWork, request: Supersede | Amend) -> MemoryRecord:
    old = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([old])
    return old


async def _replace(work: UnitOfWork, old: MemoryRecord, payload: dict[str, Any], request: Supersede | Amend) -> UUID:
    draft = successor(
        old,
        payload,
        request.evidence,
        caller=work.caller,
        rationale=request.rationale,
        now=work.at,
        seals_from=sealing_level(work.directory.vault),
    )
    if isinstance(request, Amend):
        refuse_computed(request.changes, old.type, path=["changes"])
        work.warnings += masked_in_revision(draft, "changes")
    else:
        refuse_computed(request.payload, old.type, path=["payload"])
        work.warnings += masked_in_revision(draft, "payload")
    if old.type in CHANGED_IN_PLACE:
        return await _change_in_place(work, old, draft, request)
    writes = await work.writes(draft)
    await link_names(writes)
    current = await supersede_by_draft(work, writes, draft, [old], expected={old.id: request.expected_version})
    work.causes.add(old.id)
    return current


async def _task(work: UnitOfWork, id_: UUID, *, is_done: bool) -> Salience | None:
    """Return the salience of a locked working record whose task is done, or goes on; None if it does not change."""
    record = (await Reader(work.connection, work.directory, work.caller, work.at).records([id_]))[id_]
    assert record.lifecycle is not None  # `targets` refuses redacted records
    work.after(record.lifecycle.t0)
    return of_task(record.lifecycle, is_done=is_done, at=work.at)


async def supersede_by_draft(
    work: UnitOfWork,
    writes: WriteSet,
    draft: Draft,
    old: Sequence[MemoryRecord],
    *,
    expected: dict[UUID, int | None],
    keep_disputes: bool = False,
) -> UUID:
    """Write the draft, let it supersede `old`, and return its id.

    If an equal fact exists already, that fact supersedes `old` and gets the draft's evidence; its id is returned.
    Other facts that the draft contradicts are superseded or trimmed as by a capture. `expected` has the version that
    each record must have, or None for any. With `keep_disputes`, the open disputes of `old` are not ended, and the
    draft leaves their parties as they are.
    """
    held = same = None
    ids = [record.id for record in old]
    if draft.type is MemoryType.SEMANTIC:
        held = await lock_slot(work, writes, old, leaving={*ids, *(await _parties(work, ids) if keep_disputes else ())})
        same = equal_fact(held, draft)
    rows = await work.lock(ids, displaced=held.displaced(draft.position) if held is not None else ())
    for id_, version in expected.items():
        require_version(rows[id_], version)
    require_current(rows)
    if draft.type is MemoryType.SEMANTIC:
        draft.payload["revision"] = {"supersedes": str(old[0].id)}
    writes.at = work.at
    current = same.id if same is not None else draft.id
    await note_decided(work.connection, work.caller.tenant, ids)
    await work.replace(ids, RecordState.SUPERSEDED, by=current, keep_disputes=keep_disputes)
    if held is not None:
        await settle_slot(writes, draft, held)
    if same is None:
        if draft.type is MemoryType.COMPETENCE:
            authors = await lesson_authors(work, ids)
            draft.lesson_authors = tuple(dict.fromkeys([*authors, work.caller.trust.identity]))
        writes.records.append((draft, new_record(writes, draft)))
    for record in old:
        writes.relate(draft, current, record.id, "supersedes", 1.0)
    await work.write(writes)
    return current


async def _parties(work: UnitOfWork, ids: Sequence[UUID]) -> set[UUID]:
    disputes = await disputes_of(work.connection, work.caller.tenant, ids)
    return {end for dispute in disputes for end in (dispute.contested, dispute.by)}


async def _change_in_place(work: UnitOfWork, old: MemoryRecord, draft: Draft, request: Supersede | Amend) -> UUID:
    """Change an entity or a working record in place; its history keeps the earlier version."""
    payload = draft.payload
    if old.type is MemoryType.WORKING and payload["thread_id"] != (old.payload or {}).get("thread_id"):
        raise InvalidInput(
            "payload.thread_id: a working record cannot move to another thread; leave thread_id as it is, or capture a"
            " new working state",
            path=["payload", "thread_id"],
        )
    if old.type is MemoryType.WORKING and "state" not in payload:
        raise InvalidInput(
            f"payload.state: is missing; give one of {', '.join(STATES)}, since the payload replaces the whole of the"
            " present one",
            path=["payload", "state"],
        )
    if old.type is MemoryType.ENTITY:
        await replace_terms(work.connection, work.caller.tenant, await entity_mention(work, old, payload), old.id)
    rows = await work.lock([old.id], with_derived=False)
    require_version(rows[old.id], request.expected_version)
    require_current(rows)
    task = await _task(work, old.id, is_done=payload["state"] == DONE) if old.type is MemoryType.WORKING else None
    await rewrite_record(work, old.id, payload, draft.name, draft.text, action=AuditAction.REVISE)
    if task is not None:
        await write_salience(work.connection, work.caller.tenant, [(old.id, task)])
        await work.audit([task_event(old.id, task)])
    if old.type is MemoryType.ENTITY:
        await insert_link_requests(work.connection, work.caller.tenant, [old.id], at=work.at)
    return old.id
