"""Slots: which facts are equal, which contradict each other, and which a slot has room for."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import combinations
from typing import Any
from uuid import UUID

from model.intervals import Interval
from model.records import ACTIVE, FACT, Fact, Item, Refused, Scope, Slot
from model.state import State

from stratagraph.store.model.errors import ConditionsOverlap


def fold_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def literal(value: Any) -> str:
    """Return a literal in the form in which literals are compared."""
    return json.dumps(fold_text(value) if isinstance(value, str) else value, sort_keys=True)


def stated(validity: Mapping[str, Any]) -> Interval:
    ends = (validity.get("start"), validity.get("end"))
    start, end = (datetime.fromisoformat(at) if at else None for at in ends)
    return Interval(start, end)


def slot_of(where: Scope, fact: Fact) -> Slot:
    return where, fact.subject, fact.predicate


def key_of(where: Scope, fact: Fact) -> tuple[Any, ...]:
    return slot_of(where, fact), fact.object, json.dumps(fact.conditions, sort_keys=True), fact.stated


def facts_in(state: State, where: Scope, fact: Fact, *, leaving: Collection[UUID] = ()) -> list[Item]:
    """Return the current facts of a fact's slot."""
    return [
        item
        for item in state.current(FACT)
        if item.fact is not None and slot_of(item.where, item.fact) == slot_of(where, fact) and item.id not in leaving
    ]


def equal_fact(state: State, where: Scope, fact: Fact, *, leaving: Collection[UUID] = ()) -> Item | None:
    for item in facts_in(state, where, fact, leaving=leaving):
        if item.fact is not None and key_of(item.where, item.fact) == key_of(where, fact):
            return item
    return None


def apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether facts of these conditions never contradict each other."""
    if bool(one) != bool(other):
        return True  # a conditional fact specialises the unconditional one
    return any(not _values(one[key]) & _values(other[key]) for key in one.keys() & other.keys())


def _values(value: Any) -> set[str]:
    return {json.dumps(one) for one in (value if isinstance(value, list) else [value])}


def contradictions(
    state: State, where: Scope, fact: Fact, interval: Interval, *, leaving: Collection[UUID] = ()
) -> list[Item]:
    """Return the current facts of the slot that hold when `fact` would hold in `interval`."""
    if fact.is_ambiguous:
        return []
    return [
        item
        for item in facts_in(state, where, fact, leaving=leaving)
        if item.fact is not None
        and not apart(item.fact.conditions, fact.conditions)
        and item.effective.overlaps(interval)
    ]


def active_contradictions(
    state: State, where: Scope, fact: Fact, interval: Interval, *, leaving: Collection[UUID] = ()
) -> list[Item]:
    found = contradictions(state, where, fact, interval, leaving=leaving)
    return [item for item in found if item.state == ACTIVE]


def require_room(state: State, where: Scope, fact: Fact, interval: Interval, *, leaving: Collection[UUID] = ()) -> None:
    if active_contradictions(state, where, fact, interval, leaving=leaving):
        raise Refused(ConditionsOverlap)


def has_room(state: State, item: Item) -> bool:
    """Whether a fact may become active beside the active facts of its slot."""
    if item.fact is None or slot_of(item.where, item.fact) not in state.single:
        return True
    return not active_contradictions(state, item.where, item.fact, item.effective, leaving={item.id})


def make_single(state: State, where: Scope, fact: Fact) -> None:
    """Make a slot single-valued. It may have no two active facts that contradict each other."""
    if fact.is_ambiguous:
        return
    state.single.add(slot_of(where, fact))
    active = [item for item in facts_in(state, where, fact) if item.state == ACTIVE]
    for one, other in combinations(active, 2):
        assert one.fact is not None
        assert other.fact is not None
        if not apart(one.fact.conditions, other.fact.conditions) and one.effective.overlaps(other.effective):
            raise Refused(ConditionsOverlap)
