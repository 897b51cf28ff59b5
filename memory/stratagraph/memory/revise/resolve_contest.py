"""Resolving a contest: the winner becomes active again, and the other parties are withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import orjson

from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.revise.reopened_slots import keep_slots_of
from stratagraph.memory.revise.request import ResolveContest
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_version
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import ConditionsOverlap, Forbidden, InvalidInput, LimitExceeded, RecordNotFound
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import find_conflicting_fact, note_evidence
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.merges import note_decided
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import Party, dispute_parties
from stratagraph.store.records.support import fetch_support

MAX_PARTIES = 200  # of a dispute that can be resolved; earlier releases let disputes become so large


async def resolve_contest(work: UnitOfWork, request: ResolveContest) -> UUID:
    """Make the winner active again and supersede the other parties by it; without a winner, retract all of them.

    The parties are the records of the whole dispute: those that open disputes connect with the record, directly or
    through other parties. Episodes among them, and parties already superseded or retracted, keep their state.

    Returns the id of the winner, or of the record itself without one. Raises Forbidden if the caller may not read and
    write all parties, without telling of them, InvalidInput if the record is not contested or the winner is not a
    party, LimitExceeded for a dispute of more than MAX_PARTIES records, and ConditionsOverlap if another active fact
    contradicts the winner in its single-valued slot.
    """
    record = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([record])
    connected = await dispute_parties(work.connection, work.caller, [record.id])
    parties = await _parties(work, record, connected, request)
    rows = await work.lock([party.id for party in parties])
    if await dispute_parties(work.connection, work.caller, [record.id]) != connected:
        raise StaleRead  # a new contest was added, by a party whose rights and state have not been checked
    require_version(rows[record.id], request.expected_version)
    if rows[record.id].state is not RecordState.CONTESTED:
        raise InvalidInput(
            f"recordId: record {record.id} is {rows[record.id].state.label}, not contested; there is nothing to"
            " resolve",
            path=["recordId"],
        )
    await keep_slots_of(work, rows)
    await note_decided(work.connection, work.caller.tenant, rows)
    await work.end_disputes([party.id for party in parties])
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
    if winner is not None:
        # An observation from before the decision is late news, even one that is newer than the winner's sources.
        await note_evidence(work.connection, work.caller.tenant, winner, work.at)
    work.causes |= {party.id for party in parties}
    return winner or record.id


async def _reinstate(work: UnitOfWork, winner: UUID) -> None:
    """Make the winner active. Raises ConditionsOverlap if another active fact contradicts it."""
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
    work: UnitOfWork, record: MemoryRecord, connected: Mapping[UUID, Party], request: ResolveContest
) -> list[MemoryRecord]:
    """Return the records whose state the contest decides, the record itself first; episodes are left out.

    Raises Forbidden if the caller may not read or write one of them, without naming or counting any, LimitExceeded for
    more than MAX_PARTIES, and InvalidInput if the winner is none of them.
    """
    forbidden = Forbidden(
        f"recordId: this credential may not resolve the contest of record {record.id}; use one that may read and write"
        " everything that it is about",
        path=["recordId"],
    )
    if not all(party.is_readable for party in connected.values()):
        raise forbidden
    if len(connected) > MAX_PARTIES:
        raise LimitExceeded(
            f"recordId: this dispute has more than {MAX_PARTIES} parties; retract some of them first", path=["recordId"]
        )
    try:
        found = await work.targets(sorted(connected.keys() - {record.id}), path=["recordId"])
    except (RecordNotFound, Forbidden):
        raise forbidden from None
    if request.winner_id is not None and request.winner_id not in connected:
        raise InvalidInput(
            f"winnerId: {request.winner_id} is not a party of this dispute; give one of its records, or leave it out to"
            " retract them all",
            path=["winnerId"],
        )
    if any(one.id == request.winner_id and one.type is MemoryType.EPISODIC for one in found):
        raise InvalidInput(
            "winnerId: an episode cannot win. Leave winnerId out to retract the record, or supersede it with a new one",
            path=["winnerId"],
        )
    return [record, *(one for one in found if one.type is not MemoryType.EPISODIC)]
