"""Slots that a merge of entities made single-valued: once it is undone, they take several values again.

What has displaced a value there since the merge did so only because of the merge, so the value becomes current again.
Slots in which somebody has asked for one value since, by a revision policy or by revising one of their facts, stay as
they are: `keep_single_valued` forgets that the merge made them so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.revise.later_evidence import said_of
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.records.fact_keys import Slot
from stratagraph.store.records.facts import slots_of
from stratagraph.store.records.keyed_facts import KeyedFact, fetch_keyed_facts, find_rivals, set_single_valued
from stratagraph.store.records.merges import (
    Displacement,
    EntityMerge,
    delete_slot_trims,
    fetch_merge_slots,
    find_displacements,
    keep_single_valued,
)


@dataclass(frozen=True, slots=True)
class ReopenedSlots:
    """The slots of a merge that take several values again, and what is due to their having taken one."""

    slots: list[Slot]
    displacements: list[Displacement]

    @property
    def facts(self) -> set[UUID]:
        """The facts that have displaced others, and those that were displaced."""
        return {end for one in self.displacements for end in (one.source, one.target)}

    async def reopen(self, work: UnitOfWork, merge: EntityMerge) -> None:
        """Let the slots, which are locked, take several values. Raises StaleRead if they have changed since."""
        connection, tenant = work.connection, work.caller.tenant
        slots = await fetch_merge_slots(connection, tenant, merge.entity)
        if slots != self.slots or await find_displacements(connection, tenant, merge.entity) != self.displacements:
            raise StaleRead
        await set_single_valued(connection, tenant, slots, single_valued=False)

    async def facts_among(self, work: UnitOfWork, ids: Collection[UUID]) -> set[UUID]:
        """Return those of the facts `ids` that are in one of the slots."""
        found = await slots_of(work.connection, work.caller.tenant, ids)
        return {id_ for id_, slot in found.items() if slot in self.slots}

    async def take_trims(self, work: UnitOfWork) -> set[UUID]:
        """Delete the trims in the slots; return the facts that were trimmed."""
        return await delete_slot_trims(work.connection, work.caller.tenant, self.slots)

    async def unsaid(self, work: UnitOfWork, ids: Collection[UUID], merge: EntityMerge) -> set[UUID]:
        """Return those of the facts `ids` about the merged entity that nothing of the survivor says in these slots.

        That is, with the survivor in place of the entity: no current fact, and none that was displaced.
        """
        connection, tenant = work.connection, work.caller.tenant
        keys: dict[UUID, tuple[Slot, bytes]] = {}
        for id_, fact in (await fetch_keyed_facts(connection, tenant, ids)).items():
            identity = said_of(merge.survivor, fact, entity=merge.entity)
            slot = Slot(fact.slot.scope, fact.slot.sensitivity, identity.slot_key(tenant))
            if slot in self.slots:
                keys[id_] = slot, identity.fact_key(tenant)
        displaced = await fetch_keyed_facts(connection, tenant, {one.target for one in self.displacements})
        known = [*displaced.values(), *(await _current_facts(work, keys.values())).values()]
        said = {(fact.slot, fact.fact_key) for fact in known}
        return {id_ for id_, key in keys.items() if key not in said}

    async def represented(self, work: UnitOfWork, ids: Collection[UUID]) -> dict[UUID, UUID]:
        """Return those of the superseded facts `ids` that an equal fact stands for, each with that fact.

        It is a current one, or the newest of `ids`.
        """
        facts = await fetch_keyed_facts(work.connection, work.caller.tenant, ids)
        current = await _current_facts(work, [(fact.slot, fact.fact_key) for fact in facts.values()])
        standing = {(fact.slot, fact.fact_key): id_ for id_, fact in [*facts.items(), *current.items()]}
        others = {id_: standing[fact.slot, fact.fact_key] for id_, fact in facts.items()}
        return {id_: other for id_, other in others.items() if other != id_}


async def find_reopened(work: UnitOfWork, merge: EntityMerge) -> ReopenedSlots:
    """Return the slots that take several values again when the merge is undone."""
    return ReopenedSlots(merge.slots, await find_displacements(work.connection, work.caller.tenant, merge.entity))


async def _current_facts(work: UnitOfWork, keys: Collection[tuple[Slot, bytes]]) -> dict[UUID, KeyedFact]:
    """Return the current facts of the slots that have one of the keys."""
    connection, tenant = work.connection, work.caller.tenant
    slots = {slot: False for slot, _ in keys}
    found = await find_rivals(connection, tenant, slots, {key for _, key in keys}, most=None)
    return await fetch_keyed_facts(connection, tenant, found)


async def keep_slots_of(work: UnitOfWork, ids: Collection[UUID]) -> None:
    """Note that a revision decides between the locked facts among `ids`: their slots are not reopened any more."""
    slots = await slots_of(work.connection, work.caller.tenant, ids)
    await keep_single_valued(work.connection, work.caller.tenant, set(slots.values()))
