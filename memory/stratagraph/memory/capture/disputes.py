"""The ends of disputes: stored facts that a capture supersedes, and a party that it makes the winner."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.superseding import supersede_records
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import Fact, find_conflicting_fact
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of, end_relations


async def supersede_facts(writes: WriteSet, draft: Draft, facts: Mapping[UUID, Fact], *, by: UUID) -> None:
    """Supersede facts by the fact `by`, which the draft becomes or repeats; their disputes end."""
    ids = sorted(facts)
    contested = [id_ for id_ in ids if facts[id_].state is RecordState.CONTESTED]
    if contested:
        await _end_disputes(writes, contested)
        writes.doubtful -= set(ids)
    await supersede_records(writes, draft, ids, by=by)
    writes.successors |= dict.fromkeys(ids, by)


async def win_dispute(writes: WriteSet, draft: Draft, winner: Fact, parties: Mapping[UUID, Fact]) -> None:
    """Let a fact that the draft repeats win its dispute: it becomes active and supersedes the other `parties`.

    `parties` are the facts of its slot in the dispute, the winner included. Nothing changes if the draft is older than
    the latest evidence of a party. The winner stays contested where another fact holds in its place.
    """
    if draft.has_own_time and draft.occurred_at < await _latest_evidence(writes, parties):
        return
    tenant = writes.caller.tenant
    await _end_disputes(writes, [winner.id])
    others = {id_: fact for id_, fact in parties.items() if id_ != winner.id}
    if others:
        await supersede_facts(writes, draft, others, by=winner.id)
    if await find_conflicting_fact(writes.connection, tenant, winner.id) is not None:
        return
    edit = Edit(id=winner.id, state=int(RecordState.ACTIVE))
    writes.changes += await update_records(writes.connection, writes.directory, tenant, [edit], at=writes.at)
    why = "observed again with the revision policy replace, which ends its dispute"
    event = AuditEvent(record=winner.id, action=AuditAction.REVISE, rationale=why)
    await write_audit(writes.connection, tenant, [event], actor=writes.caller.trust.actor, at=writes.at)
    writes.causes.add(winner.id)
    writes.note_change(draft, winner.id, Effect.REVISED)


async def _latest_evidence(writes: WriteSet, parties: Mapping[UUID, Fact]) -> datetime:
    """Return the time of the latest evidence in a dispute, of which records outside the slot may also be parties."""
    disputes = await disputes_of(writes.connection, writes.caller.tenant, parties)
    others = {end for one in disputes for end in (one.contested, one.by)} - set(parties)
    unrestricted = writes.caller.unrestricted()
    async with elevated(writes.connection, unrestricted.bounds):
        records = await Reader(writes.connection, writes.directory, unrestricted, writes.at).records(others)
    return max([*(fact.evidence_at for fact in parties.values()), *(one.occurred_at for one in records.values())])


async def _end_disputes(writes: WriteSet, ids: Collection[UUID]) -> None:
    """End the open disputes of `ids`, and mark both parties of each for re-evaluation."""
    disputes = await disputes_of(writes.connection, writes.caller.tenant, ids)
    writes.changes += await end_relations(
        writes.connection, writes.caller.tenant, [dispute.relation for dispute in disputes], at=writes.at
    )
    writes.doubtful |= {end for one in disputes for end in (one.contested, one.by)}
