"""Which records of one group say the same: found by what they share, compared, and put together where all agree.

What is found depends on the records of the group alone, and not on the order in which they are looked at: from each
record, others are followed as long as they say the same, and such a cluster is merged only if each of it says the same
as each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from uuid import UUID

from stratagraph.memory.learning.duplicates.entities import (
    EntityProfile,
    Statement,
    compare_entities,
    entity_profile,
)
from stratagraph.memory.learning.duplicates.facts import FactProfile, compare_facts, fact_profile
from stratagraph.memory.learning.duplicates.name_keys import keys_of
from stratagraph.memory.learning.duplicates.signals import Comparison, Signal, clusters
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.learning.duplicates import (
    NameKeys,
    Pair,
    StoredStatement,
    fetch_objects,
    fetch_slots,
    fetch_statements,
    find_entities_alike,
    find_facts_of_one_object,
    find_rejected,
    ordered,
)
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.reading import Reader

MAX_FOLLOWED = 200  # others that one search looks at; a cluster that is not complete by then is not merged
MAX_CLUSTER = 50  # records merged into one


@dataclass(frozen=True, slots=True)
class Search:
    """The group in which is searched. `reader` reads its records, and no more sensitive ones.

    `is_sealed` is whether the names of its records are sealed at rest, and so have no keys. `known` has the records
    that were read; whoever changes any clears it.
    """

    connection: Connection
    tenant: Tenant
    group: Group
    reader: Reader
    is_sealed: bool
    known: dict[UUID, MemoryRecord | None] = field(default_factory=dict)

    async def active(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return those of the records that are active and in the group."""
        new = sorted(set(ids) - self.known.keys())
        if new:
            found = await self.reader.records(new)
            scope = (await self.reader.directory.scope_names([self.group.scope]))[self.group.scope]
            place = (scope, self.group.sensitivity, RecordState.ACTIVE)
            self.known.update(dict.fromkeys(new))
            self.known.update(
                (id_, record)
                for id_, record in found.items()
                if (record.scope, record.sensitivity, record.state) == place and not record.redacted
            )
        return {id_: record for id_ in sorted(ids) if (record := self.known[id_]) is not None}


@dataclass(slots=True)
class Found:
    """What was found: clusters to merge, each with its oldest record first, and pairs to be decided on.

    `followed` are the records of which all pairs were found, and `compared` all pairs that were compared.
    """

    merges: list[tuple[UUID, ...]] = field(default_factory=list)
    pairs: dict[Pair, Comparison] = field(default_factory=dict)
    followed: set[UUID] = field(default_factory=set)
    compared: dict[Pair, Comparison] = field(default_factory=dict)


class Kind(ABC):
    """How records of one type are found and compared."""

    type: MemoryType

    def __init__(self, search: Search) -> None:
        self._search = search
        self._created_at: dict[UUID, datetime] = {}

    @abstractmethod
    async def read(self, ids: Collection[UUID]) -> None:
        """Read the profiles of records that were not read yet. Those that are not active have none."""

    @abstractmethod
    async def candidates(self, ids: Collection[UUID]) -> set[Pair]:
        """Return pairs of a record of `ids`, which have been read, and another one of the group."""

    @abstractmethod
    def compare(self, pair: Pair) -> Comparison | None:
        """Return what is found about two records; None if they say different things, or one has no profile."""

    async def find(self, ids: Collection[UUID]) -> Found:
        """Return what is found about the records `ids` and those that say the same as they do."""
        found = Found()
        considered: set[Pair] = set()
        frontier = set(ids)
        while frontier and len(found.followed) <= len(ids) + MAX_FOLLOWED:
            await self.read(frontier)
            found.followed |= frontier
            new = await self.candidates(sorted(frontier)) - considered
            considered |= new
            await self._compare(new, found)
            frontier = {id_ for pair in _same(found) if pair in new for id_ in pair} - found.followed
        # Not every two of a cluster find each other by what others are found by.
        within = {pair for cluster in clusters(_same(found)) for pair in combinations(cluster[:MAX_CLUSTER], 2)}
        await self._compare(within - considered, found)
        self._decide(found, unfinished=frontier)
        return found

    async def _compare(self, pairs: set[Pair], found: Found) -> None:
        """Compare the pairs, but for those that were rejected."""
        await self.read({id_ for pair in pairs for id_ in pair})
        alike = {pair: one for pair in pairs if (one := self.compare(pair)) is not None}
        rejected = await find_rejected(self._search.connection, self._search.tenant, alike) if alike else set()
        found.compared |= {pair: one for pair, one in sorted(alike.items()) if pair not in rejected}

    def _decide(self, found: Found, *, unfinished: Collection[UUID]) -> None:
        """Divide what was compared into clusters to merge and pairs to be decided on.

        A cluster is merged if any two of it say the same. Those of `unfinished` may have others that were not found.
        """
        compared = found.compared
        same = _same(found)
        found.pairs = {pair: one for pair, one in compared.items() if one.is_listed and not one.is_merged}
        for cluster in clusters(same):
            agrees = all(pair in compared and compared[pair].is_merged for pair in combinations(cluster, 2))
            if agrees and len(cluster) <= MAX_CLUSTER and not set(cluster) & set(unfinished):
                found.merges.append(tuple(sorted(cluster, key=lambda id_: (self._created_at[id_], id_))))
            else:
                found.pairs |= {pair: compared[pair].but(Signal.AMBIGUOUS) for pair in same if pair[0] in cluster}


def _same(found: Found) -> list[Pair]:
    """Return the pairs that say the same, in order."""
    return [pair for pair, one in sorted(found.compared.items()) if one.is_merged]


class Entities(Kind):
    """Entities, found by names and by facts that they share."""

    type = MemoryType.ENTITY

    def __init__(self, search: Search) -> None:
        super().__init__(search)
        self._profiles: dict[UUID, EntityProfile | None] = {}
        self._names: dict[UUID, NameKeys | None] = {}

    async def read(self, ids: Collection[UUID]) -> None:
        new = set(ids) - self._profiles.keys()
        if not new:
            return
        records = {id_: one for id_, one in (await self._search.active(new)).items() if one.type is self.type}
        statements = await fetch_statements(self._search.connection, self._search.group, records)
        self._profiles |= dict.fromkeys(new)
        for id_, record in records.items():
            said = frozenset(_statement(one) for one in statements.get(id_, ()))
            self._profiles[id_] = entity_profile(record, said)
            self._created_at[id_] = record.created_at
            # A name that is sealed at rest has no keys.
            self._names[id_] = None if self._search.is_sealed else keys_of((record.payload or {})["canonical_name"])

    async def candidates(self, ids: Collection[UUID]) -> set[Pair]:
        names = {id_: self._names[id_] for id_ in ids if id_ in self._names}
        if not names:
            return set()
        return await find_entities_alike(self._search.connection, self._search.tenant, self._search.group, names)

    def compare(self, pair: Pair) -> Comparison | None:
        one, other = (self._profiles.get(id_) for id_ in pair)
        return compare_entities(one, other) if one is not None and other is not None else None


class Facts(Kind):
    """Facts about one subject, found by an equal predicate or an equal object."""

    type = MemoryType.SEMANTIC

    def __init__(self, search: Search) -> None:
        super().__init__(search)
        self._profiles: dict[UUID, FactProfile | None] = {}

    async def read(self, ids: Collection[UUID]) -> None:
        new = set(ids) - self._profiles.keys()
        if not new:
            return
        records = {id_: one for id_, one in (await self._search.active(new)).items() if one.type is self.type}
        objects = await fetch_objects(self._search.connection, self._search.tenant, records)
        self._profiles |= dict.fromkeys(new)
        for id_, record in records.items():
            self._profiles[id_] = fact_profile(record, objects.get(id_))
            self._created_at[id_] = record.created_at

    async def candidates(self, ids: Collection[UUID]) -> set[Pair]:
        """Return pairs with an equal object, and those with an equal predicate that say something alike."""
        found = await find_facts_of_one_object(self._search.connection, self._search.group, ids)
        slots = await fetch_slots(self._search.connection, self._search.group, ids)
        await self.read({id_ for members in slots for id_ in members})
        asked = set(ids)
        for members in slots:
            for one in asked.intersection(members):
                found |= {
                    pair for other in members if other != one and self.compare(pair := ordered(one, other)) is not None
                }
        return found

    def compare(self, pair: Pair) -> Comparison | None:
        one, other = (self._profiles.get(id_) for id_ in pair)
        return compare_facts(one, other) if one is not None and other is not None else None


def _statement(said: StoredStatement) -> Statement:
    """Return a fact about an entity without the entity. Conditions and validity are part of what it says."""
    return Statement(
        predicate=said.predicate_key + said.condition_key + said.stated_key,
        rest=said.object_entity.bytes if said.object_entity is not None else said.value_key or b"",
        is_single=said.single_valued,
    )
