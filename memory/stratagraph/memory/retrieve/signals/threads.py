"""Words that the neighbours of a record have, and it lacks.

A turn often answers what the turn before it asked, so words that a neighbour in the thread has count for the record as
well, less with each step between them. A record that callers have related to another, as a fix to the bug, is next to
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.question import Question
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


def lent(asked: Asked, rows: Rows) -> list[float | None]:
    """Return the weight of the words that each record lacks and its neighbours have, reduced by their distance.

    Words pass in both directions. Those of names do not: a thread about a person names it everywhere.
    """
    question, words = asked.question, rows.words
    found: list[float | None] = [None] * len(words)
    if not WEIGHTS[Signal.THREAD]:
        return found
    near: dict[int, list[int]] = {}  # the words of a record's neighbours, by distance
    for row, other, steps in rows.neighbours:
        _add(near, row, steps, words[other])
        _add(near, other, steps, words[row])
    for row, by_distance in near.items():
        found[row] = _weight(question, by_distance, words[row] | question.names)
    return found


def _add(near: dict[int, list[int]], row: int, steps: int, words: int) -> None:
    by_distance = near.setdefault(row, [])
    by_distance += [0] * (steps + 1 - len(by_distance))
    by_distance[steps] |= words


def _weight(question: Question, by_distance: Sequence[int], seen: int) -> float:
    total, part = 0.0, NEXT
    for words in by_distance:
        total += part * question.weight(words & ~seen)
        seen |= words
        part *= FURTHER
    return total
