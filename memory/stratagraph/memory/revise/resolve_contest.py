"""Resolving a contest: the winner becomes active again, and the other parties are withdrawn."""

from __future__ import annotations

from uuid import UUID

import orjson

from stratagraph.memory.retrying import StaleRead
from stratagraph.memory.revise.request import ResolveContest
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_version
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import ConditionsOverlap, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import find_conflicting_fact
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of
from stratagraph.store.records.support import fetch_support


async def resolve_contest(work: UnitOfWork, request: ResolveContest) -> UUID:
    """Make the winner active again and supersede the other parties by it; without a winner, retract all of them.

    The parties are the contested record and the records that contest it or that it contests. Episodes among them, and
    parties already superseded or retracted, keep their state. The winner stays contested while it has another open
    dispute.

    Returns the id of the winner, or of the record itself without one. Raises InvalidInput if the record is not
    contested or the winner is not a party, and ConditionsOverlap if the validity of another active fact in the winner's
    single-valued slot overlaps the winner's.
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
        raise StaleRead  # a new contest was added, by a party whose rights and state have not been checked
    require_version(rows[record.id], request.expected_version)
    if rows[record.id].state is not RecordState.CONTESTED:
        raise InvalidInput(
            f"recordId: record {record.id} is {rows[record.id].state.label}, not contested; there is nothing to"
            " resolve",
            path=["recordId"],
        )
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
        await _reinstate(work, winner)
    work.causes |= {party.id for party in parties}
    return winner or record.id


async def _reinstate(work: UnitOfWork, winner: UUID) -> None:
    """Make the winner active, unless another dispute of it is still open.

    Raises ConditionsOverlap if the validity of another active fact in its single-valued slot overlaps its own.
    """
    if await disputes_of(work.connection, work.caller.tenant, [winner]):
        return
    other = await find_conflicting_fact(work.connection, work.caller.tenant, winner)
    if other is not None:
        raise ConditionsOverlap(
            f"winnerId: fact {other} holds at the same time and its predicate has one value; supersede, retract or"
            " merge it first",
            path=["winnerId"],
        )
    await _support_by_decision(work, winner)
    await work.set_state([winner], RecordState.ACTIVE, action=AuditAction.REVISE)


async def _support_by_decision(work: UnitOfWork, winner: UUID) -> None:
    """Add the decision to the winner's sources if none of them is valid any more.

    Without a valid source, the next re-evaluation would contest it again.
    """
    unrestricted = work.caller.unrestricted()
    async with elevated(work.connection, unrestricted.bounds):
        record = (await Reader(work.connection, work.directory, unrestricted, work.at).records([winner]))[winner]
        support = (await fetch_support(work.connection, work.caller.tenant, {winner: record}))[winner]
    if support.valid:
        return
    actor = work.caller.trust.actor
    source = {"kind": "outcome", "ref": f"decision by {actor}", "created_by": actor, "timestamp": rfc3339(work.at)}
    provenance = {**(record.provenance or {}), "sources": [*(record.provenance or {}).get("sources", ()), source]}
    edit = Edit(id=winner, provenance=orjson.dumps(provenance).decode(), is_revision=False)
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)


async def _parties(
    work: UnitOfWork, record: MemoryRecord, others: set[UUID], request: ResolveContest
) -> list[MemoryRecord]:
    """Return the records whose state the contest decides, the record itself first; episodes are left out.

    Raises RecordNotFound or Forbidden if one of them is not fully visible to the caller, and InvalidInput if the winner
    is none of them.
    """
    if request.winner_id is not None and request.winner_id not in {record.id, *others}:
        raise InvalidInput(
            f"winnerId: {request.winner_id} is neither the record nor a record that contests it; give one of those, or"
            " leave it out to retract them all",
            path=["winnerId"],
        )
    found = await work.targets(sorted(others), path=["recordId"])
    if any(one.id == request.winner_id and one.type is MemoryType.EPISODIC for one in found):
        raise InvalidInput(
            "winnerId: an episode cannot win. Leave winnerId out to retract the record, or supersede it with a new one",
            path=["winnerId"],
        )
    return [record, *(one for one in found if one.type is not MemoryType.EPISODIC)]
