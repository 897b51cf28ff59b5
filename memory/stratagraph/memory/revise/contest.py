"""Doubt: raised by another record or by evidence, and resolved by somebody who decides what holds."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import orjson

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.writer import new_record, resolve_names
from stratagraph.memory.retrying import StaleRead
from stratagraph.memory.revise.request import Contest, ResolveContest, Retract
from stratagraph.memory.revise.successor import inherit
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState, SourceKind
from stratagraph.store.model.errors import ConditionsOverlap, EvidenceRequired, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.facts import in_the_way
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of
from stratagraph.store.records.support import standings
from stratagraph.store.records.writing import Edit, NewRelation, update_records

CONTESTED_BY = "contested_by"


async def contest(work: UnitOfWork, request: Contest) -> UUID:
    """Both are in doubt until the contest is resolved. Counter-evidence becomes a record of its own, an event, so that
    the doubt stays traceable."""
    ids = [request.record_id, *([request.contesting_id] if request.contesting_id is not None else [])]
    if len(set(ids)) != len(ids):
        raise InvalidInput("contestingId: a record does not contest itself", path=["contestingId"])
    records = await work.targets(ids, path=["recordId"])
    refuse_episodes(records[:1])
    if request.contesting_id is None and not request.evidence:
        raise EvidenceRequired(
            "evidence: say what contests it: a record as contestingId, or evidence {source_type, source_id}",
            path=["evidence"],
        )
    _same_scope(records)
    by = [record.id for record in records[1:]]
    if not by:
        by = [await _counter_evidence(work, records[0], request)]
    in_doubt = [record.id for record in records if record.type is not MemoryType.EPISODIC]
    rows = await work.lock(in_doubt)
    require_version(rows[request.record_id], request.expected_version)
    require_current(rows)
    await _move(work, in_doubt, RecordState.CONTESTED, action=AuditAction.CONTEST)
    await work.relate(
        [NewRelation(source=request.record_id, target=other, predicate=CONTESTED_BY, weight=1.0) for other in by]
    )
    work.causes |= set(in_doubt)
    return request.record_id


def _same_scope(records: Sequence[MemoryRecord]) -> None:
    if len({record.scope for record in records}) > 1:
        raise InvalidInput("contestingId: the records belong to different scopes, which are never mixed")


async def _counter_evidence(work: UnitOfWork, record: MemoryRecord, request: Contest) -> UUID:
    """The event of being contradicted, in the scope and at the sensitivity of what it contradicts."""
    actor = work.caller.trust.actor
    draft = classify(
        CaptureRequest(
            source=actor,
            source_kind=SourceKind.EVENT,
            content={
                "event_kind": "counter_evidence",
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
    await resolve_names(writes)
    writes.records.append((draft, new_record(writes, draft)))
    await work.write(writes)
    return draft.id


async def _move(work: UnitOfWork, ids: Sequence[UUID], state: RecordState, *, action: AuditAction) -> None:
    edits = [Edit(id=id_, state=int(state)) for id_ in sorted(ids)]
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, edits, at=work.at)
    await work.audit([AuditEvent(record=id_, action=action, rationale=work.rationale) for id_ in sorted(ids)])
    work.touched += sorted(ids)


async def resolve_contest(work: UnitOfWork, request: ResolveContest) -> UUID:
    """The winner is active again and supersedes the records that lost to it; without a winner all are retracted.

    Returns the winner, or the record itself where nothing holds.
    """
    record = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([record])
    disputes = await disputes_of(work.connection, work.caller.tenant, [record.id])
    others = {end for dispute in disputes for end in (dispute.contested, dispute.by)} - {record.id}
    parties = await _parties(work, record, others, request)
    rows = await work.lock([party.id for party in parties])
    if {one.relation for one in await disputes_of(work.connection, work.caller.tenant, [record.id])} != {
        dispute.relation for dispute in disputes
    }:
        raise StaleRead  # somebody contested it meanwhile, and must not be decided about unseen
    require_version(rows[record.id], request.expected_version)
    if rows[record.id].state is not RecordState.CONTESTED:
        raise InvalidInput(f"recordId: record {record.id} is {rows[record.id].state.label}, not contested")
    await work.end_disputes([record.id])
    winner = request.winner_id
    losers = [party.id for party in parties if party.id != winner and rows[party.id].state is RecordState.CONTESTED]
    if winner is None:
        await work.replace(losers, RecordState.RETRACTED)
    elif losers:
        await work.replace(losers, RecordState.SUPERSEDED, by=winner)
        await work.relate(
            [NewRelation(source=winner, target=id_, predicate="supersedes", weight=1.0) for id_ in losers]
        )
    if winner is not None and rows[winner].state is RecordState.CONTESTED:
        await _uphold(work, winner)
    work.causes |= {party.id for party in parties}
    return winner or record.id


async def _uphold(work: UnitOfWork, winner: UUID) -> None:
    """The winner holds, unless it stands in another dispute still. Raises ConditionsOverlap where there is no room."""
    if await disputes_of(work.connection, work.caller.tenant, [winner]):
        return
    other = await in_the_way(work.connection, work.caller.tenant, winner)
    if other is not None:
        raise ConditionsOverlap(
            f"winnerId: fact {other} holds at the same time and its predicate has one value; supersede, retract or"
            " merge it first",
            path=["winnerId"],
        )
    await _hold_by_decision(work, winner)
    await _move(work, [winner], RecordState.ACTIVE, action=AuditAction.REVISE)


async def _hold_by_decision(work: UnitOfWork, winner: UUID) -> None:
    """Where nothing else holds the winner any more, whoever decided for it does: the decision is its source."""
    everything = work.caller.everything()
    async with elevated(work.connection, everything.bounds):
        record = (await Reader(work.connection, work.directory, everything, work.at).records([winner]))[winner]
        standing = (await standings(work.connection, work.caller.tenant, {winner: record}))[winner]
    if standing.holding:
        return
    actor = work.caller.trust.actor
    source = {"kind": "outcome", "ref": f"decision by {actor}", "created_by": actor, "timestamp": rfc3339(work.at)}
    provenance = {**(record.provenance or {}), "sources": [*(record.provenance or {}).get("sources", ()), source]}
    edit = Edit(id=winner, provenance=orjson.dumps(provenance).decode(), is_revision=False)
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)


async def _parties(
    work: UnitOfWork, record: MemoryRecord, others: set[UUID], request: ResolveContest
) -> list[MemoryRecord]:
    """The records whose standing the contest decides: never an episode, and all of them in the caller's full sight."""
    if request.winner_id is not None and request.winner_id not in {record.id, *others}:
        raise InvalidInput(
            f"winnerId: {request.winner_id} is neither the record nor one that contests it", path=["winnerId"]
        )
    found = await work.targets(sorted(others), path=["recordId"])
    if any(one.id == request.winner_id and one.type is MemoryType.EPISODIC for one in found):
        raise InvalidInput(
            "winnerId: what happened contests the record, but only a record of the same kind can take its place;"
            " leave winnerId out to retract the record, or supersede it",
            path=["winnerId"],
        )
    return [record, *(one for one in found if one.type is not MemoryType.EPISODIC)]


async def retract(work: UnitOfWork, request: Retract) -> UUID:
    """The record leaves the current truth; what rested on it alone is contested."""
    record = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([record])
    rows = await work.lock([record.id])
    require_version(rows[record.id], request.expected_version)
    require_current(rows)
    await work.replace([record.id], RecordState.RETRACTED)
    work.causes.add(record.id)
    return record.id
