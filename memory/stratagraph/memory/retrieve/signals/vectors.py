"""Nearness to the question in meaning: of a record, and of its neighbours in the thread, reduced by their distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.weights import FURTHER, NEXT, WEIGHTS, Signal


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return the nearness of each record and its neighbours, as a share of the nearest record's.

    The nearest record has 1, as the best match of the words has: similarities of a model are in a narrow range, whose
    place depends on the question.
    """
    found: list[float | None] = [None] * len(rows.heads)
    best = max(rows.nearness.values(), default=0.0)
    if best <= 0 or not WEIGHTS[Signal.VECTORS]:
        return found
    near = {row: value / best for row, value in rows.nearness.items()}
    more = propagated(near, rows.neighbours) if WEIGHTS[Signal.THREAD] else {}
    for row in near.keys() | more.keys():
        found[row] = near.get(row, 0.0) + more.get(row, 0.0)
    return found


def propagated(nearness: Mapping[int, float], neighbours: Sequence[tuple[int, int, int]]) -> dict[int, float]:
    """Return what the nearness of each record's neighbours adds to its own, reduced by their distance.

    As with words, a neighbour adds only what neither the record nor nearer neighbours have: the part of its nearness
    that exceeds theirs.
    """
    near: dict[int, list[float]] = {}  # the greatest nearness of a record's neighbours, by distance
    for row, other, steps in neighbours:
        _raise(near, row, steps, nearness.get(other, 0.0))
        _raise(near, other, steps, nearness.get(row, 0.0))
    found = {row: _excess(by_distance, nearness.get(row, 0.0)) for row, by_distance in near.items()}
    return {row: value for row, value in found.items() if value > 0}


def _raise(near: dict[int, list[float]], row: int, steps: int, value: float) -> None:
    if value > 0:
        by_distance = near.setdefault(row, [])
        by_distance += [0.0] * (steps + 1 - len(by_distance))
        by_distance[steps] = max(by_distance[steps], value)


def _excess(by_distance: Sequence[float], seen: float) -> float:
    total, part = 0.0, NEXT
    for value in by_distance:
        total += part * max(0.0, value - seen)
        seen = max(seen, value)
        part *= FURTHER
    return total
