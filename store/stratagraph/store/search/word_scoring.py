"""The records with the highest BM25 scores among the readable ones of segments. Pure.

The answer is exact: it depends on the readable records and the weights only, not on how records are divided into
segments. So hidden records change nothing but the work. To that end weights and impacts are multiples of 2⁻²⁰: the sums
of their products are exact, and so the same in any order. Equal scores are ordered by id.

Common terms that cannot alone lift a record among the best are looked up for those records only that others have lifted
far enough: H. Turtle and J. Flood, "Query evaluation: strategies and optimizations" (1995), known as MaxScore.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np

from stratagraph.store.search.word_segments import STEPS, Head, Numbers, Postings, Readable

FEW_POSTINGS = 1 / 16  # per record that may be read; with more in the other terms, common terms are read as a whole


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to search: its readable positions, those not to find, and for each term its postings, or None."""

    head: Head
    readable: Readable
    excluded: Numbers
    postings: Sequence[Postings | None]


def best_matches(sources: Sequence[Source], weights: Sequence[float], limit: int) -> list[tuple[UUID, float]]:
    """Return the ids and scores of the `limit` records with the highest scores above 0, best first.

    `weights` are those of the terms of `postings`. Equal scores are ordered by id.
    """
    best = _Best(limit)
    weights = [round(weight * STEPS) / STEPS for weight in weights]
    for source in sorted(sources, key=lambda source: source.readable.count, reverse=True):
        _score(source, weights, best)
    return best.ordered()


class _Best:
    """The best records so far. Once there are `limit`, those below `threshold` need not be added."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._scores: list[Numbers] = []
        self._high: list[Numbers] = []
        self._low: list[Numbers] = []
        self._count = 0
        self.threshold = 1 / STEPS**2  # the least score above 0

    def add(self, scores: Numbers, head: Head, positions: Numbers) -> None:
        if not len(scores):
            return
        if len(scores) > self._limit:
            least = np.partition(scores, len(scores) - self._limit)[len(scores) - self._limit]
            keep = scores >= least
            scores, positions = scores[keep], positions[keep]
        self._scores.append(scores)
        self._high.append(head.high[positions])
        self._low.append(head.low[positions])
        self._count += len(scores)
        if self._count > self._limit:
            self._cut()

    def _cut(self) -> None:
        scores, high, low = (np.concatenate(parts) for parts in (self._scores, self._high, self._low))
        self.threshold = float(np.partition(scores, len(scores) - self._limit)[len(scores) - self._limit])
        keep = np.flatnonzero(scores >= self.threshold)
        if len(keep) > 4 * self._limit:  # many equal scores
            keep = np.lexsort((low, high, -scores))[: self._limit]
        self._scores, self._high, self._low = [scores[keep]], [high[keep]], [low[keep]]
        self._count = len(keep)

    def ordered(self) -> list[tuple[UUID, float]]:
        if not self._scores:
            return []
        scores, high, low = (np.concatenate(parts) for parts in (self._scores, self._high, self._low))
        order = np.lexsort((low, high, -scores))[: self._limit]
        columns = (scores[order].tolist(), high[order].tolist(), low[order].tolist())
        return [(UUID(int=a << 64 | b), score) for score, a, b in zip(*columns, strict=True)]


class _Part(NamedTuple):
    """A term in one segment: its postings, its weight, and the most that it can add to a score."""

    positions: Numbers
    impacts: Numbers
    weight: float
    most: float

    def values(self, chosen: Numbers) -> Numbers:
        return np.multiply(self.impacts[chosen], self.weight, dtype=np.float64)


def _score(source: Source, weights: Sequence[float], best: _Best) -> None:
    readable = source.readable
    if not readable.count:
        return
    parts = [
        _Part(found.positions, found.impacts, weight, found.largest * weight)
        for found, weight in zip(source.postings, weights, strict=True)
        if found is not None
    ]
    parts.sort(key=lambda part: part.most)
    skipped, rest = 0, 0.0  # parts that alone cannot reach the threshold, and the most that they add
    while skipped < len(parts) and rest + parts[skipped].most < best.threshold:
        rest += parts[skipped].most
        skipped += 1
    if skipped == len(parts):
        return
    if sum(len(part.positions) for part in parts[skipped:]) > FEW_POSTINGS * source.head.records:
        skipped, rest = 0, 0.0
    sums = _sums(parts[skipped:], readable)
    inside = source.excluded[(source.excluded >= readable.start) & (source.excluded < readable.end)]
    sums[inside - readable.start] = 0
    if readable.mask is not None:
        np.multiply(sums, readable.mask, out=sums)
    found = np.flatnonzero(sums >= max(best.threshold - rest, 1 / STEPS**2))
    scores, positions = sums[found], found + readable.start
    for part in reversed(parts[:skipped]):
        if not len(scores):
            return
        keep = scores + rest >= best.threshold
        scores, positions = scores[keep], positions[keep]
        wanted = positions.astype(np.uint16)
        places = np.minimum(part.positions.searchsorted(wanted), len(part.positions) - 1)
        has = part.positions[places] == wanted
        scores[has] += part.values(places[has])
        rest -= part.most
    keep = scores >= best.threshold
    best.add(scores[keep], source.head, positions[keep])


def _sums(parts: Sequence[_Part], readable: Readable) -> Numbers:
    """Return the sums of the parts at the positions from start to end; with ranges, 0 outside of these."""
    slices: list[tuple[_Part, int, int]] = []
    borders = np.array(readable.ranges or (readable.start, readable.end), np.uint16).ravel()
    for part in parts:
        ends = part.positions.searchsorted(borders).tolist()
        slices += [(part, a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]
    total = sum(b - a for _, a, b in slices)
    positions, values = np.empty(total, np.intp), np.empty(total)
    at = 0
    for part, a, b in slices:
        to = at + b - a
        positions[at:to] = part.positions[a:b]
        np.multiply(part.impacts[a:b], part.weight, out=values[at:to], dtype=np.float64)
        at = to
    positions -= readable.start
    return np.bincount(positions, weights=values, minlength=readable.end - readable.start)
