"""Contesting a record, by another record or by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.facts import MAX_PARTIES
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.naming import link_names
from stratagraph.memory.capture.new_records import new_record
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.requests.warnings import WarningCode, warning
from stratagraph.memory.revise.reopened_slots import keep_slots_of
from stratagraph.memory.revise.request import Contest
from stratagraph.memory.revise.successor import inherit
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.model.enums import COUNTER_EVIDENCE, AuditAction, MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import EvidenceRequired, InvalidInput, LimitExceeded
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.relations import dispute_parties

CONTESTED_BY = "contested_by"


async def contest(work: UnitOfWork, request: Contest) -> UUID:
    """Set the record, and the one that contests it, to CONTESTED until the contest is resolved; return the record's id.

    Raises EvidenceRequired without a contesting record and evidence, InvalidInput for records of two scopes, and
    LimitExceeded for a dispute of more than MAX_PARTIES records.
    Evidence against the record is captured as an event, so that the reason for the contest can be traced. An episode
    may contest a record, and keeps its state.
    """
    ids = [request.record_id, *([request.contesting_id] if request.contesting_id is not None else [])]
    if len(set(ids)) != len(ids):
        raise InvalidInput(
            "contestingId: a record cannot contest itself; name another record, or give evidence instead",
            path=["contestingId"],
        )
    records = await work.targets(ids, path=["recordId"])
    refuse_episodes(records[:1])
    if request.contesting_id is None and not request.evidence:
        raise EvidenceRequired(
            "evidence: a contest needs a reason; give a record as contestingId, or evidence as"
            " {source_type, source_id}",
            path=["evidence"],
        )
    if request.contesting_id is not None and request.evidence:
        problem = "is not stored, since contestingId names the record that contests this one; give one of the two"
        work.warnings.append(warning(WarningCode.VALUE_NOT_USED, ("evidence",), problem))
    _check_scope(records)
    contesting = [record.id for record in records[1:]]
    if not contesting:
        contesting = [await _capture_evidence(work, records[0], request)]
    contested = [record.id for record in records if record.type is not MemoryType.EPISODIC]
    rows = await work.lock(contested)
    require_version(rows[request.record_id], request.expected_version)
    require_current(rows)
    await keep_slots_of(work, contested)
    parties = await dispute_parties(work.connection, work.caller, contested)
    if len({*(id_ for id_, party in parties.items() if party.is_readable), *contesting}) > MAX_PARTIES:
        raise LimitExceeded(
            f"recordId: this dispute would have more than {MAX_PARTIES} parties; resolve it with resolveContest first",
            path=["recordId"],
        )
    await work.set_state(contested, RecordState.CONTESTED, action=AuditAction.CONTEST)
    await work.relate(
        [
            NewRelation(source=request.record_id, target=other, predicate=CONTESTED_BY, weight=1.0)
            for other in contesting
        ]
    )
    work.causes |= set(contested)
    return request.record_id


def _check_scope(records: Sequence[MemoryRecord]) -> None:
    if len({record.scope for record in records}) > 1:
        raise InvalidInput(
            "contestingId: the contesting record belongs to another scope than the contested one; give two of one scope"
        )


async def _capture_evidence(work: UnitOfWork, record: MemoryRecord, request: Contest) -> UUID:
    """Write the evidence as an event with the scope and sensitivity of the contested record; return its id."""
    actor = work.caller.trust.actor
    draft = classify(
        CaptureRequest(
            source=actor,
            source_kind=SourceKind.EVENT,
            content={
                "event_kind": COUNTER_EVIDENCE,
                "ref": str(record.id),
                "summary": request.rationale,
                "evidence": list(request.evidence),
            },
            reason_to_remember=request.rationale,
        ),
        0,
        work.at,
    )
    inherit(draft, record)
    draft.handle = None
    caption(draft)
    interpret(draft)
    writes = await work.writes(draft)
    await link_names(writes)
    writes.records.append((draft, new_record(writes, draft)))
    await work.write(writes)
    return draft.id
