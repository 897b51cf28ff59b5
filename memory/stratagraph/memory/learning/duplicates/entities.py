"""Whether two entities are the same thing. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import Any
from uuid import UUID

from stratagraph.memory.learning.duplicates.names import Name, alike, name_of
from stratagraph.memory.learning.duplicates.signals import BITS, Comparison, Signal, comparison
from stratagraph.memory.secrets.masking import holds_mask
from stratagraph.store.model.canonical import normalised_identifier
from stratagraph.store.model.entity_kinds import exclude, folded_type
from stratagraph.store.model.records import MemoryRecord

BACKING_FACTS = 2  # that hold of both entities, and with which the alias of one of them is enough for a merge
_MAX_ALIASES = 20  # of one entity that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A fact about an entity without the entity: keyed hashes of its predicate, and of its object, value and validity.

    `is_single` is whether the predicate has one value at a time for this entity.
    """

    predicate: bytes
    rest: bytes
    is_single: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityProfile:
    """An entity as it is compared. `identifiers` are pairs of namespace and value, normalised."""

    id: UUID
    created_at: datetime
    name: Name
    aliases: tuple[Name, ...] = ()
    types: frozenset[str] = frozenset()
    identifiers: frozenset[tuple[str, str]] = frozenset()
    statements: frozenset[Statement] = field(default_factory=frozenset)


def entity_profile(record: MemoryRecord, statements: frozenset[Statement] = frozenset()) -> EntityProfile:
    """Return the profile of an entity that was read in full."""
    payload: Mapping[str, Any] = record.payload or {}
    types = (payload.get("primary_type"), *(payload.get("types") or ()))
    aliases = [entry["value"] for entry in payload.get("aliases") or () if not holds_mask(entry["value"])]
    return EntityProfile(
        id=record.id,
        created_at=record.created_at,
        name=name_of(payload["canonical_name"]),
        aliases=tuple(name_of(alias) for alias in aliases[:_MAX_ALIASES]),
        types=frozenset(folded for name in types if (folded := folded_type(name)) is not None),
        identifiers=frozenset(
            normalised_identifier(entry["namespace"], entry["value"])
            for entry in payload.get("identifiers") or ()
            if not holds_mask(entry["value"])
        ),
        statements=statements,
    )


def compare_entities(one: EntityProfile, other: EntityProfile) -> Comparison | None:
    """Return what is found about two entities; None if nothing makes them alike, or they cannot be the same.

    They cannot be if their types exclude each other, or if an identifier tells apart two that have the same path, code
    or number as their names.
    """
    if exclude(one.types, other.types):
        return None
    signals = []
    names = _alike(one, other)
    shared = {(a.predicate, a.rest) for a in one.statements} & {(b.predicate, b.rest) for b in other.statements}
    if names is not None:
        signals.append(names)
    if names is Signal.SAME_ALIAS and not _is_backed(one, other, shared_facts=len(shared)):
        signals.append(Signal.ONE_SIDED)
    if one.types and other.types:
        signals.append(Signal.SAME_TYPE if one.types & other.types else Signal.DIFFERENT_TYPES)
    if _contradict(one, other):
        if not (one.name.is_natural and other.name.is_natural):
            return None
        signals.append(Signal.DIFFERENT_IDENTIFIERS)
    if _differ_in_single_values(one, other):
        signals.append(Signal.DIFFERENT_VALUES)
    if names is None and not shared:
        return None
    return comparison(signals, shared_facts=len(shared))


def _alike(one: EntityProfile, other: EntityProfile) -> Signal | None:
    """Return the strongest likeness of a name of one to a name of the other.

    Equal aliases of both are no evidence: two people may have the same nickname.
    """
    found = {alike(one.name, other.name)}
    known = [alike(a, b) for a, b in (*product([one.name], other.aliases), *product(one.aliases, [other.name]))]
    found |= {Signal.SAME_ALIAS if signal is Signal.SAME_NAME else signal for signal in known}
    # In order of their weights, then of their names, so that the same pair has the same evidence each time.
    return max((signal for signal in found if signal is not None), key=lambda one: (BITS[one], one), default=None)


def _is_backed(one: EntityProfile, other: EntityProfile, *, shared_facts: int) -> bool:
    """Return whether both entities say that they are one, and not only the aliases of one of them.

    They do by an equal identifier, by aliases of each that are the other's name, or by facts that hold of both.
    """
    if one.identifiers & other.identifiers or shared_facts >= BACKING_FACTS:
        return True
    return all(
        any(alike(alias, name) is Signal.SAME_NAME for alias in aliases)
        for aliases, name in ((one.aliases, other.name), (other.aliases, one.name))
    )


def _contradict(one: EntityProfile, other: EntityProfile) -> bool:
    """Return whether both have identifiers of one namespace and none of them is equal."""
    shared = {space for space, _ in one.identifiers} & {space for space, _ in other.identifiers}
    common = {space for space, _ in one.identifiers & other.identifiers}
    return bool(shared - common)


def _differ_in_single_values(one: EntityProfile, other: EntityProfile) -> bool:
    theirs: dict[bytes, set[bytes]] = {}
    for statement in other.statements:
        theirs.setdefault(statement.predicate, set()).add(statement.rest)
    return any(
        statement.is_single and statement.predicate in theirs and statement.rest not in theirs[statement.predicate]
        for statement in one.statements
    )
