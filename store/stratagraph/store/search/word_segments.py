"""Segments of the word index: the words of up to MAX_RECORDS records, in a form that arrays of numbers are read from.

A segment never changes, apart from the list of its removed records. It consists of a head and of blocks. The head has
the records by position, sorted by group and id; a group is what a search filters by, so that the records which a caller
may read are a few ranges of positions. A block has the postings of the terms that fall into one bucket: for each term
the positions of the records that have it, ascending, and its impacts there. See docs/decisions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from stratagraph.store.model.enums import MemoryType

MAX_RECORDS = 65_535  # in one segment; positions are 16-bit numbers
BLOCK_POSTINGS = 256  # in one block, about: 1.5 kB, of which four fit on a page
STEPS = 1 << 20  # impacts are multiples of 1 / STEPS, so that sums of their products with such weights are exact
LEAST, MOST = -(2**63), 2**63 - 1  # bounds of a validity without one, in microseconds since 1970
MAX_RANGES = 8  # ranges of readable positions; more are a mask
MAX_ACCESSES = 16  # of callers, whose readable positions a segment remembers, each in up to 64 kB
ENTRY = 1_000  # bytes of the objects around a piece of the index in memory, about
_POSTINGS = 600  # of those around the postings of one term
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GROUP = np.dtype([("scope", "<i4"), ("level", "<i2"), ("type", "u1"), ("past", "u1"), ("end", "<i4")])
_BOUNDED = np.dtype([("position", "<i4"), ("since", "<i8"), ("until", "<i8")])

Numbers = NDArray[Any]
_NOTHING: Numbers = np.empty(0, np.int64)


Interval: TypeAlias = tuple[datetime, datetime]  # from the first until before the second


class Held(NamedTuple):
    """Facts that are wanted besides those that hold now: they held at some time in one of the intervals.

    With `superseded`, superseded ones are included, and in a search by words those of them that held at other times.
    """

    intervals: Sequence[Interval] = ()
    superseded: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by which statements take these."""
        return {
            "since": [since for since, _ in self.intervals],
            "until": [until for _, until in self.intervals],
            "superseded": self.superseded,
        }


NONE_HELD = Held()


def microseconds(at: datetime) -> int:
    """Return an instant in microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Records and their words, as arrays: one element per record and, with `position` of the record, per posting.

    `high` and `low` are the halves of the ids; `since` and `until` bound the validity.
    """

    scope: Numbers
    level: Numbers
    type: Numbers
    past: Numbers
    high: Numbers
    low: Numbers
    since: Numbers
    until: Numbers
    term: Numbers
    position: Numbers
    impact: Numbers

    @property
    def records(self) -> int:
        return len(self.scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A segment as it is stored: its head, and its blocks one after another, with the bucket and the length of each."""

    records: int
    buckets: int
    groups: bytes
    ids: bytes
    bounds: tuple[UUID, UUID]  # the first and the last of the ids
    bounded: bytes
    block_buckets: list[int]
    block_lengths: list[int]
    blocks: bytes


@dataclass(frozen=True, slots=True)
class Postings:
    """The records of a segment that have a term, by position, its impacts there, and the largest of these."""

    positions: Numbers
    impacts: Numbers
    largest: float


class Block:
    """The postings of the terms of one bucket. The arrays are views of the stored bytes."""

    __slots__ = ("_ends", "_found", "_impacts", "_positions", "_stored", "_terms")

    def __init__(self, stored: bytes) -> None:
        count, postings = np.frombuffer(stored, "<u4", 2).tolist()
        self._terms = np.frombuffer(stored, "<u4", count, 8)
        self._ends = np.frombuffer(stored, "<u4", count, 8 + 4 * count)
        self._impacts = np.frombuffer(stored, "<f4", postings, 8 + 8 * count)
        self._positions = np.frombuffer(stored, "<u2", postings, 8 + 8 * count + 4 * postings)
        self._found: dict[int, Postings] = {}
        self._stored = len(stored)

    @property
    def size(self) -> int:
        """Bytes in memory, about: more with each term that was asked for and is there."""
        return ENTRY + self._stored + _POSTINGS * len(self._found)

    def postings(self, term: int) -> Postings | None:
        """Return the postings of a term, or None if no record of the segment has it."""
        found = self._found.get(term)
        if found is None:
            found = self._look_up(term)
            if found is not None:  # of terms that are not there, there is no end
                self._found[term] = found
        return found

    def _look_up(self, term: int) -> Postings | None:
        place = int(np.searchsorted(self._terms, np.uint32(term)))
        if place == len(self._terms) or self._terms[place] != term:
            return None
        start, end = (int(self._ends[place - 1]) if place else 0), int(self._ends[place])
        impacts = self._impacts[start:end]
        return Postings(self._positions[start:end], impacts, float(impacts.max()))

    def unpacked(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return the term, position and impact of every posting."""
        lengths = np.diff(self._ends, prepend=np.uint32(0))
        return np.repeat(self._terms, lengths), self._positions, self._impacts


@dataclass(frozen=True, slots=True)
class Readable:
    """The positions that a search may read: `count` of them within start and end, in ranges or by a mask from start.

    With neither, all between start and end are readable.
    """

    count: int
    start: int
    end: int
    ranges: tuple[tuple[int, int], ...] = ()
    mask: Numbers | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """The records that a search may read: those of scopes (None: of all) and levels, of types, and past ones if asked.

    With `facts`, past ones of facts alone.
    Scopes are ascending. `key` is equal for equal accesses of a process.
    """

    key: int
    scopes: Numbers | None
    ceiling: int
    types: tuple[int, ...]
    history: bool
    facts: bool


class Head:
    """The records of a segment by position."""

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> Self:
        """Return the head of a row of `word_segment`."""
        return cls(
            id_=row["id"],
            records=row["records"],
            buckets=row["buckets"],
            groups=row["groups"],
            ids=row["ids"],
            bounded=row["bounded"],
        )

    def __init__(self, *, id_: int, records: int, buckets: int, groups: bytes, ids: bytes, bounded: bytes) -> None:
        self.id = id_
        self.records = records
        self.buckets = buckets
        self._groups = np.frombuffer(groups, _GROUP)
        self._scopes = self._groups["scope"].copy()
        halves = np.frombuffer(ids, ">u8").reshape(-1, 2)
        self.high, self.low = halves[:, 0].astype(np.uint64), halves[:, 1].astype(np.uint64)
        self._bounded = np.frombuffer(bounded, _BOUNDED)
        self._first, self._last = self.high.min(), self.high.max()
        self._by_id: tuple[Numbers, Numbers] | None = None  # positions in the order of ids, and these ids' upper halves
        self._readable: dict[int, Readable] = {}
        # The groups and the bounds as they are stored, the scopes, and the halves of the ids apart.
        self._stored = len(groups) + self._scopes.nbytes + len(bounded) + self.high.nbytes + self.low.nbytes

    @property
    def size(self) -> int:
        """Bytes in memory, about: more with each access that has searched the segment, up to MAX_ACCESSES."""
        masks = sum(ENTRY + (found.mask.nbytes if found.mask is not None else 0) for found in self._readable.values())
        return ENTRY + self._stored + masks + sum(part.nbytes for part in self._by_id or ())

    def readable(self, access: Access) -> Readable:
        """Return the positions that a search may read."""
        if access.key not in self._readable:
            if len(self._readable) >= MAX_ACCESSES:
                self._readable.clear()
            self._readable[access.key] = self._readable_to(access)
        return self._readable[access.key]

    def _readable_to(self, access: Access) -> Readable:
        groups = self._groups
        places = self._groups_of(access.scopes)
        within = groups[places]
        reads = (within["level"] <= access.ceiling) & np.isin(within["type"], access.types)
        if not access.history:
            reads &= (within["past"] == 0) | (access.facts & (within["type"] == int(MemoryType.SEMANTIC)))
        chosen = np.zeros(len(groups), bool)
        chosen[places[reads]] = True
        edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
        borders = np.concatenate(([0], groups["end"]))[edges].reshape(-1, 2)
        if not len(borders):
            return Readable(0, 0, 0)
        start, end = int(borders[0, 0]), int(borders[-1, 1])
        count = int((borders[:, 1] - borders[:, 0]).sum())
        if count == end - start:
            return Readable(count, start, end)
        if len(borders) <= MAX_RANGES:
            return Readable(count, start, end, ranges=tuple((int(a), int(b)) for a, b in borders))
        lengths = np.diff(groups["end"], prepend=0)
        return Readable(count, start, end, mask=np.repeat(chosen, lengths)[start:end])

    def _groups_of(self, scopes: Numbers | None) -> Numbers:
        """Return the places of the groups of some scopes, ascending. There may be as many groups as records."""
        if scopes is None:
            return np.arange(len(self._groups))
        starts = np.searchsorted(self._scopes, scopes, "left")
        lengths = np.searchsorted(self._scopes, scopes, "right") - starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum())

    def invalid(self, intervals: Sequence[tuple[int, int]]) -> Numbers:
        """Return the positions of the facts that hold in none of some intervals, in microseconds since 1970."""
        bounded = self._bounded
        if not len(bounded):
            return _NOTHING
        outside = np.ones(len(bounded), bool)
        for since, until in intervals:
            outside &= (bounded["since"] >= until) | (bounded["until"] <= since)
        return bounded["position"][outside]

    def positions_of(self, high: Numbers, low: Numbers) -> Numbers:
        """Return the positions of those of the given ids, in halves, that are in the segment."""
        if not len(high) or high.max() < self._first or high.min() > self._last:
            return _NOTHING
        if self._by_id is None:
            order = np.lexsort((self.low, self.high))
            self._by_id = order, self.high[order]
        order, highs = self._by_id
        starts, ends = np.searchsorted(highs, high, "left"), np.searchsorted(highs, high, "right")
        found = []
        for number in np.flatnonzero(starts < ends).tolist():
            places = order[starts[number] : ends[number]]
            found.append(places[self.low[places] == low[number]])
        return np.concatenate(found) if found else _NOTHING

    def kept(self, removed: Numbers, blocks: Iterable[Block]) -> Words:
        """Return the records and words of the segment without the removed positions."""
        lengths = np.diff(self._groups["end"], prepend=0)
        by_record = np.repeat(self._groups, lengths)
        since, until = np.full(self.records, LEAST), np.full(self.records, MOST)
        since[self._bounded["position"]] = self._bounded["since"]
        until[self._bounded["position"]] = self._bounded["until"]
        stays = np.ones(self.records, bool)
        stays[removed] = False
        moved = np.cumsum(stays) - 1
        unpacked = [block.unpacked() for block in blocks]
        term, position, impact = (
            (np.concatenate(column) for column in zip(*unpacked, strict=True)) if unpacked else (np.empty(0, int),) * 3
        )
        held = stays[position.astype(np.int64)]
        return Words(
            scope=by_record["scope"][stays],
            level=by_record["level"][stays],
            type=by_record["type"][stays],
            past=by_record["past"][stays],
            high=self.high[stays],
            low=self.low[stays],
            since=since[stays],
            until=until[stays],
            term=term[held],
            position=moved[position[held].astype(np.int64)],
            impact=impact[held],
        )


def joined(parts: Sequence[Words]) -> Words:
    """Return the records of several in one, in this order."""
    starts = np.cumsum([0, *(part.records for part in parts[:-1])])

    def column(name: str) -> Numbers:
        return np.concatenate([getattr(part, name) for part in parts])

    names = ("scope", "level", "type", "past", "high", "low", "since", "until", "term", "impact")
    position = np.concatenate([part.position + start for part, start in zip(parts, starts, strict=True)])
    return Words(position=position, **{name: column(name) for name in names})


def encoded(words: Words) -> Encoded:
    """Return the segment of at most MAX_RECORDS records."""
    records = words.records
    order = np.lexsort((words.low, words.high, words.past, words.type, words.level, words.scope))
    new_position = np.empty(records, np.int64)
    new_position[order] = np.arange(records)
    group = np.empty(records, _GROUP)
    for name, values in (("scope", words.scope), ("level", words.level), ("type", words.type), ("past", words.past)):
        group[name] = values[order]
    group["end"] = 0
    last = np.flatnonzero(group[1:] != group[:-1])
    ends = np.append(last, records - 1)
    groups = group[ends]
    groups["end"] = ends + 1
    since, until = words.since[order], words.until[order]
    places = np.flatnonzero((since != LEAST) | (until != MOST))
    bounded = np.empty(len(places), _BOUNDED)
    bounded["position"], bounded["since"], bounded["until"] = places, since[places], until[places]
    buckets = _buckets(len(words.term))
    block_buckets, block_lengths, blocks = _blocks(words, new_position, buckets)
    by_id = np.lexsort((words.low, words.high))[[0, -1]]
    halves = zip(words.high[by_id].tolist(), words.low[by_id].tolist(), strict=True)
    first_id, last_id = (UUID(int=high << 64 | low) for high, low in halves)
    return Encoded(
        records=records,
        buckets=buckets,
        groups=groups.tobytes(),
        ids=np.stack([words.high[order], words.low[order]], axis=1).astype(">u8").tobytes(),
        bounds=(first_id, last_id),
        bounded=bounded.tobytes(),
        block_buckets=block_buckets,
        block_lengths=block_lengths,
        blocks=blocks,
    )


def _buckets(postings: int) -> int:
    """Return the number of buckets, a power of two: the bucket of a term is its number modulo that."""
    return 1 << max(0, (postings // BLOCK_POSTINGS).bit_length())


def _blocks(words: Words, new_position: Numbers, buckets: int) -> tuple[list[int], list[int], bytes]:
    if not len(words.term):
        return [], [], b""
    term = words.term.astype(np.uint64)
    position = new_position[words.position.astype(np.int64)].astype(np.uint64)
    bucket = term & np.uint64(buckets - 1)
    # A term number has 30 bits, and a position 16.
    order = np.argsort((bucket << np.uint64(46)) | (term << np.uint64(16)) | position)
    term, bucket = term[order].astype("<u4"), bucket[order].astype(np.int64)
    positions = position[order].astype("<u2")
    impacts = stepped(words.impact[order]).astype("<f4")
    ends_of_terms = np.append(np.flatnonzero(np.diff(term)), len(term) - 1) + 1
    used, first = np.unique(bucket[ends_of_terms - 1], return_index=True)
    lengths, parts, start = [], [], 0
    for a, b in zip(first.tolist(), [*first[1:].tolist(), len(ends_of_terms)], strict=True):
        ends = ends_of_terms[a:b]
        end = int(ends[-1])
        block = b"".join(
            (
                np.array([b - a, end - start], "<u4").tobytes(),
                term[ends - 1].tobytes(),
                (ends - start).astype("<u4").tobytes(),
                impacts[start:end].tobytes(),
                positions[start:end].tobytes(),
            )
        )
        parts.append(block)
        lengths.append(len(block))
        start = end
    return used.tolist(), lengths, b"".join(parts)


def stepped(values: Sequence[float] | Numbers) -> Numbers:
    """Return the values as multiples of 1 / STEPS."""
    return np.rint(np.asarray(values, np.float64) * STEPS) / STEPS


def unpacked_vectors(vectors: Iterable[bytes]) -> tuple[Numbers, Numbers, Numbers]:
    """Return the term, the place of its vector, and the impact, of each element of sparsevecs in binary form.

    A sparsevec is sent as three numbers, the second of which is that of its elements, then their indexes, from 0, and
    then their values.
    """
    terms: list[Numbers] = []
    impacts: list[Numbers] = []
    for sent in vectors:
        count = int.from_bytes(sent[4:8], "big")
        terms.append(np.frombuffer(sent, ">i4", count, 12))
        impacts.append(np.frombuffer(sent, ">f4", count, 12 + 4 * count))
    positions = np.repeat(np.arange(len(terms)), [len(each) for each in terms])
    return np.concatenate(terms).astype(np.int64) + 1, positions, np.concatenate(impacts).astype(np.float32)


def halves_of(ids: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the upper and lower halves of 128-bit ids."""
    mask: Callable[[int], int] = (2**64 - 1).__and__
    return np.array([id_ >> 64 for id_ in ids], np.uint64), np.array([mask(id_) for id_ in ids], np.uint64)
