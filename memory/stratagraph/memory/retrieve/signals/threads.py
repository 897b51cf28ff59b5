"""The scores of a record's neighbours: a turn often answers what the turn before it asked.

What a neighbour in the thread scores counts for the record as well, less with each step between them. A record that
callers have related to another, as a fix to the bug, is next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.weights import FURTHER, NEXT, WEIGHTS, Signal


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return the BM25 scores of each record's neighbours, reduced by their distance."""
    found: list[float | None] = [None] * len(rows.words)
    if not WEIGHTS[Signal.THREAD]:
        return found
    distances: dict[tuple[int, int], int] = {}
    for row, other, steps in rows.neighbours:
        for pair in ((row, other), (other, row)):
            distances[pair] = min(steps, distances.get(pair, steps))
    for (row, other), steps in distances.items():
        score = rows.heads[other].score
        if score > 0:
            found[row] = (found[row] or 0.0) + NEXT * FURTHER**steps * score
    return found


def lent(asked: Asked, rows: Rows) -> Mapping[int, Sequence[int]]:
    """Return the words that each record lacks and its neighbours have, as bits, by their distance.

    Words pass in both directions. Those of names do not: a thread about a person names it everywhere.
    """
    near: dict[int, list[int]] = {}
    for row, other, steps in rows.neighbours:
        _add(near, row, steps, rows.words[other])
        _add(near, other, steps, rows.words[row])
    return {
        row: by_distance
        for row, words in near.items()
        if any(by_distance := [*_further(words, rows.words[row] | asked.question.names)])
    }


def _add(near: dict[int, list[int]], row: int, steps: int, words: int) -> None:
    by_distance = near.setdefault(row, [])
    by_distance += [0] * (steps + 1 - len(by_distance))
    by_distance[steps] |= words


def _further(by_distance: Iterable[int], seen: int) -> Iterator[int]:
    for words in by_distance:
        yield words & ~seen
        seen |= words
