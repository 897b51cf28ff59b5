"""What the neighbours of a record say of a question. Pure.

A turn often answers what the turn before it asked, so words that a neighbour in the thread has count for the record as
well, less with each step between them. A record that callers have related to another, as a fix to the bug, is next to
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from stratagraph.memory.retrieve.coverage import Question

NEXT = 0.6  # part of a word's weight that the next event in the thread lends; each further step lends half of it
FURTHER = 0.5

# The neighbours of each record: those before it, those after it, and each related record, nearest first.
Neighbours = Mapping[UUID, Sequence[Sequence[UUID]]]


def sides(before: Sequence[UUID], after: Sequence[UUID], related: Sequence[UUID]) -> Sequence[Sequence[UUID]]:
    """Return a record's neighbours: those before it, those after it, and each related record, nearest first."""
    return [before, after, *([one] for one in related)]


def lent(question: Question, words: Mapping[UUID, int], neighbours: Neighbours) -> dict[UUID, float]:
    """Return the weight of the words that each record lacks and its neighbours have, reduced by their distance.

    `words` are those that each record has. Neighbours lend in both directions. The words of names are not lent: a
    thread about a person names it everywhere.
    """
    near: dict[UUID, list[int]] = {}  # the words of a record's neighbours, by distance
    for id_, around in neighbours.items():
        if id_ not in words:
            continue
        for side in around:
            for distance, other in enumerate(side):
                if other in words:
                    _add(near, id_, distance, words[other])
                    _add(near, other, distance, words[id_])
    return {id_: _weight(question, by_distance, words[id_] | question.names) for id_, by_distance in near.items()}


def lent_nearness(nearness: Mapping[UUID, float], neighbours: Neighbours) -> dict[UUID, float]:
    """Return what the nearness of each record's neighbours in meaning adds to its own, reduced by their distance.

    As with words, a neighbour lends only what neither the record nor nearer neighbours have: the part of its nearness
    that exceeds theirs.
    """
    near: dict[UUID, list[float]] = {}  # the greatest nearness of a record's neighbours, by distance
    for id_, around in neighbours.items():
        for side in around:
            for distance, other in enumerate(side):
                _raise(near, id_, distance, nearness.get(other, 0.0))
                _raise(near, other, distance, nearness.get(id_, 0.0))
    lent_ = {id_: _excess(by_distance, nearness.get(id_, 0.0)) for id_, by_distance in near.items()}
    return {id_: value for id_, value in lent_.items() if value > 0}


def _raise(near: dict[UUID, list[float]], id_: UUID, distance: int, value: float) -> None:
    if value > 0:
        by_distance = near.setdefault(id_, [])
        by_distance += [0.0] * (distance + 1 - len(by_distance))
        by_distance[distance] = max(by_distance[distance], value)


def _excess(by_distance: Sequence[float], seen: float) -> float:
    total, part = 0.0, NEXT
    for value in by_distance:
        total += part * max(0.0, value - seen)
        seen = max(seen, value)
        part *= FURTHER
    return total


def _add(near: dict[UUID, list[int]], id_: UUID, distance: int, words: int) -> None:
    by_distance = near.setdefault(id_, [])
    by_distance += [0] * (distance + 1 - len(by_distance))
    by_distance[distance] |= words


def _weight(question: Question, by_distance: Sequence[int], seen: int) -> float:
    total, part = 0.0, NEXT
    for words in by_distance:
        total += part * question.weight(words & ~seen)
        seen |= words
        part *= FURTHER
    return total
