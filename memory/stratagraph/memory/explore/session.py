"""The session of one graph question: an engine that finds links, and Postgres, which confirms them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.engines.service import AnsweredBy
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.links import Explorer, Link, degrees, relations_between

LEVEL_LINKS = 2_500  # links followed in one statement and direction
FAN_OUT = 100  # links followed per record and direction, where few records are expanded at once
LEAST_FAN_OUT = 10  # the same where many are
EXPANDED = 200  # records expanded per level; of more, the best
_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(slots=True)
class QuerySession:
    """The engine and reader that serve one question, as of the reader's instant.

    Records and relations that Postgres confirmed are remembered. `as_of` is the past instant that the answer is of;
    None for the present.
    """

    engine: Explorer
    caller: Caller
    reader: Reader
    answered_by: AnsweredBy
    as_of: datetime | None = None
    cut: set[UUID] = field(default_factory=set)
    _heads: dict[UUID, MemoryRecord | None] = field(default_factory=dict)
    _relations: dict[UUID, Relation | None] = field(default_factory=dict)

    async def links(
        self, frontier: Sequence[UUID], *, most: int, dependents: bool = False, excluded: Collection[UUID] = ()
    ) -> list[Link]:
        """Return the links of `frontier` as the engine has them, heaviest first; see `Explorer.links`.

        The records of which the engine has not read all links are added to `cut`.
        """
        if not frontier:
            return []
        links = await self.engine.links(
            self.caller, frontier, at=self.reader.now, most=most, dependents=dependents, excluded=excluded
        )
        self.cut |= links.cut
        return sorted(links.found, key=lambda link: (-link.weight, link.far.int, link.id.int, link.near.int))

    def hubs(self, links: Iterable[Link], most: int) -> list[UUID]:
        """Return the records that have more links than were followed, as far as `links` and `cut` tell.

        `links` are those that were followed, at most `most` per record and direction; each `cut` record is told once.
        """
        seen: dict[tuple[UUID, bool], int] = {}
        for link in links:
            key = (link.near, link.outgoing)
            seen[key] = seen.get(key, 0) + 1
        hubs = self.cut.union(near for (near, _), count in seen.items() if count >= most)
        self.cut = set()
        return sorted(hubs)

    async def in_full(self, ids: Sequence[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the records of `ids` that the caller may read in full, current or not."""
        found = await self.reader.records(ids)
        full = {id_: record for id_, record in found.items() if not record.redacted}
        self._heads.update((id_, full.get(id_)) for id_ in ids)
        return full

    async def current(self, ids: Iterable[UUID]) -> dict[UUID, MemoryRecord]:
        """Return heads of the records of `ids` that are current, facts that hold, and readable in full."""
        asked = list(dict.fromkeys(ids))
        unknown = [id_ for id_ in asked if id_ not in self._heads]
        if unknown:
            found = await self.read_heads(unknown)
            self._heads.update((id_, found.get(id_)) for id_ in unknown)
        heads = {id_: head for id_ in asked if (head := self._heads[id_]) is not None}
        return await self.only_current(heads)

    async def read_heads(self, ids: Sequence[UUID]) -> dict[UUID, MemoryRecord]:
        """Return heads of the records of `ids` that the caller may read in full."""
        return await self.reader.heads(ids)

    async def only_current(self, heads: dict[UUID, MemoryRecord]) -> dict[UUID, MemoryRecord]:
        """Return those of the heads that are current, of facts those that hold."""
        return {id_: head for id_, head in heads.items() if head.state in _CURRENT and head.holds_at(self.reader.now)}

    async def relations(self, ids: Iterable[UUID]) -> dict[UUID, Relation]:
        """Return the open relations among `ids`, which are ids of relations, that are visible to the caller."""
        asked = list(dict.fromkeys(ids))
        unknown = [id_ for id_ in asked if id_ not in self._relations]
        if unknown:
            found = {relation.id: relation for relation in await self.read_relations(unknown)}
            self._relations.update((id_, found.get(id_)) for id_ in unknown)
        known = ((id_, self._relations[id_]) for id_ in asked)
        return {id_: relation for id_, relation in known if relation is not None}

    async def read_relations(self, ids: Sequence[UUID]) -> Sequence[Relation]:
        """Return the relations of `ids` that are visible to the caller."""
        return await self.reader.relations(ids)

    async def confirmed(self, links: Collection[Link]) -> tuple[list[Link], dict[UUID, MemoryRecord]]:
        """Return those links that Postgres confirms, with its weights, and the heads of the records they lead to.

        Their near ends must be confirmed already. What Postgres found itself is not read again.
        """
        heads = await self.current(link.far for link in links)
        kept = [link for link in links if link.far in heads]
        if self.engine.is_truth:
            return kept, heads
        relations = await self.relations(link.id for link in kept)
        joined = {
            (link.id, link.near): link for link in kept if link.id in relations and joins(relations[link.id], link)
        }
        return [replace(link, weight=relations[link.id].weight) for link in joined.values()], heads

    async def shown(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the current records among `ids` with their content; redacted records are left out."""
        found = await self.reader.records(ids, current=True)
        return {id_: record for id_, record in found.items() if not record.redacted}

    async def degrees(self, ids: Collection[UUID]) -> dict[UUID, int]:
        """Return the number of relations the caller could follow from each of `ids`, counted up to DEGREE_CAP."""
        return await degrees(self.reader.connection, self.caller, ids, at=self.reader.now)

    async def between(self, ids: Collection[UUID], others: Collection[UUID], *, most: int) -> list[Relation]:
        """Return up to `most` relations between `ids`, or from these to `others`, heaviest first."""
        found = await relations_between(self.reader.connection, self.caller, ids, others, at=self.reader.now, most=most)
        relations = await self.relations(found)
        return [relations[id_] for id_ in found if id_ in relations]


def joins(relation: Relation, link: Link) -> bool:
    """Return whether `relation`, read from Postgres, has the same two ends as `link`, read from an engine.

    They differ if the mirror was changed by another program.
    """
    near, far = (relation.source, relation.target) if link.outgoing else (relation.target, relation.source)
    return (near, far) == (link.near, link.far)


def fan_out(frontier: int) -> int:
    """Return how many links are followed per record and direction when `frontier` records are expanded at once."""
    return max(LEAST_FAN_OUT, min(FAN_OUT, LEVEL_LINKS // max(1, frontier)))
