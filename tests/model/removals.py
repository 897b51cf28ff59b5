"""What is removed with a record that is erased, and which records may be pruned (docs/specification.md, Forgetting)."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from model.facts import undo_trims
from model.records import ENTITY, FADED, RETRACTED, SUPERSEDED, Item
from model.revisions import remove
from model.state import State
from model.support import is_outside, named_sources, settle


def prunable(state: State) -> set[UUID]:
    """Return the records that have faded, entities apart: these wait for all that names them."""
    return {item.id for item in state.items.values() if item.type != ENTITY and _has_faded(state, item)}


def _has_faded(state: State, item: Item) -> bool:
    if item.pinned or item.id in state.members or item.id in state.members.values():
        return False
    if item.state in (SUPERSEDED, RETRACTED):  # history is kept for as long as a new record would take to fade
        elapsed = (state.now - item.t0).total_seconds()
        return bool(2.0 ** (-elapsed / item.half_life_s) < FADED)
    return item.salience(state.now) < FADED


def prune(state: State, ids: Collection[UUID]) -> None:
    """Remove faded records; what was derived from them keeps its support."""
    for id_ in ids:
        remove(state, id_, "pruned")
    undo_trims(state, ids)


def erased_with(state: State, seed: UUID) -> set[UUID]:
    """Return the records other than entities that are erased with one.

    They are its members, what rests on it alone, and what was captured to contest it.
    """
    ids = {seed}
    while True:
        before = len(ids)
        ids |= {member for member, episode in state.members.items() if episode in ids and member in state.items}
        for episode in set(state.members.values()) & state.items.keys():
            if {member for member, one in state.members.items() if one == episode and member in state.items} <= ids:
                ids.add(episode)
        ids |= _unsupported(state, ids)
        ids |= {item.id for item in state.items.values() if item.against in ids}
        if len(ids) == before:
            return ids


def _downstream(state: State, ids: Collection[UUID]) -> set[UUID]:
    found = set(ids)
    while True:
        more = {target for source, target in state.ever_derived if source in found and target in state.items} - found
        if not more:
            return found - set(ids)
        found |= more


def _unsupported(state: State, ids: Collection[UUID]) -> set[UUID]:
    """Return the records derived from `ids` that have no other support."""
    derived = _downstream(state, ids)
    supported: set[UUID] = set()
    while True:
        more = {
            id_
            for id_ in derived - supported
            if any(
                source not in ids and (source in supported if source in derived else _holds(state, source))
                for source in named_sources(state, state.items[id_], ever=True)
            )
        }
        if not more:
            return derived - supported
        supported |= more


def _holds(state: State, source: UUID | str) -> bool:
    return source in state.items or is_outside(state, source)


def erase(state: State, ids: Collection[UUID]) -> None:
    """Remove records with all traces of them, and re-evaluate what was derived from them."""
    survivors = {one for one in _downstream(state, ids) if one in state.items}
    linked = {target for source, target in state.ever_derived if source in ids}
    parties = {end for dispute in state.disputes_of(ids) for end in dispute} - set(ids)
    for id_ in ids:
        remove(state, id_, "erased")
        state.members.pop(id_, None)
    names = {str(id_) for id_ in ids}
    captures = {ref for ref, record in state.captures.items() if record in ids}
    for item in state.items.values():
        item.sources = {ref: at for ref, at in item.sources.items() if ref not in captures}
        if item.id in linked:  # the id stays where its writer named a record that it could not see
            item.sources = {ref: at for ref, at in item.sources.items() if ref not in names}
            item.evidence = tuple(ref for ref in item.evidence if ref not in names)
        if item.superseded_by in ids:
            item.superseded_by = None
    undo_trims(state, ids)
    state.reconsider([*survivors, *parties])
    settle(state)
