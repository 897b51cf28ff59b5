"""What the background job does about names that were captured before their entity: facts are linked to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

from model.entities import find
from model.facts import OBJECTS_ARE_LITERALS, SINGLE_VALUED, pass_trims
from model.names import Mention, fold_name
from model.records import ACTIVE, CONTESTED, FACT, SUPERSEDED, Fact, Item, Slot
from model.slots import apart, key_of, slot_of
from model.state import State
from model.support import settle


def link_names(state: State) -> None:
    """Link the subjects and objects of current facts that have the name of an entity that is new or learned names.

    Names that the entity was taught by captures of another scope or sensitivity are not in its payload, and are not
    looked for.
    """
    asked, state.named_anew = sorted(state.named_anew), set()
    for entity in asked:
        if entity not in state.items or not state.items[entity].is_current:
            continue
        said = state.items[entity].content
        names = {fold_name(said["canonical_name"]), *(fold_name(one["value"]) for one in said.get("aliases") or ())}
        moved: list[Item] = []
        settled = settled_slots(state)
        for item in state.current(FACT):
            assert item.fact is not None
            if not _mention(item, "").sees(*state.items[entity].where):
                continue
            fact = _linked(state, item, item.fact, names)
            if fact != item.fact:
                item.fact = fact
                moved.append(item)
                if fact.predicate in SINGLE_VALUED:
                    state.single.add(slot_of(item.where, fact))
        settle_collisions(state, moved, settled)
        settle(state)


def _linked(state: State, item: Item, fact: Fact, names: Collection[str]) -> Fact:
    subject, value = item.content["subject"], item.content["object"]
    if fact.subject[0] != "entity" and fold_name(subject) in names:
        found = find(state, _mention(item, subject)).entity
        fact = fact if found is None else replace(fact, subject=("entity", found))
    may_be_name = item.content.get("object_type") is not None or fact.predicate not in OBJECTS_ARE_LITERALS
    if fact.object[0] == "literal" and isinstance(value, str) and may_be_name and fold_name(value) in names:
        found = find(state, _mention(item, value, item.content.get("object_type"))).entity
        fact = fact if found is None else replace(fact, object=("entity", found))
    return fact


def _mention(item: Item, name: str, type_: str | None = None) -> Mention:
    return Mention(name=name, scope=item.scope, sensitivity=item.sensitivity, type=type_, known_only=True)


def settled_slots(state: State) -> dict[UUID, Slot]:
    """Return the slots of the facts in single-valued slots, by fact."""
    slots = {item.id: slot_of(item.where, item.fact) for item in state.items.values() if item.fact is not None}
    return {id_: slot for id_, slot in slots.items() if slot in state.single}


def settle_collisions(state: State, moved: list[Item], settled: Mapping[UUID, Slot]) -> None:
    """Collapse equal facts into the oldest, and let those that contradict each other in one slot be in dispute.

    Two facts that were in one single-valued slot before, by `settled`, contradict each other as they did then.
    """
    for item in moved:
        assert item.fact is not None
        _collapse(state, item)
    for item in moved:
        assert item.fact is not None
        if not item.is_current or slot_of(item.where, item.fact) not in state.single:
            continue
        for other in state.current(FACT):
            was_in = settled.get(item.id)
            is_new = was_in is None or was_in != settled.get(other.id)
            if other.id != item.id and is_new and contradict(item, other):
                _dispute(state, *sorted((item, other), key=lambda one: one.age))


def contradict(one: Item, other: Item) -> bool:
    assert one.fact is not None
    assert other.fact is not None
    return (
        not one.fact.is_ambiguous
        and slot_of(one.where, one.fact) == slot_of(other.where, other.fact)
        and not apart(one.fact.conditions, other.fact.conditions)
        and one.effective.overlaps(other.effective)
    )


def _collapse(state: State, item: Item) -> None:
    assert item.fact is not None
    key = key_of(item.where, item.fact)
    group = [one for one in state.current(FACT) if one.fact is not None and key_of(one.where, one.fact) == key]
    oldest, *others = sorted(group, key=lambda one: one.age)
    for other in others:
        state.withdraw(other, SUPERSEDED, by=oldest.id)
        oldest.sources = {ref: at for ref, at in {**oldest.sources, **other.sources}.items() if ref != str(oldest.id)}
        oldest.evidence_at = max(oldest.latest_evidence, other.latest_evidence)
        state.derived, state.disputes = (
            {(oldest.id if a == other.id else a, oldest.id if b == other.id else b) for a, b in edges}
            for edges in (state.derived, state.disputes)
        )
        state.derived, state.disputes = (
            {(a, b) for a, b in edges if a != b} for edges in (state.derived, state.disputes)
        )
        state.ever_derived |= state.derived
        state.propagate([oldest.id])
        pass_trims(state, [other.id], oldest.id)
        state.reconsider([oldest.id])


def _dispute(state: State, one: Item, other: Item) -> None:
    for item in (one, other):
        if item.state == ACTIVE:
            state.move(item, CONTESTED)
            state.propagate([item.id])
    state.disputes.add((one.id, other.id))
