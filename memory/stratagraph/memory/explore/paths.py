"""The best paths from one record to another: a bounded search from both ends, then the best paths in what it found.

The search proceeds level by level, from whichever end has fewer records to expand, so a hub in the middle is reached
from both sides and never expanded. What it found is cut down to what lies between the ends and confirmed by Postgres
before paths are chosen, so that a record which no longer counts does not displace another path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import UUID

from stratagraph.memory.explore.answers import Path, Paths
from stratagraph.memory.explore.routes import Route, adjacency_of, best_routes
from stratagraph.memory.explore.session import EXPANDED, QuerySession, fan_out, joins
from stratagraph.memory.records.qualifiers import qualifiers
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.traversal.links import Link

HUBS = 20  # hubs named in one answer


async def find_paths(session: QuerySession, start: UUID, goal: UUID, *, k: int, max_hops: int) -> Paths | None:
    """Return up to `k` paths of at most `max_hops`: fewest hops first, then the heaviest, then by ids.

    There is no path from, to or over a superseded or retracted record, or a fact that does not hold now. None if the
    caller may not read both ends in full, or if one does not exist.
    """
    ends = await session.in_full([start, goal])
    if len(ends) < 2:
        return None
    search = _Search(session, start, goal)
    current = await session.current([start, goal])
    routes = await search.best(k, max_hops) if len(current) == len(ends) else []
    records = await session.shown({id_ for route in routes for id_ in route.ids})
    return Paths(
        paths=tuple(
            Path(
                sentence=_sentence(route, records),
                weight=route.weight,
                nodes=tuple(records[id_] for id_ in route.ids),
                relations=route.relations,
            )
            for route in routes
        ),
        reached=tuple(sorted(search.reached)),
        hubs=tuple(search.hubs),
        answered_by=session.answered_by,
        as_of=session.as_of,
    )


def _sentence(route: Route, records: Mapping[UUID, MemoryRecord]) -> str:
    """`Alice ←subject entity— Alice works at Acme —object entity→ Acme`: each relation in its own direction."""
    sentence = _named(records[route.ids[0]])
    for (near, far), relation in zip(pairwise(route.ids), route.relations, strict=True):
        predicate = relation.predicate.replace("_", " ")
        arrow = f"—{predicate}→" if relation.source == near else f"←{predicate}—"
        sentence += f" {arrow} {_named(records[far])}"
    return sentence


def _named(record: MemoryRecord) -> str:
    """Return the name of a record, followed by what qualifies it: `Alice works at Acme (contested)`."""
    found = qualifiers(record)
    return f"{record.name or '?'} ({', '.join(found)})" if found else record.name or "?"


@dataclass(slots=True)
class _Side:
    """The search from one end: hops and first link by record, and the records to expand next."""

    root: UUID
    frontier: list[UUID]
    hops: dict[UUID, int]
    first_link: dict[UUID, Link] = field(default_factory=dict)
    depth: int = 0

    def chain(self, id_: UUID) -> list[Link]:
        """Return the links over which the search first reached a record, in order from `root`."""
        links = []
        while id_ != self.root:
            links.append(self.first_link[id_])
            id_ = links[-1].near
        return links[::-1]


@dataclass(slots=True)
class _Search:
    """A search between two records, the limits that cut it, and hubs that it did not follow completely."""

    session: QuerySession
    start: UUID
    goal: UUID
    links: dict[tuple[UUID, UUID], Link] = field(default_factory=dict)  # by id and near end
    reached: set[str] = field(default_factory=set)
    hubs: list[UUID] = field(default_factory=list)
    at_limit: dict[UUID, _Side] = field(default_factory=dict)
    cut: set[UUID] = field(default_factory=set)  # those among them of which the engine did not read all links

    async def best(self, k: int, max_hops: int) -> list[Route]:
        sides = [_Side(end, [end], {end: 0}) for end in (self.start, self.goal)]
        routes: list[Route] = []
        for depth in range(1, max_hops + 1):
            await self._expand(*sorted(sides, key=lambda side: len(side.frontier)))
            exhausted = not all(side.frontier for side in sides)  # then paths of every length are known
            length = max_hops if exhausted else depth
            between = self._between(length)
            if between:
                routes = await self._choose(between, k, length)
            if len(routes) >= k or exhausted:
                break
        else:
            if len(routes) < k:
                self.reached.add("hops")
        await self._name_hubs()
        return routes

    async def _expand(self, side: _Side, other: _Side) -> None:
        most = fan_out(len(side.frontier))
        level = await self.session.links(side.frontier, most=most)
        self.cut |= self.session.cut
        for near in self.session.hubs(level, most):
            self.at_limit.setdefault(near, side)
        side.depth += 1
        frontier = []
        for link in level:
            self.links.setdefault((link.id, link.near), link)
            if link.far not in side.hops:
                side.hops[link.far], side.first_link[link.far] = side.depth, link
                if link.far != other.root:
                    frontier.append(link.far)
        if len(frontier) > EXPANDED:
            self.reached.add("nodes")
        side.frontier = frontier[:EXPANDED]

    def _between(self, length: int) -> list[Link]:
        """Return the links that lie on a path of at most `length` hops."""
        neighbours: dict[UUID, set[UUID]] = {}
        for link in self.links.values():
            neighbours.setdefault(link.near, set()).add(link.far)
            neighbours.setdefault(link.far, set()).add(link.near)
        from_start = _hops_from(neighbours, self.start, end=self.goal)
        from_goal = _hops_from(neighbours, self.goal, end=self.start)
        unreachable = length + 1
        return [
            link
            for link in self.links.values()
            if min(
                from_start.get(link.near, unreachable) + from_goal.get(link.far, unreachable),
                from_start.get(link.far, unreachable) + from_goal.get(link.near, unreachable),
            )
            < length
        ]

    async def _choose(self, between: Sequence[Link], k: int, length: int) -> list[Route]:
        heads = await self.session.current(end for link in between for end in (link.near, link.far))
        kept = [link.id for link in between if link.near in heads and link.far in heads]
        adjacency = adjacency_of((await self.session.relations(kept)).values())
        routes, complete = best_routes(adjacency, self.start, self.goal, k=k, max_hops=length)
        if not complete:
            self.reached.add("paths")
        return routes

    async def _name_hubs(self) -> None:
        """Name the hubs that Postgres confirms, together with every link on the way to them.

        A caller who may no longer see what led to a hub must not learn of it.
        """
        chains = {near: side.chain(near) for near, side in list(self.at_limit.items())[:HUBS]}
        links = [link for chain in chains.values() for link in chain]
        heads = await self.session.current([*chains, *(link.far for link in links)])
        relations = await self.session.relations(link.id for link in links)
        confirmed = [
            near
            for near, chain in chains.items()
            if near in heads
            and all(link.far in heads and link.id in relations and joins(relations[link.id], link) for link in chain)
        ]
        degrees = await self.session.degrees(confirmed)
        self.hubs = sorted(near for near in confirmed if near in self.cut or degrees[near] >= fan_out(EXPANDED))
        if self.hubs:
            self.reached.add("hubs")


def _hops_from(neighbours: Mapping[UUID, Iterable[UUID]], root: UUID, *, end: UUID) -> dict[UUID, int]:
    """Return the hops from `root` to each record, on paths that may lead to `end` but not through it."""
    hops = {root: 0}
    frontier = [root]
    while frontier:
        reached = []
        for near in frontier:
            for far in neighbours.get(near, ()) if near != end else ():
                if far not in hops:
                    hops[far] = hops[near] + 1
                    reached.append(far)
        frontier = reached
    return hops
