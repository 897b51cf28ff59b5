"""Facts meet what is already held true: repeated, conflicting, or new (SPEC §4, `revision_policy`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet, sources_of
from stratagraph.memory.withdrawal import withdraw
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import ConditionsOverlap
from stratagraph.store.model.salience import Salience, reinforced
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.facts import (
    Fact,
    Slot,
    crowded,
    disjoint,
    fact_keys,
    fetch_facts,
    lock_slots,
    make_single_valued,
    slot_of,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import Edit, update_records, write_salience

MAX_SOURCES = 200  # of evidence a fact keeps; more of the same adds nothing


@dataclass(slots=True)
class HeldFacts:
    """The slots of a round, locked, and the facts in them."""

    slots: dict[int, Slot] = field(default_factory=dict)
    single_valued: dict[Slot, bool] = field(default_factory=dict)
    facts: dict[Slot, list[Fact]] = field(default_factory=dict)

    def conflicts(self, draft: Draft) -> list[Fact]:
        """Active facts that cannot hold together with the draft's, where its slot has room for one at a time."""
        slot = self.slots[draft.position]
        if not self.single_valued[slot] and draft.payload.get("revision_policy") is None:
            return []
        assert draft.fact is not None
        known = self.facts.get(slot, [])
        if any(fact.fact_key == draft.fact.fact for fact in known):
            return []
        return [
            fact
            for fact in known
            if fact.state is RecordState.ACTIVE and not disjoint(fact.validity, draft.payload["validity"])
        ]

    @property
    def seen(self) -> list[datetime]:
        return [fact.updated_at for facts in self.facts.values() for fact in facts]


async def lock(writes: WriteSet, *, also: Mapping[Slot, str] | None = None) -> HeldFacts:
    """Lock the slots of the plan's facts, and those in `also`, given with their predicates."""
    held = HeldFacts()
    predicates: dict[Slot, str] = dict(also or {})
    for draft in writes.drafts:
        if draft.type is not MemoryType.SEMANTIC:
            continue
        draft.fact = fact_keys(writes.caller.tenant, draft.payload)
        slot = slot_of(writes.scopes[draft.scope], draft.sensitivity, draft.fact)
        held.slots[draft.position] = slot
        predicates[slot] = draft.payload["predicate"]
    held.single_valued = await lock_slots(writes.connection, writes.caller.tenant, predicates)
    held.facts = await fetch_facts(writes.connection, writes.caller.tenant, list(predicates))
    return held


async def settle(writes: WriteSet, held: HeldFacts) -> None:
    """Decide for each fact of the round; what it displaces is written before it is."""
    for draft in writes.drafts:
        slot = held.slots.get(draft.position)
        if slot is not None:
            await _settle(writes, draft, slot, held)


async def _settle(writes: WriteSet, draft: Draft, slot: Slot, held: HeldFacts) -> None:
    assert draft.fact is not None
    known = held.facts.get(slot, [])
    same = next((fact for fact in known if fact.fact_key == draft.fact.fact), None)
    if same is not None:
        await add_evidence(writes, draft, same)
        return
    policy = draft.payload.get("revision_policy")
    single = held.single_valued[slot] or policy is not None
    draft.fact = replace(draft.fact, single_valued=single)
    if not single:
        return
    conflicts = held.conflicts(draft)
    if conflicts and policy == "fork":
        raise ConditionsOverlap(
            f"content.validity: holds at the same time as fact {conflicts[0].id}; a fork needs conditions that"
            " exclude each other: a shared key with other values, or separate times",
            path=[f"#{draft.position}", "content", "validity"],
        )
    if conflicts and policy == "contest":
        await _contest(writes, draft, conflicts)
    elif conflicts:
        await _supersede(writes, draft, conflicts)
    if not held.single_valued[slot]:
        require_one_value([fact for fact in known if fact not in conflicts], f"#{draft.position}", "content")
        await make_single_valued(writes.connection, writes.caller.tenant, slot)
        held.single_valued[slot] = True


def require_one_value(facts: Iterable[Fact], *path: str) -> None:
    """Raises ConditionsOverlap where a slot about to have one value at a time has two."""
    both = crowded(facts)
    if both is not None:
        raise ConditionsOverlap(
            f"content.revision_policy: facts {both[0]} and {both[1]} of this subject and predicate hold at the same"
            " time; supersede, retract or merge one of them first",
            path=[*path, "revision_policy"],
        )


async def add_evidence(writes: WriteSet, draft: Draft, fact: Fact) -> None:
    """The same fact again: it matters more, and it has one more source."""
    writes.stand_in(draft, fact.id)
    if fact.state is RecordState.CONTESTED or draft.position in writes.rests_on:
        writes.doubtful.add(fact.id)
    added = [source for source in sources_of(writes, draft) if source["ref"] != str(fact.id)]
    known = {source["ref"]: source for source in [*fact.provenance.get("sources", []), *added]}
    sources = list(known.values())[-MAX_SOURCES:]
    tenant = writes.caller.tenant
    writes.changes += await update_records(
        writes.connection,
        writes.directory,
        tenant,
        [
            Edit(
                id=fact.id,
                provenance=orjson.dumps({**fact.provenance, "sources": sources}).decode(),
                is_revision=False,
            )
        ],
        at=writes.at,
    )
    if fact.state is RecordState.ACTIVE:
        salience = (await _salience(writes, [fact.id]))[fact.id]
        event = reinforced(salience, writes.at)
        await write_salience(writes.connection, tenant, [(fact.id, event)])
        await _audit(
            writes,
            [AuditEvent(record=fact.id, action=AuditAction.REINFORCE, rationale="observed again", salience=event.s)],
        )


async def _supersede(writes: WriteSet, draft: Draft, conflicts: list[Fact]) -> None:
    """The new fact takes their place: they leave the current truth and stay as history."""
    writes.withdrawn |= {fact.id for fact in conflicts}
    writes.changes += await withdraw(
        writes.connection,
        writes.directory,
        writes.caller,
        [fact.id for fact in conflicts],
        RecordState.SUPERSEDED,
        rationale=f"superseded by {draft.id}",
        at=writes.at,
        by=draft.id,
    )
    draft.payload["revision"] = {"supersedes": str(conflicts[0].id)}
    for fact in conflicts:
        writes.relate(draft, draft.id, fact.id, "supersedes", 1.0)


async def _contest(writes: WriteSet, draft: Draft, conflicts: list[Fact]) -> None:
    """Neither is believed until somebody resolves it; each points to the other."""
    await _mark(writes, conflicts, RecordState.CONTESTED)
    writes.withdrawn |= {fact.id for fact in conflicts}
    await _audit(
        writes,
        [
            AuditEvent(record=fact.id, action=AuditAction.CONTEST, rationale=f"contested by {draft.id}")
            for fact in conflicts
        ],
    )
    writes.contested.add(draft.position)
    for fact in conflicts:
        writes.relate(draft, fact.id, draft.id, "contested_by", 1.0)


async def _mark(writes: WriteSet, facts: list[Fact], state: RecordState) -> None:
    writes.changes += await update_records(
        writes.connection,
        writes.directory,
        writes.caller.tenant,
        [Edit(id=fact.id, state=int(state)) for fact in facts],
        at=writes.at,
    )


async def _salience(writes: WriteSet, ids: list[UUID]) -> dict[UUID, Salience]:
    """The lifecycles of facts in a slot that is written to."""
    everything = writes.caller.everything()
    async with elevated(
        writes.connection, everything.bounds
    ):  # a rule may have lifted a fact above its writer's ceiling
        records = await Reader(writes.connection, writes.directory, everything, writes.at).records(ids)
    return {id_: record.lifecycle for id_, record in records.items() if record.lifecycle is not None}


async def _audit(writes: WriteSet, events: list[AuditEvent]) -> None:
    await write_audit(writes.connection, writes.caller.tenant, events, actor=writes.caller.trust.actor, at=writes.at)
