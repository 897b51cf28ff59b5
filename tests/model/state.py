"""The state of the model of memory, and the parts of operations that more than one subject needs."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from model.names import Lesson
from model.records import (
    CONTESTED,
    CURRENT,
    GAIN,
    HALF_LIFE_S,
    SUPERSEDED,
    Impossible,
    Item,
    Scope,
    Slot,
    Trim,
)

from stratagraph.store.model.trust import Trust

_BEFORE = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Gone:
    """A record that was removed: how, and its audit."""

    cause: str  # "pruned", "deleted" or "erased"
    audit: list[str]
    scope: str
    sensitivity: int


@dataclass(slots=True)
class State:
    items: dict[UUID, Item] = field(default_factory=dict)
    lessons: dict[UUID, list[Lesson]] = field(default_factory=dict)  # by entity
    named: set[tuple[UUID, str, UUID]] = field(default_factory=set)  # (record, predicate, entity that it names)
    derived: set[tuple[UUID, UUID]] = field(default_factory=set)  # (source, the record derived from it)
    ever_derived: set[tuple[UUID, UUID]] = field(default_factory=set)  # including those that a merge has moved
    disputes: set[tuple[UUID, UUID]] = field(default_factory=set)  # (contested, by)
    replaced: set[tuple[UUID, UUID]] = field(default_factory=set)  # (successor, superseded record)
    trims: list[Trim] = field(default_factory=list)
    single: set[Slot] = field(default_factory=set)  # slots that hold one value at a time
    gone: dict[UUID, Gone] = field(default_factory=dict)
    caller: Trust | None = None  # of the operation that runs; None for a background job, which sees everything
    keys: dict[tuple[str, str], tuple[Any, UUID]] = field(default_factory=dict)  # by actor and idempotency key
    captures: dict[str, UUID] = field(default_factory=dict)  # what the capture of a ref became or was added to
    erased_keys: set[tuple[Scope, str]] = field(default_factory=set)  # idempotency keys of erased captures
    threads: dict[tuple[Scope, str], tuple[UUID, datetime]] = field(default_factory=dict)  # episode, when it closes
    members: dict[UUID, UUID] = field(default_factory=dict)  # the episode of a record
    named_anew: set[UUID] = field(default_factory=set)  # entities whose names earlier records may hold
    doubtful: set[UUID] = field(default_factory=set)  # records to re-evaluate at the end of an operation
    notes: set[tuple[UUID, str]] = field(default_factory=set)  # what a capture did to earlier records
    now: datetime = _BEFORE

    def copy(self) -> State:
        return copy.deepcopy(self)

    def become(self, other: State) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def current(self, *types: str) -> list[Item]:
        return [item for item in self.items.values() if item.state in CURRENT and item.type in types]

    def add(
        self,
        id_: UUID,
        type_: str,
        where: Scope,
        content: dict[str, Any],
        *,
        occurred_at: datetime | None = None,
        sources: Mapping[str, datetime] | None = None,
        evidence: Collection[str] = (),
        half_life_s: float | None = None,
    ) -> Item:
        """Add a new record."""
        if id_ in self.items or id_ in self.gone:
            raise Impossible(f"a new {type_} under the id of one that is there: {id_}")
        item = Item(
            id=id_,
            type=type_,
            scope=where[0],
            sensitivity=where[1],
            content=content,
            t0=self.now,
            half_life_s=half_life_s or HALF_LIFE_S[type_],
            occurred_at=occurred_at or self.now,
            sources=dict(sources or {}),
            evidence=tuple(evidence),
        )
        self.items[id_] = item
        return item

    def derive(self, item: Item, refs: Iterable[UUID]) -> None:
        self.derived |= {(ref, item.id) for ref in refs if ref in self.items and ref != item.id}
        self.ever_derived |= self.derived

    def reinforce(self, item: Item) -> None:
        item.s, item.t0 = min(1.0, item.salience(self.now) + GAIN), self.now
        item.audit.append("reinforce")

    def withdraw(self, item: Item, state: str, *, by: UUID | None = None) -> None:
        """Supersede or retract a record."""
        item.state, item.s, item.t0 = state, 0.0, self.now
        item.version += 1
        item.superseded_by = by
        item.audit.append("supersede" if state == SUPERSEDED else "retract")
        if by is not None:
            self.replaced.add((by, item.id))

    @staticmethod
    def move(item: Item, state: str) -> None:
        """Contest a record, or make it active again."""
        item.state = state
        item.version += 1
        item.audit.append("contest" if state == CONTESTED else "revise")

    def disputes_of(self, ids: Collection[UUID]) -> list[tuple[UUID, UUID]]:
        return [dispute for dispute in self.disputes if dispute[0] in ids or dispute[1] in ids]

    def release(self, ids: Collection[UUID]) -> set[UUID]:
        """End the disputes of `ids`; return the records that were part of them."""
        ended = self.disputes_of(ids)
        self.disputes -= set(ended)
        return {end for dispute in ended for end in dispute}

    def parties(self, id_: UUID) -> set[UUID]:
        """Return the records of a whole dispute: all that are joined to the record by disputes, itself included."""
        found = {id_}
        while True:
            more = {end for dispute in self.disputes_of(found) for end in dispute} - found
            if not more:
                return found
            found |= more

    def dependents(self, ids: Collection[UUID]) -> set[UUID]:
        return {target for source, target in self.derived if source in ids}

    def propagate(self, causes: Collection[UUID]) -> None:
        self.doubtful |= self.dependents(causes)

    def reconsider(self, ids: Collection[UUID]) -> None:
        self.doubtful |= set(ids)
