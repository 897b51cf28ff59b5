"""Facts of a group compared with the stored facts of their slots (docs/specification.md, Capture).

A fact is a repetition of a stored one, in conflict with stored ones, or new; `revision_policy` decides a conflict.
"""

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
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.fact_keys import Slot, disjoint, fact_keys, slot_of
from stratagraph.store.records.facts import Fact, fetch_facts, lock_slots, make_single_valued, overlapping_facts
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience

MAX_SOURCES = 200  # kept per fact, the newest; more sources of one fact add nothing


@dataclass(slots=True)
class StoredFacts:
    """The locked slots of a group, by the drafts' positions, and the facts stored in them."""

    slots: dict[int, Slot] = field(default_factory=dict)
    single_valued: dict[Slot, bool] = field(default_factory=dict)
    facts: dict[Slot, list[Fact]] = field(default_factory=dict)

    def conflicts(self, draft: Draft) -> list[Fact]:
        """Return the active facts of the draft's slot whose validity overlaps that of the draft.

        Returns none if the draft repeats a known fact, or if its slot is not single-valued and it has no revision
        policy.
        """
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
    def changed_at(self) -> list[datetime]:
        """The instants at which the facts were last changed."""
        return [fact.updated_at for facts in self.facts.values() for fact in facts]


async def lock_facts(writes: WriteSet, *, also: Mapping[Slot, str] | None = None) -> StoredFacts:
    """Lock the slots of the write set's facts; return the slots with the facts stored in them.

    `also` maps further slots to lock to their predicates.
    """
    stored = StoredFacts()
    predicates: dict[Slot, str] = dict(also or {})
    for draft in writes.drafts:
        if draft.type is not MemoryType.SEMANTIC:
            continue
        draft.fact = fact_keys(writes.caller.tenant, draft.payload)
        slot = slot_of(writes.scopes[draft.scope], draft.sensitivity, draft.fact)
        stored.slots[draft.position] = slot
        predicates[slot] = draft.payload["predicate"]
    stored.single_valued = await lock_slots(writes.connection, writes.caller.tenant, predicates)
    stored.facts = await fetch_facts(writes.connection, writes.caller.tenant, list(predicates))
    return stored


async def settle_facts(writes: WriteSet, stored: StoredFacts) -> None:
    """Decide for each fact of the group whether it repeats, supersedes or contests stored facts, or is only added.

    A fact equal to a stored one creates no record: its sources are added to the stored fact, which is reinforced if it
    is active. A fact that conflicts with stored ones supersedes them or, with the revision policy `contest`, makes them
    and itself contested. Any other fact is new. Stored facts are updated before the new ones are inserted, since a
    single-valued slot admits one active fact per conditions and time.

    Raises ConditionsOverlap where a fact with the revision policy `fork` conflicts with a stored one, or where a slot
    that becomes single-valued has stored facts whose validities overlap.
    """
    for draft in writes.drafts:
        slot = stored.slots.get(draft.position)
        if slot is not None:
            await _settle_fact(writes, draft, slot, stored)


async def _settle_fact(writes: WriteSet, draft: Draft, slot: Slot, stored: StoredFacts) -> None:
    assert draft.fact is not None
    known = stored.facts.get(slot, [])
    same = next((fact for fact in known if fact.fact_key == draft.fact.fact), None)
    if same is not None:
        await add_evidence(writes, draft, same)
        return
    policy = draft.payload.get("revision_policy")
    single = stored.single_valued[slot] or policy is not None
    draft.fact = replace(draft.fact, single_valued=single)
    if not single:
        return
    conflicts = stored.conflicts(draft)
    if conflicts and policy == "fork":
        raise ConditionsOverlap(
            f"content.validity: this fact holds at the same time as fact {conflicts[0].id} of its subject and"
            " predicate; a fork needs conditions that exclude that fact's: a shared key with other values, or a"
            " separate time",
            path=[f"#{draft.position}", "content", "validity"],
        )
    if conflicts and policy == "contest":
        await _contest(writes, draft, conflicts)
    elif conflicts:
        await _supersede(writes, draft, conflicts)
    if not stored.single_valued[slot]:
        require_one_value([fact for fact in known if fact not in conflicts], f"#{draft.position}", "content")
        await make_single_valued(writes.connection, writes.caller.tenant, slot)
        stored.single_valued[slot] = True


def require_one_value(facts: Iterable[Fact], *path: str) -> None:
    """Raise ConditionsOverlap where the validities of two facts overlap, so that their slot cannot be single-valued.

    `path` is the path of the error, to which `revision_policy` is added.
    """
    both = overlapping_facts(facts)
    if both is not None:
        raise ConditionsOverlap(
            f"content.revision_policy: facts {both[0]} and {both[1]} of this subject and predicate hold at the same"
            " time; supersede, retract or merge one of them first",
            path=[*path, "revision_policy"],
        )


async def add_evidence(writes: WriteSet, draft: Draft, fact: Fact) -> None:
    """Add the draft's sources to the stored fact that it repeats, and reinforce that fact if it is active.

    The fact keeps its newest MAX_SOURCES sources. The draft then creates no record of its own.
    """
    writes.use_existing(draft, fact.id)
    if fact.state is RecordState.CONTESTED or draft.position in writes.source_records:
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
    """Supersede the conflicting facts by the draft; they leave the current truth and are kept as history."""
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
    """Contest the conflicting facts and the draft until the contest is resolved, and relate them."""
    await _set_state(writes, conflicts, RecordState.CONTESTED)
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


async def _set_state(writes: WriteSet, facts: list[Fact], state: RecordState) -> None:
    writes.changes += await update_records(
        writes.connection,
        writes.directory,
        writes.caller.tenant,
        [Edit(id=fact.id, state=int(state)) for fact in facts],
        at=writes.at,
    )


async def _salience(writes: WriteSet, ids: list[UUID]) -> dict[UUID, Salience]:
    """Return the salience of facts, read without trust restrictions.

    A policy rule may have raised a fact above the ceiling of its writer.
    """
    unrestricted = writes.caller.unrestricted()
    async with elevated(writes.connection, unrestricted.bounds):
        records = await Reader(writes.connection, writes.directory, unrestricted, writes.at).records(ids)
    return {id_: record.lifecycle for id_, record in records.items() if record.lifecycle is not None}


async def _audit(writes: WriteSet, events: list[AuditEvent]) -> None:
    await write_audit(writes.connection, writes.caller.tenant, events, actor=writes.caller.trust.actor, at=writes.at)
