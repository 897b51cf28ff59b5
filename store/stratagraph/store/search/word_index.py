"""The word index as a process reads it: its segments and blocks, kept in memory within a bound.

Segments hold the words of all records of a tenant, readable or not. They are searched in this process, which masks what
the caller may not read before anything is summed or cut; row-level security applies again when the records that were
found are read. Records that changed since the index was last written are scored by the database.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

import numpy as np

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, sending
from stratagraph.store.search.word_scoring import Source, best_matches, positions_with, scored_vectors
from stratagraph.store.search.word_segments import ENTRY, Access, Block, Head, Numbers, halves_of, microseconds

MAX_CHANGED = 2_000  # readable changes of records since the index was written; with more, it is not used
CACHE_BYTES = 256 << 20  # of segments and blocks in one process
MAX_ACCESSES = 1_000  # kinds of callers that are told apart without looking at their scopes
_HEAD, _REMOVED = -1, -2  # in place of a bucket
_NO_BLOCK = Block(bytes(8))
_Key = tuple[int, int]  # a segment and a bucket


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
class Searching:
    """A search whose statements, if it has any, are to be sent in the transaction that its counts were read in.

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
        limit: int,
        required: Sequence[int] = (),
    ) -> Searching:
        """Return the search for the `limit` readable records with the highest scores above 0.

        With `required`, only records with all of these terms are found.
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
        access = self._access(caller, types, history=history)

        @cache
        def best() -> list[tuple[UUID, float]]:
            at = None if history else microseconds(now)
            sources = _sources(segments, pieces, weights, access, changed=changed, at=at, required=required)
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
                _fetching_changed(caller, changed, weights, types=types, now=now, history=history, required=required)
            )
        if missing:
            wanted = {id_ for id_, bucket in missing if bucket < 0}
            statements.append(_fetching_heads(wanted, [id_ for id_, bucket in missing if bucket == _HEAD]))
            statements.append(_fetching_blocks([key for key in missing if key[1] >= 0]))
        return Searching(tuple(statements), found, ahead=None if missing else best)

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

    def _access(self, caller: Caller, types: Sequence[int], *, history: bool) -> Access:
        key = (caller.scopes, caller.ceiling, tuple(types), history)
        if key not in self._accesses:
            if len(self._accesses) >= MAX_ACCESSES:
                self._accesses.clear()
            scopes = None if caller.scopes is None else np.array(sorted(caller.scopes), np.int32)
            self._next_access += 1
            self._accesses[key] = Access(self._next_access, scopes, int(caller.ceiling), tuple(types), history)
        return self._accesses[key]


def _sources(
    segments: Iterable[_Segment],
    pieces: Mapping[_Key, _Piece],
    terms: Collection[int],
    access: Access,
    *,
    changed: Iterable[UUID],
    at: int | None,
    required: Sequence[int],
) -> list[Source]:
    """Return the segments with readable records, without those that were removed or changed, or do not hold `at`.

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
            excluded.append(head.invalid(at))
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
    }
    return sending("fetch_changed_words", {**caller.parameters(), **parameters}, binary=True)


def _fetching_heads(segments: Collection[int], whole: Collection[int]) -> Sending:
    wanted = list({*segments, *whole})
    return sending("fetch_word_segments", {"segments": wanted, "whole": list(whole)}, binary=True)


def _fetching_blocks(keys: Collection[tuple[int, int]]) -> Sending:
    parameters = {"segments": [id_ for id_, _ in keys], "buckets": [bucket for _, bucket in keys]}
    return sending("fetch_word_blocks", parameters, binary=True)
