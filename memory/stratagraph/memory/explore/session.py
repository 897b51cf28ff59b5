"""What one question stands on: an engine that finds, and the truth that decides what of it is so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.links import Explorer, Link, degrees, relations_between

LEVEL_LINKS = 5_000  # followed in one statement and direction
FAN_OUT = 100  # per record and direction, where few records are asked at once
LEAST_FAN_OUT = 10
EXPANDED = 200  # records expanded at once; the best of more
_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(slots=True)
class QuerySession:
    """One question's engine and reader. What the truth has confirmed is remembered."""

    engine: Explorer
    caller: Caller
    reader: Reader
    _heads: dict[UUID, MemoryRecord | None] = field(default_factory=dict)
    _relations: dict[UUID, Relation | None] = field(default_factory=dict)

    async def links(
        self, frontier: Sequence[UUID], *, most: int, dependents: bool = False, besides: Collection[UUID] = ()
    ) -> list[Link]:
        """Heaviest first, as both engines order them."""
        if not frontier:
            return []
        found = await self.engine.links(self.caller, frontier, most=most, dependents=dependents, besides=besides)
        found.sort(key=lambda link: (-link.weight, link.far.int, link.id.int, link.near.int))
        return found

    async def in_full(self, ids: Sequence[UUID]) -> dict[UUID, MemoryRecord]:
        """Those of the records asked about that are in full sight, current or not."""
        found = await self.reader.records(ids)
        full = {id_: record for id_, record in found.items() if not record.redacted}
        self._heads.update((id_, full.get(id_)) for id_ in ids)
        return full

    async def current(self, ids: Iterable[UUID]) -> dict[UUID, MemoryRecord]:
        """Heads of those of `ids` that are in full sight and part of the current truth."""
        asked = list(dict.fromkeys(ids))
        unknown = [id_ for id_ in asked if id_ not in self._heads]
        if unknown:
            found = await self.reader.heads(unknown)
            self._heads.update((id_, found.get(id_)) for id_ in unknown)
        heads = ((id_, self._heads[id_]) for id_ in asked)
        return {id_: head for id_, head in heads if head is not None and head.state in _CURRENT}

    async def relations(self, ids: Iterable[UUID]) -> dict[UUID, Relation]:
        """Those of the relations `ids` that live and show."""
        asked = list(dict.fromkeys(ids))
        unknown = [id_ for id_ in asked if id_ not in self._relations]
        if unknown:
            found = {relation.id: relation for relation in await self.reader.relations(unknown)}
            self._relations.update((id_, found.get(id_)) for id_ in unknown)
        known = ((id_, self._relations[id_]) for id_ in asked)
        return {id_: relation for id_, relation in known if relation is not None}

    async def confirmed(self, links: Collection[Link]) -> tuple[list[Link], dict[UUID, MemoryRecord]]:
        """The links that the truth has as well, and heads of their far ends. Their near ends are confirmed already."""
        heads = await self.current(link.far for link in links)
        kept = [link for link in links if link.far in heads]
        relations = await self.relations(link.id for link in kept)
        joined = {
            (link.id, link.near): link for link in kept if link.id in relations and joins(relations[link.id], link)
        }
        return [replace(link, weight=relations[link.id].weight) for link in joined.values()], heads

    async def shown(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Whole records, for the answer."""
        found = await self.reader.records(ids, current=True)
        return {id_: record for id_, record in found.items() if not record.redacted}

    async def degrees(self, ids: Collection[UUID]) -> dict[UUID, int]:
        return await degrees(self.reader.connection, self.caller, ids)

    async def between(self, ids: Collection[UUID], others: Collection[UUID], *, most: int) -> list[Relation]:
        found = await relations_between(self.reader.connection, self.caller, ids, others, most=most)
        relations = await self.relations(found)
        return [relations[id_] for id_ in found if id_ in relations]


def joins(relation: Relation, link: Link) -> bool:
    """Whether the truth has the relation between the same two, as whoever can write to the mirror may forget."""
    near, far = (relation.source, relation.target) if link.outgoing else (relation.target, relation.source)
    return (near, far) == (link.near, link.far)


def fan_out(frontier: int) -> int:
    """How many links are followed per record and direction when so many records are asked at once."""
    return max(LEAST_FAN_OUT, min(FAN_OUT, LEVEL_LINKS // max(1, frontier)))


def at_their_limit(links: Iterable[Link], most: int) -> list[UUID]:
    """Records that as many links were followed from as may be, in one direction: there may be more."""
    seen: dict[tuple[UUID, bool], int] = {}
    for link in links:
        key = (link.near, link.outgoing)
        seen[key] = seen.get(key, 0) + 1
    return sorted({near for (near, _), count in seen.items() if count >= most})
