"""Choosing the best paths in a graph that is in memory. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from stratagraph.store.model.records import Relation

STEPS = 20_000  # partial paths followed while choosing; in a dense graph there may be many more
_DIGITS = 12  # decimals compared; products of the same weights in another order differ beyond these

Adjacency = Mapping[UUID, Mapping[UUID, Relation]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path that visits no record twice: n + 1 records, and the heaviest relation between each two, either way round.

    `weight` is the product of the relations' weights.
    """

    ids: tuple[UUID, ...]
    relations: tuple[Relation, ...]
    weight: float


def adjacency_of(relations: Iterable[Relation]) -> Adjacency:
    """Return the neighbours of each record with the heaviest relation between the two; of equal ones, the lowest id."""
    adjacency: dict[UUID, dict[UUID, Relation]] = {}
    for relation in sorted(relations, key=lambda relation: (-relation.weight, relation.id.int)):
        adjacency.setdefault(relation.source, {}).setdefault(relation.target, relation)
        adjacency.setdefault(relation.target, {}).setdefault(relation.source, relation)
    return adjacency


def best_routes(adjacency: Adjacency, start: UUID, goal: UUID, *, k: int, max_hops: int) -> tuple[list[Route], bool]:
    """Return the `k` best paths of at most `max_hops`, and whether the search was complete (within STEPS).

    The shortest paths are best, of these the heaviest, then the first by ids. Best-first search for each length: the
    weight of a partial path is bounded by the heaviest walk of just the missing length from its end to the goal, so the
    first paths that are completed are the best.
    """
    ahead = _heaviest_walks(adjacency, goal, max_hops)
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
                routes.append(_route(adjacency, ids, weight))
                continue
            steps += 1
            if steps > STEPS:
                return routes, False
            left = hops - len(ids)  # after the next step
            for far, relation in adjacency[ids[-1]].items():
                if far in ahead[left] and far not in ids:
                    passed = weight * relation.weight
                    bound = -round(passed * ahead[left][far], _DIGITS)
                    heapq.heappush(queue, (bound, (*key, far.int), passed, (*ids, far)))
        if len(routes) >= k:
            break
    return routes, True


def _heaviest_walks(adjacency: Adjacency, goal: UUID, max_hops: int) -> list[dict[UUID, float]]:
    """Return for each length the greatest product of weights of a walk to the goal, by the record it starts from."""
    walks: list[dict[UUID, float]] = [{goal: 1.0}]
    for _ in range(max_hops):
        longer: dict[UUID, float] = {}
        for near, product in walks[-1].items():
            for far, relation in adjacency.get(near, {}).items():
                if far != goal:
                    longer[far] = max(longer.get(far, 0.0), product * relation.weight)
        walks.append(longer)
    return walks


def _route(adjacency: Adjacency, ids: tuple[UUID, ...], weight: float) -> Route:
    relations = tuple(adjacency[near][far] for near, far in pairwise(ids))
    return Route(ids, relations, weight)
