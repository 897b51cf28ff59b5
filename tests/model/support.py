"""Support: what holds a record, and which states follow (docs/specification.md, Revision).

A record is grounded if one of its sources is outside the store, or is an active record that is itself grounded. Records
that only support each other in a circle are not.
"""

from __future__ import annotations

from uuid import UUID

from model.records import ACTIVE, CONTESTED, CURRENT, EVENT, Item
from model.slots import has_room
from model.state import State


def settle(state: State) -> None:
    """Re-evaluate the doubtful records, and the records derived from those that change.

    First contest all that are not grounded or are disputed; then make all active again that have support, no dispute
    and room. A record that is contested and restored in one operation counts as unchanged.
    """
    touched, state.doubtful = sorted(state.doubtful), set()
    was: dict[UUID, str] = {}
    for becomes in (CONTESTED, ACTIVE):
        waiting = list(touched)
        while waiting:
            item = state.items.get(waiting.pop(0))
            if item is None or item.state not in CURRENT or item.type == EVENT or item.state == becomes:
                continue
            sound = item.id in grounded(state, also=item) and not is_disputed(state, item.id)
            if sound is not (becomes == ACTIVE):
                continue
            back = was.get(item.id) == ACTIVE
            if becomes == ACTIVE and not back and not has_room(state, item):
                continue
            was.setdefault(item.id, item.state)
            item.state = becomes
            waiting += sorted(state.dependents([item.id]))
            touched += sorted(state.dependents([item.id]) - set(touched))
    for id_ in sorted(was):
        item = state.items[id_]
        now, item.state = item.state, was[id_]
        if now != item.state:
            state.move(item, now)


def grounded(state: State, *, also: Item | None = None) -> set[UUID]:
    """Return the active records that are grounded, by a least fixpoint; `also` counts as active."""
    active = {id_ for id_, item in state.items.items() if item.state == ACTIVE} | ({also.id} if also else set())
    rests = {id_: sources_of(state, state.items[id_]) for id_ in active}
    found: set[UUID] = set()
    while True:
        more = {
            id_
            for id_ in active - found
            if any(source in found if source in state.items else is_outside(state, source) for source in rests[id_])
            or state.items[id_].type == EVENT
        }
        if not more:
            return found
        found |= more


def sources_of(state: State, item: Item) -> set[UUID | str]:
    """Return the sources of a record; a record that some who may read it might not see counts as a text."""
    return {
        source if isinstance(source, str) or _in_reach(state, item, source) else str(source)
        for source in named_sources(state, item)
    }


def _in_reach(state: State, item: Item, source: UUID) -> bool:
    found = state.items.get(source) or state.gone.get(source)
    return found is None or (found.scope in (item.scope, "") and found.sensitivity <= item.sensitivity)


def named_sources(state: State, item: Item, *, ever: bool = False) -> set[UUID | str]:
    """Return the sources of a record: those that it names, and the records that it is, or `ever` was, derived from."""
    refs: set[UUID | str] = {_source(ref) for ref in item.sources}
    edges = state.ever_derived if ever else state.derived
    return (refs | {source for source, target in edges if target == item.id}) - {item.id}


def _source(ref: str) -> UUID | str:
    try:
        return UUID(ref)
    except ValueError:
        return ref


def is_outside(state: State, source: UUID | str) -> bool:
    """Whether a source that is no record of the store holds what rests on it: not if it was deleted or erased."""
    return isinstance(source, str) or source not in state.gone or state.gone[source].cause == "pruned"


def is_disputed(state: State, id_: UUID) -> bool:
    ends = {end for dispute in state.disputes_of([id_]) for end in dispute} - {id_}
    return any(end in state.items and state.items[end].state in CURRENT for end in ends)
