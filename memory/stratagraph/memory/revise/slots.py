"""The slots of facts that a revision writes: locked, and checked for facts that conflict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.errors import ConditionsOverlap
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.fact_keys import Slot, disjoint, slot_key
from stratagraph.store.records.facts import Fact


async def lock_slot(
    work: UnitOfWork, writes: WriteSet, draft: Draft, old: Sequence[MemoryRecord]
) -> tuple[Slot, list[Fact]]:
    """Lock the slots of the draft and of `old`; return the draft's slot and the current facts in it."""
    tenant = work.caller.tenant
    scopes = await work.directory.scopes(tenant, {record.scope for record in old}, create=False)
    slots = {
        Slot(
            scopes[record.scope],
            int(record.sensitivity),
            slot_key(tenant, record.payload["subject"], record.payload["predicate"]),
        ): str(record.payload["predicate"])
        for record in old
        if record.payload is not None
    }
    held = await capture_facts.lock_facts(writes, also=slots)
    slot = held.slots[draft.position]
    assert draft.fact is not None
    draft.fact = replace(draft.fact, single_valued=held.single_valued[slot])
    work.after(*held.changed_at)
    return slot, held.facts.get(slot, [])


async def check_slot(
    work: UnitOfWork, draft: Draft, slot: Slot, facts: Sequence[Fact], *, leaving: set[UUID]
) -> Fact | None:
    """Return the fact in `facts` that equals the draft, or None. Facts with an id in `leaving` are skipped.

    `facts` are the current facts of the slot; those in `leaving` are the ones that this revision replaces. Raises
    ConditionsOverlap if the slot is single-valued and the validity of another active fact overlaps the draft's.
    """
    assert draft.fact is not None
    staying = [fact for fact in facts if fact.id not in leaving]
    same = next((fact for fact in staying if fact.fact_key == draft.fact.fact), None)
    if same is not None:
        return same
    if not draft.fact.single_valued:
        return None
    for fact in staying:
        if fact.state is RecordState.ACTIVE and not disjoint(fact.validity, draft.payload["validity"]):
            raise ConditionsOverlap(
                f"payload: fact {fact.id} holds at the same time and its predicate has one value; merge the two, or"
                " give conditions or times that exclude each other",
                path=["payload", "validity"],
            )
    return None
