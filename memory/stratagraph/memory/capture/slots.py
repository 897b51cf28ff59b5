"""The slots of the facts of a request, locked before any of its facts is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stratagraph.memory.capture.draft import Draft
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.fact_keys import Slot, fact_keys, slot_of
from stratagraph.store.records.facts import lock_slots


@dataclass(frozen=True, slots=True)
class LockedSlots:
    """The slot of each fact, by the draft's position, and whether each slot is single-valued at present."""

    of_draft: dict[int, Slot]
    single_valued: dict[Slot, bool]

    def contended(self, drafts: Collection[Draft]) -> set[Slot]:
        """Return the slots in which the drafts may contradict each other: single-valued ones, and those of a policy.

        In others, facts with different keys have nothing to do with each other.
        """
        slots = {slot for slot in self.of_draft.values() if self.single_valued[slot]}
        return slots | {
            self.of_draft[draft.position]
            for draft in drafts
            if draft.position in self.of_draft and draft.payload.get("revision_policy") is not None
        }


async def lock_slots_of_facts(
    connection: Connection,
    tenant: Tenant,
    drafts: Collection[Draft],
    scopes: Mapping[str, int],
    *,
    also: Mapping[Slot, str | None] | None = None,
) -> LockedSlots:
    """Compute the keys of the drafts that are facts, and lock their slots.

    `scopes` has the numbers of the drafts' scopes. `also` maps further slots to lock to their predicates. The names of
    the drafts must be resolved.
    """
    of_draft: dict[int, Slot] = {}
    predicates: dict[Slot, str | None] = dict(also or {})
    for draft in drafts:
        if draft.type is not MemoryType.SEMANTIC:
            continue
        draft.fact = fact_keys(tenant, draft.payload, draft.entities)
        slot = slot_of(scopes[draft.scope], draft.sensitivity, draft.fact)
        of_draft[draft.position] = slot
        predicates[slot] = None if draft.entities.subject_is_ambiguous else draft.payload["predicate"]
    return LockedSlots(of_draft, await lock_slots(connection, tenant, predicates))
