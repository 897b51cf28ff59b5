"""Facts of a group compared with the stored facts of their slots (docs/specification.md, Facts).

A fact is a repetition of a stored one, contradicts stored ones, or is simply new; `revision_policy` and the validity
decide what becomes of facts that contradict each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.disputes import supersede_facts, win_dispute
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.slots import LockedSlots
from stratagraph.memory.capture.write_set import MAX_SOURCES, WriteSet, sources_of
from stratagraph.memory.records.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import ConditionsOverlap, LimitExceeded
from stratagraph.store.model.salience import reinforced
from stratagraph.store.model.valid_time import Cut, Ruling, rule
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.fact_keys import Slot
from stratagraph.store.records.facts import (
    Compared,
    Fact,
    FactQuery,
    compare_facts,
    lock_current_facts,
    make_single_valued,
    note_evidence,
    overlapping_facts,
)
from stratagraph.store.records.inserting import latest_evidence
from stratagraph.store.records.merges import keep_single_valued
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import dispute_parties, disputes_of
from stratagraph.store.records.salience_rows import write_salience
from stratagraph.store.records.support import as_id, rests_on
from stratagraph.store.records.trims import Trim

MAX_PARTIES = 50  # records in one dispute: each that joins is compared with and related to all others


@dataclass(slots=True)
class StoredFacts:
    """The locked slots of a request, and the stored facts that the drafts of a group repeat or contradict.

    All by the drafts' positions. `disputed` are the parties, in the slot of a draft, of the disputes that it may end.
    """

    slots: dict[int, Slot]
    single_valued: dict[Slot, bool]
    compared: dict[int, Compared] = field(default_factory=dict)
    disputed: dict[int, dict[UUID, Fact]] = field(default_factory=dict)
    opponents: set[UUID] = field(default_factory=set)  # other records in dispute with the contradicted facts

    def displaced(self, position: int) -> list[UUID]:
        """Return the facts that a draft may take out of the current truth."""
        found = self.compared.get(position)
        contradicted = found.contradicted if found is not None and not found.equal else ()
        return [*(fact.id for fact in contradicted), *self.disputed.get(position, ())]

    @property
    def changed_at(self) -> list[datetime]:
        """The instants at which the facts were last changed."""
        facts = [fact for one in self.compared.values() for fact in (*one.equal, *one.contradicted)]
        facts += [fact for parties in self.disputed.values() for fact in parties.values()]
        return [fact.updated_at for fact in facts]


async def lock_facts(writes: WriteSet, locked: LockedSlots, *, leaving: Collection[UUID] = ()) -> StoredFacts:
    """Lock the stored facts that those of the write set repeat or contradict, in their locked slots; return them.

    Facts in `leaving` are disregarded. Raises LimitExceeded where a fact contradicts too many.
    """
    stored = StoredFacts(slots=locked.of_draft, single_valued=locked.single_valued)
    facts = [draft for draft in writes.drafts if draft.type is MemoryType.SEMANTIC]
    queries = [_query(draft, stored) for draft in facts]
    compared = await _compare(writes, queries, facts)
    for draft, one in zip(facts, compared, strict=True):
        stored.compared[draft.position] = Compared(
            equal=tuple(fact for fact in one.equal if fact.id not in leaving),
            contradicted=tuple(fact for fact in one.contradicted if fact.id not in leaving),
        )
        policy = draft.payload.get("revision_policy")
        if policy == "replace" or (policy is None and not stored.compared[draft.position].equal):
            stored.disputed[draft.position] = await _disputed(writes, stored, draft, leaving)
    return stored


def _query(draft: Draft, stored: StoredFacts) -> FactQuery:
    """Return the comparison for a draft: with facts that it contradicts only where the slot admits one value."""
    assert draft.fact is not None
    slot = stored.slots[draft.position]
    is_compared = admits_one_value(draft, is_single_valued=stored.single_valued[slot])
    return FactQuery(
        slot=slot,
        fact_key=draft.fact.fact,
        conditions=draft.payload["validity"].get("conditions") or {},
        interval=draft.fact.stated if is_compared else None,
        single_valued=stored.single_valued[slot],
    )


async def _compare(writes: WriteSet, queries: list[FactQuery], facts: list[Draft]) -> list[Compared]:
    try:
        return await compare_facts(writes.connection, writes.caller.tenant, queries)
    except LimitExceeded as error:
        if len(facts) == 1:
            error.path = [f"#{facts[0].position}", *(error.path or ())]
        raise


def admits_one_value(draft: Draft, *, is_single_valued: bool) -> bool:
    """Return whether a fact contradicts others of its slot: if the slot is single-valued or the fact has a policy.

    A fact whose subject is ambiguous contradicts none, since it may be about another subject.
    """
    has_policy = draft.payload.get("revision_policy") is not None
    return (is_single_valued or has_policy) and not draft.entities.subject_is_ambiguous


async def _disputed(writes: WriteSet, stored: StoredFacts, draft: Draft, leaving: Collection[UUID]) -> dict[UUID, Fact]:
    """Return the facts of the draft's slot that are in an open dispute with the fact that it repeats or contradicts.

    None if the caller may not read all parties of the dispute, since only who may decides it, and for a new fact that
    does not hold now: it does not say which of them does.
    """
    assert draft.fact is not None
    tenant, found = writes.caller.tenant, stored.compared[draft.position]
    if not found.equal and not draft.fact.stated.holds_at(writes.at):
        return {}
    contested = [fact.id for fact in found.equal[:1] or found.contradicted if fact.state is RecordState.CONTESTED]
    if not contested:
        return {}
    in_dispute = {
        end for one in await disputes_of(writes.connection, tenant, contested) for end in (one.contested, one.by)
    }
    stored.opponents |= in_dispute - set(contested)
    parties = await dispute_parties(writes.connection, writes.caller, in_dispute & set(contested))
    if not all(party.is_readable for party in parties.values()):
        return {}
    ids = [id_ for id_, party in parties.items() if party.type is MemoryType.SEMANTIC and id_ not in leaving]
    facts = await lock_current_facts(writes.connection, tenant, ids)
    return {id_: fact for id_, fact in facts.items() if fact.slot == stored.slots[draft.position]}


async def settle_facts(writes: WriteSet, stored: StoredFacts) -> None:
    """Decide for each fact of the group what it does to stored facts, and write that.

    A fact equal to a stored one creates no record: its sources are added to the stored fact, which is reinforced if it
    is active; with the revision policy `replace`, a party of a dispute wins it. A fact older than the evidence of one
    that it contradicts now becomes history, whatever its policy. Another one that contradicts stored facts supersedes
    or trims them, or is itself trimmed; with the policy `contest`, all of them become contested. Any other fact is new.
    Stored facts are updated before the new ones are inserted, since a single-valued slot admits one active fact per
    conditions and time.

    Raises ConditionsOverlap where a fact with the revision policy `fork` contradicts a stored one, or where a slot that
    becomes single-valued has facts that contradict each other; LimitExceeded for too large a dispute or slot.
    """
    for draft in writes.drafts:
        slot = stored.slots.get(draft.position)
        if slot is not None:
            await settle_fact(writes, draft, slot, stored)


async def settle_fact(
    writes: WriteSet, draft: Draft, slot: Slot, stored: StoredFacts, *, is_revision: bool = False
) -> None:
    """Do for one fact what `settle_facts` does.

    A revision is a decision of now, so it never becomes history, and an error names its payload.
    """
    assert draft.fact is not None
    path = ("payload",) if is_revision else (f"#{draft.position}", "content")
    found = stored.compared[draft.position]
    if found.equal:
        await add_evidence(writes, draft, found.equal[0])
        parties = stored.disputed.get(draft.position)
        if parties and not is_revision and not draft.entities.subject_is_ambiguous:
            await win_dispute(writes, draft, found.equal[0], parties)
        return
    is_single = stored.single_valued[slot]
    draft.fact = replace(draft.fact, single_valued=is_single)
    if not admits_one_value(draft, is_single_valued=is_single):
        return
    conflicts, policy = found.contradicted, draft.payload.get("revision_policy")
    newer = None if is_revision else _newer(writes, draft, conflicts)
    if newer is not None:
        _become_history(writes, draft, newer)
        return
    # A policy rule may have raised the fact to where its writer may not see what it contradicts. It is then written
    # whatever that is, because an error would tell of it.
    is_readable = writes.caller.may_read(slot.scope, slot.sensitivity)
    if conflicts and policy == "fork" and is_readable:
        raise _no_fork(conflicts[0], path)
    leaving: set[UUID] = set()
    if conflicts and policy in ("contest", "fork"):
        await _contest(writes, draft, conflicts, path)
        leaving = {fact.id for fact in conflicts}
    elif conflicts:
        await _replace(writes, draft, conflicts, stored.disputed.get(draft.position, {}))
    if is_single and policy is not None:
        await keep_single_valued(writes.connection, writes.caller.tenant, [slot])
    if not is_single and (is_readable or not await _has_two_values(writes, slot, leaving)):
        await _require_one_value(writes, slot, path, leaving=leaving)
        await make_single_valued(writes.connection, writes.caller.tenant, slot)
        stored.single_valued[slot] = True
        draft.fact = replace(draft.fact, single_valued=True)


def _no_fork(other: Fact, path: tuple[str, ...]) -> ConditionsOverlap:
    needed = (
        "conditions that exclude those of that fact (a shared key with other values)"
        if other.conditions
        else "conditions, which that fact does not have,"
    )
    return ConditionsOverlap(
        f"{path[-1]}.validity: this fact holds at the same time as fact {other.id} of its subject and predicate; a fork"
        f" needs {needed} or a separate time",
        path=[*path, "validity"],
    )


async def _has_two_values(writes: WriteSet, slot: Slot, leaving: Collection[UUID]) -> bool:
    """Return whether two active facts contradict each other in a slot, or it has too many to tell."""
    try:
        return await overlapping_facts(writes.connection, writes.caller.tenant, slot, leaving=leaving) is not None
    except LimitExceeded:
        return True


async def _require_one_value(
    writes: WriteSet, slot: Slot, path: tuple[str, ...], *, leaving: Collection[UUID] = ()
) -> None:
    """Raise ConditionsOverlap where two active facts contradict each other, so that their slot cannot be single-valued.

    `path` is the path of the error, to which `revision_policy` is added. Facts in `leaving` count as inactive.
    """
    both = await overlapping_facts(writes.connection, writes.caller.tenant, slot, leaving=leaving)
    if both is not None:
        raise ConditionsOverlap(
            f"{path[-1]}.revision_policy: facts {both[0]} and {both[1]} of this subject and predicate hold at the same"
            " time; supersede, retract or merge one of them first",
            path=[*path, "revision_policy"],
        )


def _newer(writes: WriteSet, draft: Draft, conflicts: Iterable[Fact]) -> Fact | None:
    """Return the contradicted fact that holds now and has the latest evidence, if that is later than the draft's time.

    Returns None also for a draft that does not hold now, and for one whose time is that of its arrival: the clocks of
    those who sent the stored evidence may be ahead.
    """
    assert draft.fact is not None
    if not draft.has_own_time or not draft.fact.stated.holds_at(writes.at):
        return None
    present = [fact for fact in conflicts if fact.interval.holds_at(writes.at)]
    newest = max(present, key=lambda fact: (fact.evidence_at, fact.id), default=None)
    return newest if newest is not None and draft.occurred_at < newest.evidence_at else None


def _become_history(writes: WriteSet, draft: Draft, newer: Fact) -> None:
    """Let the draft be written as superseded by a stored fact that has later evidence."""
    writes.superseded.add(draft.position)
    draft.payload["revision"] = {"superseded_by": str(newer.id)}
    writes.relate(draft, newer.id, draft.id, "supersedes", 1.0)


async def _replace(writes: WriteSet, draft: Draft, conflicts: Iterable[Fact], disputed: Mapping[UUID, Fact]) -> None:
    """Supersede or trim the contradicted facts, and trim the draft, by the rules of valid time.

    A dispute among the contradicted facts ends: all its parties in the slot are superseded.
    """
    assert draft.fact is not None
    superseded = dict(disputed)
    cuts: list[Cut] = []
    trimmed: list[tuple[Fact, Cut]] = []
    for fact in conflicts:
        ruling = Ruling() if fact.id in disputed else rule(draft.fact.stated, fact.interval, writes.at)
        if ruling.cut_old is not None:
            trimmed.append((fact, ruling.cut_old))
        elif ruling.cut_new is not None:
            cuts.append(ruling.cut_new)
            writes.trims.append(Trim(draft.id, fact.id, ruling.cut_new))
        else:
            superseded[fact.id] = fact
    if superseded:
        draft.payload["revision"] = {"supersedes": str(min(superseded))} | (draft.payload.get("revision") or {})
        await supersede_facts(writes, draft, superseded, by=draft.id)
    await _trim(writes, draft, trimmed)
    draft.fact = replace(draft.fact, validity=draft.fact.stated.cut(cuts))


async def _trim(writes: WriteSet, draft: Draft, trimmed: Collection[tuple[Fact, Cut]]) -> None:
    """Write the trimmed validity of stored facts; their version stays."""
    edits = [Edit(id=fact.id, validity=str(fact.interval.cut([cut])), is_revision=False) for fact, cut in trimmed]
    writes.changes += await update_records(
        writes.connection, writes.directory, writes.caller.tenant, edits, at=writes.at
    )
    for fact, cut in trimmed:
        writes.trims.append(Trim(fact.id, draft.id, cut))
        writes.note_change(draft, fact.id, Effect.TRIMMED)


async def _contest(writes: WriteSet, draft: Draft, conflicts: Collection[Fact], path: tuple[str, ...]) -> None:
    """Contest the contradicted facts and the draft until the contest is resolved, and relate them.

    Raises LimitExceeded if the dispute would have more than MAX_PARTIES parties.
    """
    tenant = writes.caller.tenant
    parties = await dispute_parties(writes.connection, writes.caller, [fact.id for fact in conflicts])
    if sum(party.is_readable for party in parties.values()) >= MAX_PARTIES:
        raise LimitExceeded(
            f"{path[-1]}.revision_policy: this dispute would have more than {MAX_PARTIES} parties; resolve it with"
            " resolveContest, or use the policy replace",
            path=[*path, "revision_policy"],
        )
    active = [fact for fact in conflicts if fact.state is RecordState.ACTIVE]
    edits = [Edit(id=fact.id, state=int(RecordState.CONTESTED)) for fact in active]
    writes.changes += await update_records(writes.connection, writes.directory, tenant, edits, at=writes.at)
    writes.withdrawn |= {fact.id for fact in active}
    why = f"contested by {draft.id}"
    await _audit(writes, [AuditEvent(record=fact.id, action=AuditAction.CONTEST, rationale=why) for fact in active])
    writes.contested.add(draft.position)
    for fact in conflicts:
        writes.relate(draft, fact.id, draft.id, "contested_by", 1.0)
        writes.note_change(draft, fact.id, Effect.CONTESTED)


async def add_evidence(writes: WriteSet, draft: Draft, fact: Fact) -> None:
    """Add the draft's sources to the stored fact that it repeats, and reinforce that fact if it is active.

    The fact keeps its newest MAX_SOURCES sources. The draft then creates no record of its own.
    """
    writes.use_existing(draft, fact.id)
    tenant = writes.caller.tenant
    unrestricted = writes.caller.unrestricted()
    # Elevated, because a policy rule may have raised the fact above the ceiling of its writer.
    async with elevated(writes.connection, unrestricted.bounds):
        reader = Reader(writes.connection, writes.directory, unrestricted, writes.at)
        record = (await reader.records([fact.id]))[fact.id]
    provenance = record.provenance or {}
    added = [source for source in sources_of(writes, draft) if source["ref"] != str(fact.id)]
    known = {source["ref"]: source for source in [*provenance.get("sources", []), *added]}
    sources = list(known.values())[-MAX_SOURCES:]
    if fact.state is RecordState.CONTESTED or await _lose_support(writes, fact, list(known)[: -len(sources)]):
        writes.doubtful.add(fact.id)
    edit = Edit(id=fact.id, provenance=orjson.dumps({**provenance, "sources": sources}).decode(), is_revision=False)
    writes.changes += await update_records(writes.connection, writes.directory, tenant, [edit], at=writes.at)
    await note_evidence(writes.connection, tenant, fact.id, latest_evidence({"sources": added}, fact.evidence_at))
    if fact.state is RecordState.ACTIVE:
        assert record.lifecycle is not None  # the unrestricted caller reads every record in full
        event = reinforced(record.lifecycle, writes.at)
        await write_salience(writes.connection, tenant, [(fact.id, event)])
        await _audit(
            writes,
            [AuditEvent(record=fact.id, action=AuditAction.REINFORCE, rationale="observed again", salience=event.s)],
        )
    writes.note_change(draft, fact.id, Effect.REINFORCED)


async def _lose_support(writes: WriteSet, fact: Fact, dropped: Sequence[str]) -> bool:
    """Return whether the fact rests no more on one of the sources that are dropped from its provenance.

    It still rests on those to which a relation leads. Where it keeps all sources, a new one cannot make it doubtful, so
    that not all of them are read: a fact that is observed in each episode has as many sources as there are episodes.
    """
    ids = [id_ for ref in dropped if (id_ := as_id(ref)) is not None]
    return len(ids) < len(dropped) or not await rests_on(writes.connection, writes.caller.tenant, fact.id, ids)


async def _audit(writes: WriteSet, events: list[AuditEvent]) -> None:
    await write_audit(writes.connection, writes.caller.tenant, events, actor=writes.caller.trust.actor, at=writes.at)
