"""The best ways from one record to another: a bounded search from both ends, then the best paths in what it found.

The search is level by level, from whichever end has fewer records to expand, so that a hub in the middle is met from
both sides and never expanded. What it found is cut down to what lies between the ends and confirmed by the truth; only
then are paths chosen, so that one that is gone costs no other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import UUID

from stratagraph.memory.explore.session import EXPANDED, QuerySession, at_their_limit, fan_out, joins
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.traversal.links import Link

STEPS = 20_000  # partial paths looked at while choosing; loops may make them many
HUBS = 20  # named in one answer
_DIGITS = 12  # products of the same weights in another order differ behind that

Around = Mapping[UUID, Mapping[UUID, Relation]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path without loops: n + 1 records, and between each two the heaviest relation, in either direction."""

    ids: tuple[UUID, ...]
    relations: tuple[Relation, ...]
    weight: float

    def sentence(self, records: Mapping[UUID, MemoryRecord]) -> str:
        """`Alice ←subject entity— Alice works at Acme —object entity→ Acme`: each relation in its own direction."""
        said = records[self.ids[0]].name or "?"
        for (near, far), relation in zip(pairwise(self.ids), self.relations, strict=True):
            word = relation.predicate.replace("_", " ")
            arrow = f"—{word}→" if relation.source == near else f"←{word}—"
            said += f" {arrow} {records[far].name or '?'}"
        return said


@dataclass(slots=True)
class _Side:
    """The search from one end: hops by record, what led to it, and what to expand next."""

    root: UUID
    frontier: list[UUID]
    hops: dict[UUID, int]
    via: dict[UUID, Link] = field(default_factory=dict)
    depth: int = 0

    def chain(self, id_: UUID) -> list[Link]:
        """The links over which the search first came to a record, from the end on."""
        links = []
        while id_ != self.root:
            links.append(self.via[id_])
            id_ = links[-1].near
        return links[::-1]


@dataclass(slots=True)
class Search:
    """A search between two records, and what limits it met."""

    session: QuerySession
    start: UUID
    goal: UUID
    links: dict[tuple[UUID, UUID], Link] = field(default_factory=dict)  # by id and near end
    reached: set[str] = field(default_factory=set)
    hubs: list[UUID] = field(default_factory=list)
    _full: dict[UUID, _Side] = field(default_factory=dict)

    async def best(self, k: int, max_hops: int) -> list[Route]:
        """Up to `k` paths of at most `max_hops`: fewest hops first, then the heaviest, then by ids."""
        sides = [_Side(end, [end], {end: 0}) for end in (self.start, self.goal)]
        routes: list[Route] = []
        for depth in range(1, max_hops + 1):
            await self._expand(*sorted(sides, key=lambda side: len(side.frontier)))
            exhausted = not all(side.frontier for side in sides)  # then all ways are known, however long
            within = max_hops if exhausted else depth
            between = self._between(within)
            if between:
                routes = await self._choose(between, k, within)
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
        for near in at_their_limit(level, most):
            self._full.setdefault(near, side)
        side.depth += 1
        frontier = []
        for link in level:
            self.links.setdefault((link.id, link.near), link)
            if link.far not in side.hops:
                side.hops[link.far], side.via[link.far] = side.depth, link
                if link.far != other.root:
                    frontier.append(link.far)
        if len(frontier) > EXPANDED:
            self.reached.add("nodes")
        side.frontier = frontier[:EXPANDED]

    def _between(self, depth: int) -> list[Link]:
        """The links that lie on some way of at most `depth` hops."""
        around: dict[UUID, set[UUID]] = {}
        for link in self.links.values():
            around.setdefault(link.near, set()).add(link.far)
            around.setdefault(link.far, set()).add(link.near)
        ahead = _hops_from(around, self.start, besides=self.goal)
        behind = _hops_from(around, self.goal, besides=self.start)
        far = depth + 1  # of what cannot be reached
        return [
            link
            for link in self.links.values()
            if min(
                ahead.get(link.near, far) + behind.get(link.far, far),
                ahead.get(link.far, far) + behind.get(link.near, far),
            )
            < depth
        ]

    async def _choose(self, between: Sequence[Link], k: int, depth: int) -> list[Route]:
        heads = await self.session.current(end for link in between for end in (link.near, link.far))
        kept = [link.id for link in between if link.near in heads and link.far in heads]
        around = heaviest((await self.session.relations(kept)).values())
        routes, whole = best_routes(around, self.start, self.goal, k=k, max_hops=depth)
        if not whole:
            self.reached.add("paths")
        return routes

    async def _name_hubs(self) -> None:
        """Records from which not all was followed, if the truth has them so and the way to them too: whoever may no
        longer see what led there learns nothing of what lies behind."""
        chains = {near: side.chain(near) for near, side in list(self._full.items())[:HUBS]}
        links = [link for chain in chains.values() for link in chain]
        heads = await self.session.current([*chains, *(link.far for link in links)])
        relations = await self.session.relations(link.id for link in links)
        led = [
            near
            for near, chain in chains.items()
            if near in heads
            and all(link.far in heads and link.id in relations and joins(relations[link.id], link) for link in chain)
        ]
        degrees = await self.session.degrees(led)
        self.hubs = sorted(near for near in led if degrees[near] >= fan_out(EXPANDED))
        if self.hubs:
            self.reached.add("hubs")


def _hops_from(around: Mapping[UUID, Iterable[UUID]], root: UUID, *, besides: UUID) -> dict[UUID, int]:
    """Hops by record, on ways that `besides` may end but not lie on."""
    hops = {root: 0}
    frontier = [root]
    while frontier:
        reached = []
        for near in frontier:
            for far in around.get(near, ()) if near != besides else ():
                if far not in hops:
                    hops[far] = hops[near] + 1
                    reached.append(far)
        frontier = reached
    return hops


def heaviest(relations: Iterable[Relation]) -> Around:
    """Neighbours by record, each with the heaviest relation between the two, then the one with the lowest id."""
    around: dict[UUID, dict[UUID, Relation]] = {}
    for relation in sorted(relations, key=lambda relation: (-relation.weight, relation.id.int)):
        around.setdefault(relation.source, {}).setdefault(relation.target, relation)
        around.setdefault(relation.target, {}).setdefault(relation.source, relation)
    return around


def best_routes(around: Around, start: UUID, goal: UUID, *, k: int, max_hops: int) -> tuple[list[Route], bool]:
    """The `k` best paths without loops, and whether all that could be among them were looked at.

    Per length, best first: what is left of the way is bounded by the heaviest walk to the goal of just that length, so
    the first paths to arrive are the best.
    """
    ahead = _heaviest_walks(around, goal, max_hops)
    routes: list[Route] = []
    steps = 0
    for hops in range(1, max_hops + 1):
        if start not in ahead[hops]:
            continue
        queue: list[tuple[float, tuple[int, ...], float, tuple[UUID, ...]]] = [
            (-round(ahead[hops][start], _DIGITS), (start.int,), 1.0, (start,))
        ]
        while queue and len(routes) < k:
            _, key, weight, ids = heapq.heappop(queue)
            if ids[-1] == goal:
                routes.append(_route(around, ids, weight))
                continue
            steps += 1
            if steps > STEPS:
                return routes, False
            left = hops - len(ids)  # after the next step
            for far, relation in around[ids[-1]].items():
                if far in ahead[left] and far not in ids:
                    passed = weight * relation.weight
                    bound = -round(passed * ahead[left][far], _DIGITS)
                    heapq.heappush(queue, (bound, (*key, far.int), passed, (*ids, far)))
        if len(routes) >= k:
            break
    return routes, True


def _heaviest_walks(around: Around, goal: UUID, max_hops: int) -> list[dict[UUID, float]]:
    """By length: from where a walk of just that length leads to the goal, and the greatest product of its weights."""
    walks: list[dict[UUID, float]] = [{goal: 1.0}]
    for _ in range(max_hops):
        longer: dict[UUID, float] = {}
        for near, product in walks[-1].items():
            for far, relation in around.get(near, {}).items():
                if far != goal:
                    longer[far] = max(longer.get(far, 0.0), product * relation.weight)
        walks.append(longer)
    return walks


def _route(around: Around, ids: tuple[UUID, ...], weight: float) -> Route:
    relations = tuple(around[near][far] for near, far in pairwise(ids))
    return Route(ids, relations, weight)
