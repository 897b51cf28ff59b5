"""The records with the highest BM25 scores among the readable ones of segments. Pure.

The answer is exact: it depends on the readable records and the weights only, not on how records are divided into
segments. So hidden records change nothing but the work. To that end weights and impacts are multiples of 2⁻²⁰: the sums
of their products are exact, and so the same in any order. Equal scores are ordered by id.

Common terms that cannot alone lift a record among the best are looked up for those records only that others have lifted
far enough: H. Turtle and J. Flood, "Query evaluation: strategies and optimizations" (1995), known as MaxScore.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np

from stratagraph.store.search.word_segments import (
    MAX_RECORDS,
    STEPS,
    Head,
    Numbers,
    Postings,
    Readable,
    stepped,
    unpacked_vectors,
)

FEW_POSTINGS = 1 / 16  # per record of a segment: with more in the other terms, fewer terms are passed over
PASSED_OVER = 0.5  # of the threshold is the most that terms which are passed over then add together
MANY = 64  # records of a segment: with fewer, dropping some takes longer than looking up one more term for all
AT_ONCE = 8_192  # postings that are added at a time, about: more of them leave the processor's nearest cache


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to search: its readable positions, those not to find, and for each term its postings, or None.

    With `within`, ascending positions, no others are found.
    """

    head: Head
    readable: Readable
    excluded: Numbers
    postings: Sequence[Postings | None]
    within: Numbers | None = None


def positions_with(postings: Sequence[Postings | None]) -> Numbers:
    """Return the positions of the records that have all of some terms, given the postings of each."""
    found: Numbers | None = None
    for one in sorted(postings, key=lambda one: 0 if one is None else len(one.positions)):
        if one is None:
            return np.empty(0, np.uint16)
        found = one.positions if found is None else np.intersect1d(found, one.positions, assume_unique=True)
    return np.empty(0, np.uint16) if found is None else found


def best_matches(sources: Sequence[Source], weights: Sequence[float], limit: int) -> list[tuple[UUID, float]]:
    """Return the ids and scores of the `limit` records with the highest scores above 0, best first.

    `weights` are those of the terms of `postings`. Equal scores are ordered by id.
    """
    best = _Best(limit)
    weights = stepped(weights).tolist()
    for source in sorted(sources, key=lambda source: source.readable.count, reverse=True):
        _score(source, weights, best)
    return best.ordered()


def scored_vectors(vectors: Sequence[tuple[UUID, bytes]], weights: Mapping[int, float]) -> list[tuple[UUID, float]]:
    """Return the ids and scores of records that are in no segment, given as sparsevecs in binary form.

    The scores are those that the records will have in a segment. Records without any of the terms are left out.
    """
    if not vectors or not weights:
        return []
    terms, positions, impacts = unpacked_vectors([sent for _, sent in vectors])
    wanted = np.array(sorted(weights), np.int64)
    values = stepped([weights[term] for term in wanted.tolist()])
    places = np.minimum(wanted.searchsorted(terms), len(wanted) - 1)
    has = wanted[places] == terms
    parts = stepped(impacts[has]).astype(np.float32).astype(np.float64) * values[places[has]]
    sums = np.bincount(positions[has], weights=parts, minlength=len(vectors)).tolist()
    return [(id_, score) for (id_, _), score in zip(vectors, sums, strict=True) if score > 0]


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
        if self._count >= self._limit:
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

    def added(self, positions: Numbers) -> Numbers:
        """Return what the term adds to the scores of some records."""
        places = self.positions.searchsorted(positions)
        has = self.positions.take(places, mode="clip") == positions
        added: Numbers = np.multiply(self.impacts.take(places, mode="clip"), self.weight, dtype=np.float64)
        added *= has
        return added


def _score(source: Source, weights: Sequence[float], best: _Best) -> None:
    readable = source.readable
    if not readable.count or (source.within is not None and not len(source.within)):
        return
    parts = [
        _Part(found.positions, found.impacts, weight, found.largest * weight)
        for found, weight in zip(source.postings, weights, strict=True)
        if found is not None
    ]
    parts.sort(key=lambda part: part.most)
    skipped, rest = _passed_over(parts, source.head.records, best.threshold)
    if skipped == len(parts):
        return
    sums = _sums(parts[skipped:], readable, source.head.records)
    if len(source.excluded):
        inside = source.excluded[(source.excluded >= readable.start) & (source.excluded < readable.end)]
        sums[inside - readable.start] = 0
    found = (sums >= max(best.threshold - rest, 1 / STEPS**2)).nonzero()[0]
    if readable.mask is not None:
        found = found[readable.mask[found]]
    if source.within is not None:
        found = found[np.isin(found + readable.start, source.within)]
    scores, positions = sums[found], (found + readable.start).astype(np.uint16)
    for part in reversed(parts[:skipped]):
        if len(scores) > MANY:
            keep = scores + rest >= best.threshold
            scores, positions = scores[keep], positions[keep]
        scores += part.added(positions)
        rest -= part.most
    if skipped:
        keep = scores >= best.threshold
        scores, positions = scores[keep], positions[keep]
    best.add(scores, source.head, positions)


def _passed_over(parts: Sequence[_Part], records: int, threshold: float) -> tuple[int, float]:
    """Return how many of the parts, least first, are only looked up for the records that others lift far enough.

    And the most that they add. Together they cannot reach the threshold; where the other parts have many postings, only
    PASSED_OVER of it, so that few records remain to be looked up.
    """
    skipped, rest = 0, 0.0
    while skipped < len(parts) and rest + parts[skipped].most < threshold:
        rest += parts[skipped].most
        skipped += 1
    if sum([len(part.positions) for part in parts[skipped:]]) > FEW_POSTINGS * records:
        while skipped and rest > PASSED_OVER * threshold:
            skipped -= 1
            rest -= parts[skipped].most
    return skipped, rest if skipped else 0.0


def _sums(parts: Sequence[_Part], readable: Readable, records: int) -> Numbers:
    """Return the sums of the parts at the positions from start to end; with ranges, 0 outside of these."""
    slices: list[tuple[_Part, int, int]] = []
    if readable.ranges or readable.end - readable.start < records:
        borders = np.array(readable.ranges or (readable.start, readable.end), np.uint16).ravel()
        for part in parts:
            ends = part.positions.searchsorted(borders).tolist()
            slices += [(part, a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a < b]
    else:
        slices = [(part, 0, len(part.positions)) for part in parts]
    sums = _scratch.sums[: readable.end - readable.start]
    sums.fill(0)
    positions, values, at = _scratch.positions, _scratch.values, 0
    for part, a, b in slices:
        if at + b - a > AT_ONCE:
            _add(sums, readable.start, at)
            at = 0
        to = at + b - a
        positions[at:to] = part.positions[a:b]
        np.multiply(part.impacts[a:b], part.weight, out=values[at:to], dtype=np.float64)
        at = to
    _add(sums, readable.start, at)
    return sums


class _Scratch(threading.local):
    """Arrays that are used again for each segment: fresh ones of this size cost the kernel more than the sums do."""

    def __init__(self) -> None:
        self.sums = np.empty(MAX_RECORDS)
        self.positions, self.values = np.empty(MAX_RECORDS, np.intp), np.empty(MAX_RECORDS)


_scratch = _Scratch()


def _add(sums: Numbers, start: int, count: int) -> None:
    """Add the first `count` values of the scratch to the sums of their positions."""
    positions = _scratch.positions[:count]
    if start:
        positions -= start
    np.add.at(sums, positions, _scratch.values[:count])
