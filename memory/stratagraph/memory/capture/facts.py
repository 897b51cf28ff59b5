"""Facts meet what is already held true: repeated, conflicting, or new (SPEC §4, `revision_policy`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import orjson

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.plan import Plan, sources_of
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


async def lock(plan: Plan, *, also: Mapping[Slot, str] | None = None) -> HeldFacts:
    """Lock the slots of the plan's facts, and those in `also`, given with their predicates."""
    held = HeldFacts()
    predicates: dict[Slot, str] = dict(also or {})
    for draft in plan.drafts:
        if draft.type is not MemoryType.SEMANTIC:
            continue
        draft.fact = fact_keys(plan.caller.tenant, draft.payload)
        slot = slot_of(plan.scopes[draft.scope], draft.sensitivity, draft.fact)
        held.slots[draft.position] = slot
        predicates[slot] = draft.payload["predicate"]
    held.single_valued = await lock_slots(plan.connection, plan.caller.tenant, predicates)
    held.facts = await fetch_facts(plan.connection, plan.caller.tenant, list(predicates))
    return held


async def settle(plan: Plan, held: HeldFacts) -> None:
    """Decide for each fact of the round; what it displaces is written before it is."""
    for draft in plan.drafts:
        slot = held.slots.get(draft.position)
        if slot is not None:
            await _settle(plan, draft, slot, held)


async def _settle(plan: Plan, draft: Draft, slot: Slot, held: HeldFacts) -> None:
    assert draft.fact is not None
    known = held.facts.get(slot, [])
    same = next((fact for fact in known if fact.fact_key == draft.fact.fact), None)
    if same is not None:
        await add_evidence(plan, draft, same)
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
        await _contest(plan, draft, conflicts)
    elif conflicts:
        await _supersede(plan, draft, conflicts)
    if not held.single_valued[slot]:
        require_one_value([fact for fact in known if fact not in conflicts], f"#{draft.position}", "content")
        await make_single_valued(plan.connection, plan.caller.tenant, slot)
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


async def add_evidence(plan: Plan, draft: Draft, fact: Fact) -> None:
    """The same fact again: it matters more, and it has one more source."""
    plan.stand_in(draft, fact.id)
    if fact.state is RecordState.CONTESTED or draft.position in plan.rests_on:
        plan.doubtful.add(fact.id)
    added = [source for source in sources_of(plan, draft) if source["ref"] != str(fact.id)]
    known = {source["ref"]: source for source in [*fact.provenance.get("sources", []), *added]}
    sources = list(known.values())[-MAX_SOURCES:]
    tenant = plan.caller.tenant
    plan.changes += await update_records(
        plan.connection,
        plan.directory,
        tenant,
        [
            Edit(
                id=fact.id,
                provenance=orjson.dumps({**fact.provenance, "sources": sources}).decode(),
                is_revision=False,
            )
        ],
        at=plan.at,
    )
    if fact.state is RecordState.ACTIVE:
        salience = (await _salience(plan, [fact.id]))[fact.id]
        event = reinforced(salience, plan.at)
        await write_salience(plan.connection, tenant, [(fact.id, event)])
        await _audit(
            plan,
            [AuditEvent(record=fact.id, action=AuditAction.REINFORCE, rationale="observed again", salience=event.s)],
        )


async def _supersede(plan: Plan, draft: Draft, conflicts: list[Fact]) -> None:
    """The new fact takes their place: they leave the current truth and stay as history."""
    plan.withdrawn |= {fact.id for fact in conflicts}
    plan.changes += await withdraw(
        plan.connection,
        plan.directory,
        plan.caller,
        [fact.id for fact in conflicts],
        RecordState.SUPERSEDED,
        rationale=f"superseded by {draft.id}",
        at=plan.at,
        by=draft.id,
    )
    draft.payload["revision"] = {"supersedes": str(conflicts[0].id)}
    for fact in conflicts:
        plan.relate(draft, draft.id, fact.id, "supersedes", 1.0)


async def _contest(plan: Plan, draft: Draft, conflicts: list[Fact]) -> None:
    """Neither is believed until somebody resolves it; each points to the other."""
    await _mark(plan, conflicts, RecordState.CONTESTED)
    plan.withdrawn |= {fact.id for fact in conflicts}
    await _audit(
        plan,
        [
            AuditEvent(record=fact.id, action=AuditAction.CONTEST, rationale=f"contested by {draft.id}")
            for fact in conflicts
        ],
    )
    plan.contested.add(draft.position)
    for fact in conflicts:
        plan.relate(draft, fact.id, draft.id, "contested_by", 1.0)


async def _mark(plan: Plan, facts: list[Fact], state: RecordState) -> None:
    plan.changes += await update_records(
        plan.connection,
        plan.directory,
        plan.caller.tenant,
        [Edit(id=fact.id, state=int(state)) for fact in facts],
        at=plan.at,
    )


async def _salience(plan: Plan, ids: list[UUID]) -> dict[UUID, Salience]:
    """The lifecycles of facts in a slot that is written to."""
    everything = plan.caller.everything()
    async with elevated(plan.connection, everything.bounds):  # a rule may have lifted a fact above its writer's ceiling
        records = await Reader(plan.connection, plan.directory, everything, plan.at).records(ids)
    return {id_: record.lifecycle for id_, record in records.items() if record.lifecycle is not None}


async def _audit(plan: Plan, events: list[AuditEvent]) -> None:
    await write_audit(plan.connection, plan.caller.tenant, events, actor=plan.caller.trust.actor, at=plan.at)
