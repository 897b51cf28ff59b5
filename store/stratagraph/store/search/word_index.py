"""The word index as a process reads it: its segments and blocks, kept in memory within a bound.

Segments hold the words of all records of a tenant, readable or not. They are searched in this process, which masks what
the caller may not read before anything is summed or cut; row-level security applies again when the records that were
found are read. Of the records that changed since the index was last written, the words are read and scored here.

The answer is exact: it depends on the readable records and the weights only, not on how records are divided into
segments. So hidden records change nothing but the work. To that end weights and impacts are multiples of 2⁻²⁰: the sums
of their products are exact, and so the same in any order. Equal scores are ordered by id.

Common terms that cannot alone lift a record among the best are looked up for those records only that others have lifted
far enough: H. Turtle and J. Flood, "Query evaluation: strategies and optimizations" (1995), known as MaxScore.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import UUID

import numpy as np

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, sending
from stratagraph.store.search.word_segments import (
    ENTRY,
    MAX_RECORDS,
    NONE_HELD,
    STEPS,
    Access,
    Block,
    Head,
    Held,
    Numbers,
    Postings,
    Readable,
    halves_of,
    microseconds,
    stepped,
    unpacked_vectors,
)

MAX_CHANGED = 2_000  # readable changes of records since the index was written; with more, it is not used
CACHE_BYTES = 256 << 20  # of segments and blocks in one process
MAX_ACCESSES = 1_000  # kinds of callers that are told apart without looking at their scopes
_HEAD, _REMOVED = -1, -2  # in place of a bucket
_NO_BLOCK = Block(bytes(8))
_Key = tuple[int, int]  # a segment and a bucket
FEW_POSTINGS = 1 / 16  # per record of a segment: with more in the other terms, fewer terms are passed over
PASSED_OVER = 0.5  # of the threshold is the most that terms which are passed over then add together
MANY = 64  # records of a segment: with fewer, dropping some takes longer than looking up one more term for all
AT_ONCE = 8_192  # postings that are added at a time, about: more of them leave the processor's nearest cache


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment of the snapshot that a search reads."""

    id: int
    version: int
    buckets: int


@dataclass(frozen=True, slots=True)
class _Removed:
    """The positions of a segment's removed records, as of a version of the segment."""

    version: int
    positions: Numbers

    @property
    def size(self) -> int:
        return ENTRY + self.positions.nbytes


_Piece = Head | Block | _Removed


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A prepared search: the statements that it still sends, in the transaction of its counts, and how it scores.

    `found` returns the ids and scores of the best records, best first, given the rows of each of `statements`. `ahead`
    is what of it does not depend on them, if anything: called before, while they are run, it need not be done again.
    """

    statements: tuple[Sending, ...]
    found: Callable[[Sequence[Sequence[Row]]], list[tuple[UUID, float]]]
    ahead: Callable[[], object] | None = None


class WordIndex:
    """Searches the word indexes of one database. One per process; safe to call from many tasks.

    At most `cache_bytes` of it are kept in memory, those that were used last, with what searches have found in them.
    """

    def __init__(self, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._most = cache_bytes
        self._size = 0
        self._kept: OrderedDict[_Key, _Piece] = OrderedDict()
        self._counted: dict[_Key, int] = {}  # the size with which each piece is counted
        self._buckets: defaultdict[int, set[int]] = defaultdict(set)  # of each segment, those that are kept
        self._segments: dict[int, frozenset[int]] = {}  # by tenant
        self._accesses: dict[object, Access] = {}
        self._next_access = 0

    @staticmethod
    def reading() -> Sending:
        """Return the statement that reads which segments there are, and which records have changed since."""
        return sending("read_word_index", {"most": MAX_CHANGED})

    @staticmethod
    def is_current(state: Row) -> bool:
        """Return whether the index is to be searched, given the row of `reading`: few records have changed since."""
        return state["changed"] is not None

    def searching(
        self,
        caller: Caller,
        state: Row,
        weights: Mapping[int, float],
        *,
        types: Sequence[int],
        now: datetime,
        history: bool,
        held: Held = NONE_HELD,
        limit: int,
        required: Sequence[int] = (),
    ) -> PreparedSearch:
        """Return the search for the `limit` readable records with the highest scores above 0.

        With `required`, only records with all of these terms are found. For `history` and `held` see `WordSearch`.
        `state` is the row of `reading`, of the same snapshot; `weights` are those of the terms. Equal scores are
        ordered by id. It needs no statement if nothing has changed and its blocks are in memory.
        """
        segments = [
            _Segment(*each) for each in zip(state["segments"], state["versions"], state["buckets"], strict=True)
        ]
        tenant = caller.tenant.id
        self._forget_others(tenant, frozenset(segment.id for segment in segments))
        changed: list[UUID] = list(set(state["changed"]))
        weights = dict.fromkeys(required, 0.0) | dict(weights)
        pieces, missing = self._look_up(segments, weights)
        access = self._access(caller, types, history=history, facts=held.superseded)

        @cache
        def best() -> list[tuple[UUID, float]]:
            at = None if history else microseconds(now)
            sources = _sources(segments, pieces, weights, access, changed=changed, at=at, held=held, required=required)
            return best_matches(sources, list(weights.values()), limit)

        def found(results: Sequence[Sequence[Row]]) -> list[tuple[UUID, float]]:
            new: list[tuple[UUID, float]] = []
            left = list(results)
            if changed:
                new = scored_vectors([(row["id"], row["impacts"]) for row in left.pop(0)], weights)
            if missing:
                pieces.update(self._keep(tenant, missing, *left))
            known = best()
            self._count(pieces)
            return sorted([*known, *new], key=lambda match: (-match[1], match[0]))[:limit] if new else known

        statements: list[Sending] = []
        if changed:
            statements.append(
                _fetching_changed(
                    caller, changed, weights, types=types, now=now, history=history, held=held, required=required
                )
            )
        if missing:
            wanted = {id_ for id_, bucket in missing if bucket < 0}
            statements.append(_fetching_heads(wanted, [id_ for id_, bucket in missing if bucket == _HEAD]))
            statements.append(_fetching_blocks([key for key in missing if key[1] >= 0]))
        return PreparedSearch(tuple(statements), found, ahead=None if missing else best)

    def _look_up(self, segments: Iterable[_Segment], weights: Collection[int]) -> tuple[dict[_Key, _Piece], list[_Key]]:
        """Return the pieces that a search needs: those that are kept, and the keys of the others."""
        found: dict[_Key, _Piece] = {}
        missing = []
        for segment in segments:
            for bucket in (_HEAD, _REMOVED, *{term & segment.buckets - 1 for term in weights}):
                key = (segment.id, bucket)
                kept = self._kept.get(key)
                if kept is None or (isinstance(kept, _Removed) and kept.version != segment.version):
                    missing.append(key)
                else:
                    self._kept.move_to_end(key)
                    found[key] = kept
        return found, missing

    def _keep(
        self, tenant: int, missing: Iterable[_Key], heads: Iterable[Row], blocks: Iterable[Row]
    ) -> dict[_Key, _Piece]:
        """Return what was missing, and keep it. A bucket without a row has no postings.

        What another search has found to be merged in the meantime is not kept: nobody would ask for it, or drop it.
        """
        found: dict[_Key, _Piece] = dict.fromkeys(missing, _NO_BLOCK)
        for row in heads:
            found[row["id"], _REMOVED] = _Removed(row["version"], np.array(row["removed"], np.int64))
            if row["groups"] is not None:
                found[row["id"], _HEAD] = Head.of(row)
        for row in blocks:
            found[row["segment"], row["bucket"]] = Block(row["postings"])
        current = self._segments.get(tenant, frozenset())
        for key, piece in found.items():
            if key[0] in current:
                self._kept[key] = piece
                self._kept.move_to_end(key)
                self._counted.setdefault(key, 0)
                self._buckets[key[0]].add(key[1])
        return found

    def _count(self, pieces: Mapping[_Key, _Piece]) -> None:
        """Count the bytes of pieces that a search has used, which may have grown, and drop others beyond the bound."""
        for key, piece in pieces.items():
            counted = self._counted.get(key)
            if counted is not None and counted != piece.size:
                self._counted[key] = piece.size
                self._size += piece.size - counted
        while self._size > self._most and self._kept:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        self._kept.pop(key)
        self._size -= self._counted.pop(key)
        self._buckets[key[0]].discard(key[1])

    def _forget_others(self, tenant: int, segments: frozenset[int]) -> None:
        """Drop what is kept of the segments that a tenant had: they were merged, and what was erased is left out."""
        for gone in self._segments.get(tenant, frozenset()) - segments:
            for bucket in tuple(self._buckets[gone]):
                self._drop((gone, bucket))
            self._buckets.pop(gone, None)
        self._segments[tenant] = segments

    def _access(self, caller: Caller, types: Sequence[int], *, history: bool, facts: bool) -> Access:
        key = (caller.scopes, caller.ceiling, tuple(types), history, facts)
        if key not in self._accesses:
            if len(self._accesses) >= MAX_ACCESSES:
                self._accesses.clear()
            scopes = None if caller.scopes is None else np.array(sorted(caller.scopes), np.int32)
            self._next_access += 1
            self._accesses[key] = Access(self._next_access, scopes, int(caller.ceiling), tuple(types), history, facts)
        return self._accesses[key]


def _sources(
    segments: Iterable[_Segment],
    pieces: Mapping[_Key, _Piece],
    terms: Collection[int],
    access: Access,
    *,
    changed: Iterable[UUID],
    at: int | None,
    held: Held,
    required: Sequence[int],
) -> list[Source]:
    """Return the segments with readable records, without those that were removed or changed, or neither hold `at` nor
    in one of the intervals `held`.

    With `required`, each is limited to its records with all of these terms.
    """
    high, low = halves_of([id_.int for id_ in changed])
    found = []
    for segment in segments:
        head, removed = pieces[segment.id, _HEAD], pieces[segment.id, _REMOVED]
        assert isinstance(head, Head)
        assert isinstance(removed, _Removed)
        readable = head.readable(access)
        if not readable.count:
            continue
        excluded = [removed.positions, head.positions_of(high, low)]
        if at is not None:
            excluded.append(
                head.invalid([(at, at + 1), *((microseconds(a), microseconds(b)) for a, b in held.intervals)])
            )
        blocks = [(term, pieces[segment.id, term & segment.buckets - 1]) for term in terms]
        postings = [block.postings(term) for term, block in blocks if isinstance(block, Block)]
        within = None
        if required:
            by_term = dict(zip(terms, postings, strict=True))
            within = positions_with([by_term[term] for term in required])
        found.append(Source(head, readable, np.concatenate(excluded), postings, within))
    return found


def _fetching_changed(
    caller: Caller,
    changed: Sequence[UUID],
    terms: Iterable[int],
    *,
    types: Sequence[int],
    now: datetime,
    history: bool,
    held: Held,
    required: Sequence[int],
) -> Sending:
    """Return the statement that fetches the words of the records which changed since the index was written."""
    parameters = {
        "ids": list(changed),
        "terms": list(terms),
        "required": list(required),
        "types": list(types),
        "now": now,
        "history": history,
        **held.parameters,
    }
    return sending("fetch_changed_words", {**caller.parameters(), **parameters}, binary=True)


def _fetching_heads(segments: Collection[int], whole: Collection[int]) -> Sending:
    wanted = list({*segments, *whole})
    return sending("fetch_word_segments", {"segments": wanted, "whole": list(whole)}, binary=True)


def _fetching_blocks(keys: Collection[tuple[int, int]]) -> Sending:
    parameters = {"segments": [id_ for id_, _ in keys], "buckets": [bucket for _, bucket in keys]}
    return sending("fetch_word_blocks", parameters, binary=True)


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
