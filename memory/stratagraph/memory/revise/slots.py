"""The slots of facts that a revision writes, locked with the facts that the new fact repeats or contradicts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.facts import StoredFacts, lock_facts, settle_fact
from stratagraph.memory.capture.slots import lock_slots_of_facts
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.facts import Fact, slots_of
from stratagraph.store.records.merges import keep_single_valued


async def lock_slot(
    work: UnitOfWork, writes: WriteSet, old: Sequence[MemoryRecord], *, leaving: Collection[UUID] = ()
) -> StoredFacts:
    """Lock the slots of the write set's facts and of `old`; return the facts that the drafts repeat or contradict.

    Facts in `leaving` are disregarded.
    """
    slots = await slots_of(work.connection, work.caller.tenant, [record.id for record in old])
    locked = await lock_slots_of_facts(
        writes.connection, writes.caller.tenant, writes.drafts, writes.scopes, also=dict.fromkeys(slots.values())
    )
    await keep_single_valued(work.connection, work.caller.tenant, locked.single_valued)
    held = await lock_facts(writes, locked, leaving=leaving)
    work.after(*held.changed_at)
    return held


def equal_fact(held: StoredFacts, draft: Draft) -> Fact | None:
    """Return the stored fact that the draft repeats, or None."""
    return next(iter(held.compared[draft.position].equal), None)


async def settle_slot(writes: WriteSet, draft: Draft, held: StoredFacts) -> None:
    """Settle the draft with the stored facts of its slot, as a capture does (see `capture.facts.settle_facts`)."""
    await settle_fact(writes, draft, held.slots[draft.position], held, is_revision=True)
