"""The layout of a graph in ranks: which column each node is in, and which place within it. No I/O.

A link leads from a lower rank to a higher one. Links that close a circle are left out of the computation; a plan has
none, but a layout must not fail over stored data.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

SWEEPS = 4  # times that all ranks are reordered, in each direction

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is drawn: `rank` is its column and `order` its place in the column, both from 0."""

    rank: int
    order: int


def lay_out(ids: Iterable[str], links: Iterable[Pair]) -> dict[str, Place]:
    """Return the places of the nodes of a graph, by id in the order of rank and order.

    They depend on the sets of `ids` and `links` alone, not on the order in which these are given.
    The rank of a node is the number of links on the longest path that leads to it. The order within a rank is that with
    the fewest crossings of links between neighbouring ranks among those tried: by id, and by the mean position of the
    linked nodes. A forest whose links lead away from its roots has no crossings.
    """
    nodes = sorted(set(ids))
    forward = forward_links(nodes, links)
    before, after = _neighbours(nodes, forward)
    ranks = ranks_of(nodes, forward)
    columns = _ordered(ranks, before, after)
    return {id_: Place(rank, order) for rank, column in enumerate(columns) for order, id_ in enumerate(column)}


def longest_path(ids: Iterable[str], links: Iterable[Pair]) -> list[str]:
    """Return the nodes of the longest path of links, first to last; of several, the one whose last ids sort first."""
    nodes = sorted(set(ids))
    if not nodes:
        return []
    forward = forward_links(nodes, links)
    before, _ = _neighbours(nodes, forward)
    ranks = ranks_of(nodes, forward)
    last = min(nodes, key=lambda id_: (-ranks[id_], id_))
    path = [last]
    while ranks[last]:
        last = next(id_ for id_ in before[last] if ranks[id_] == ranks[last] - 1)
        path.append(last)
    return path[::-1]


def forward_links(nodes: Sequence[str], links: Iterable[Pair]) -> set[Pair]:
    """Return the links without those that close a circle when nodes are visited in their order, depth first."""
    known = set(nodes)
    after: dict[str, list[str]] = {id_: [] for id_ in nodes}
    for source, target in sorted(set(links)):
        if source in known and target in known:
            after[source].append(target)
    forward: set[Pair] = set()
    done: set[str] = set()
    for root in nodes:
        if root in done:
            continue
        path, on_path = [(root, iter(after[root]))], {root}  # from the root to the present node
        while path:
            near, following = path[-1]
            far = next(following, None)
            if far is None:
                path.pop()
                on_path.remove(near)
                done.add(near)
            elif far not in on_path:
                forward.add((near, far))
                if far not in done:
                    path.append((far, iter(after[far])))
                    on_path.add(far)
    return forward


def ranks_of(nodes: Sequence[str], forward: Collection[Pair]) -> dict[str, int]:
    """Return the number of links on the longest path to each node, over links without a circle."""
    before, after = _neighbours(nodes, forward)
    missing = {id_: len(before[id_]) for id_ in nodes}
    ranks = dict.fromkeys((id_ for id_ in nodes if not missing[id_]), 0)
    waiting = list(ranks)
    while waiting:
        near = waiting.pop()
        for far in after[near]:
            ranks[far] = max(ranks.get(far, 0), ranks[near] + 1)
            missing[far] -= 1
            if not missing[far]:
                waiting.append(far)
    return ranks


def by_rank(ranks: Mapping[str, int]) -> list[list[str]]:
    """Return the nodes of each rank, sorted by id."""
    columns: list[list[str]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for id_ in sorted(ranks):
        columns[ranks[id_]].append(id_)
    return columns


def crossings(columns: Sequence[Sequence[str]], links: Iterable[Pair]) -> int:
    """Return how many pairs of links between neighbouring columns cross."""
    at = {id_: (rank, order) for rank, column in enumerate(columns) for order, id_ in enumerate(column)}
    between: dict[int, list[tuple[int, int]]] = {}
    for source, target in links:
        (rank, order), (far_rank, far_order) = at[source], at[target]
        if far_rank == rank + 1:
            between.setdefault(rank, []).append((order, far_order))
    found = 0
    for pairs in between.values():
        above: list[int] = []  # ends of the links that begin above
        row: list[int] = []  # ends of those that begin at the same node, which cross none of each other
        last = -1
        for order, far_order in sorted(pairs):
            if order != last:
                for end in row:
                    insort(above, end)
                row, last = [], order
            found += len(above) - bisect_right(above, far_order)
            row.append(far_order)
    return found


def _neighbours(nodes: Iterable[str], forward: Iterable[Pair]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the nodes before and after each node."""
    before: dict[str, list[str]] = {id_: [] for id_ in nodes}
    after: dict[str, list[str]] = {id_: [] for id_ in nodes}
    for source, target in sorted(forward):
        before[target].append(source)
        after[source].append(target)
    return before, after


def _ordered(
    ranks: Mapping[str, int], before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Return the columns, each in the best order found."""
    columns = by_rank(ranks)
    links = [(source, target) for source, targets in after.items() for target in targets]
    best, fewest = columns, crossings(columns, links)
    for sweep in range(2 * SWEEPS):
        if not fewest:
            break
        columns = _swept(columns, before if sweep % 2 == 0 else after, downwards=sweep % 2 == 0)
        found = crossings(columns, links)
        if found < fewest:
            best, fewest = columns, found
    return best


def _swept(
    columns: Sequence[Sequence[str]], linked: Mapping[str, Sequence[str]], *, downwards: bool
) -> list[list[str]]:
    """Return the columns, each sorted by the mean height of the nodes linked on one side; the others keep theirs."""
    height = {id_: order - (len(column) - 1) / 2 for column in columns for order, id_ in enumerate(column)}
    swept = [list(column) for column in columns]
    for column in swept if downwards else reversed(swept):
        wanted = {
            id_: sum(height[far] for far in linked[id_]) / len(linked[id_]) if linked[id_] else height[id_]
            for id_ in column
        }
        column.sort(key=wanted.__getitem__)
        height |= {id_: order - (len(column) - 1) / 2 for order, id_ in enumerate(column)}
    return swept
