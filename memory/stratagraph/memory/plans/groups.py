"""Groups of steps, so that a plan of any size is shown as at most MAX_NODES nodes and MAX_LINKS links. No I/O.

A small enough plan is shown as it is. Of a larger one, first each chain becomes a group: steps that only follow each
other. If that is not enough, chains of the same rank are joined, or those of several neighbouring ranks; a chain is
cut only where it is all that there is. Links between groups are counted, and never lead back. A group can be shown by
itself, by the same rules, until only steps are left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from stratagraph.memory.plans.layout import Pair, by_rank, forward_links, ranks_of

MAX_NODES = 500  # shown at once
MAX_LINKS = 2_000  # shown at once; links of both kinds between the same two nodes count once


def grouped(ids: Sequence[str], links: Collection[Pair]) -> list[list[str]]:
    """Return the steps in groups, at most MAX_NODES, each step in exactly one of them; a group may be a single step.

    The result depends on the sets of `ids` and `links` alone. There are at least two groups if there are two steps.
    """
    nodes = sorted(set(ids))
    if fits(nodes, links):
        return [[id_] for id_ in nodes]
    forward = forward_links(nodes, links)
    chains = _chains(nodes, forward)
    if len(chains) == 1:
        return _cut(chains[0])
    if len(chains) <= MAX_NODES and _joined(chains, forward) <= MAX_LINKS:
        return chains
    columns = _columns(chains, forward)
    most = MAX_NODES
    while _joined(cells := _cells(columns, most), forward) > MAX_LINKS:
        most //= 2  # 62 groups have fewer links than that
    return cells


def fits(ids: Collection[str], links: Collection[Pair]) -> bool:
    """Return whether the steps and links can be shown as they are."""
    return len(ids) <= MAX_NODES and len(set(links)) <= MAX_LINKS


def _joined(groups: Sequence[Sequence[str]], links: Collection[Pair]) -> int:
    """Return the number of pairs of groups between which a link leads."""
    group = {id_: at for at, members in enumerate(groups) for id_ in members}
    return len({(group[source], group[target]) for source, target in links if group[source] != group[target]})


def _chains(nodes: Sequence[str], forward: Collection[Pair]) -> list[list[str]]:
    """Return the longest chains of steps of which each is the only one after the one before it, and the only before."""
    after: dict[str, list[str]] = {id_: [] for id_ in nodes}
    before: dict[str, list[str]] = {id_: [] for id_ in nodes}
    for source, target in forward:
        after[source].append(target)
        before[target].append(source)

    def continues(near: str, far: str) -> bool:
        return after[near] == [far] and before[far] == [near]

    chains = []
    for id_ in nodes:
        if len(before[id_]) == 1 and continues(before[id_][0], id_):
            continue  # not the first of its chain
        chain = [id_]
        while len(after[chain[-1]]) == 1 and continues(chain[-1], after[chain[-1]][0]):
            chain.append(after[chain[-1]][0])
        chains.append(chain)
    return chains


def _cut(chain: Sequence[str]) -> list[list[str]]:
    """Return a chain in the fewest parts of equal length that can each be shown as they are, at least two."""
    parts = min(MAX_NODES, max(2, -(-len(chain) // MAX_NODES)))
    bounds = [len(chain) * at // parts for at in range(parts + 1)]
    return [list(chain[start:end]) for start, end in pairwise(bounds)]


def _columns(chains: Sequence[Sequence[str]], forward: Collection[Pair]) -> list[list[Sequence[str]]]:
    """Return the chains by rank, where each chain counts as one step; those of a rank sorted by their first step."""
    first = {id_: chain[0] for chain in chains for id_ in chain}
    links = {(first[source], first[target]) for source, target in forward if first[source] != first[target]}
    chain_of = {chain[0]: chain for chain in chains}
    return [[chain_of[id_] for id_ in column] for column in by_rank(ranks_of(sorted(chain_of), links))]


def _cells(columns: Sequence[Sequence[Sequence[str]]], most: int) -> list[list[str]]:
    """Return the steps in at most `most` groups: ranks, cut into slices where there is room, or runs of ranks."""
    if len(columns) > most:
        run = -(-len(columns) // most)
        parts = [[chain for column in columns[at : at + run] for chain in column] for at in range(0, len(columns), run)]
    else:
        total = sum(len(column) for column in columns)
        parts = []
        for column in columns:
            slices = 1 + (len(column) - 1) * (most - len(columns)) // total
            bounds = [len(column) * at // slices for at in range(slices + 1)]
            parts += [list(column[start:end]) for start, end in pairwise(bounds)]
    return [[id_ for chain in part for id_ in chain] for part in parts]
