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
from uuid import UUID

import numpy as np

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.words import sparsevec
from stratagraph.store.postgres.bulk import uuid_array
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, sending
from stratagraph.store.search.word_scoring import Source, best_matches
from stratagraph.store.search.word_segments import Access, Block, Head, Numbers, halves_of, microseconds

MAX_CHANGED = 2_000  # changes of records since the index was written; with more, it is not used
CACHE_BYTES = 256 << 20  # of segments and blocks in one process
MAX_ACCESSES = 1_000  # kinds of callers that are told apart without looking at their scopes
_HEAD = -1  # in place of a bucket
_NO_BLOCK = Block(bytes(8))


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment of the snapshot that a search reads."""

    id: int
    version: int
    buckets: int


@dataclass(frozen=True, slots=True)
class Searching:
    """A search whose statements, if it has any, are to be sent in the transaction that its counts were read in.

    `found` returns the ids and scores of the best records, best first, given the rows of each of `statements`.
    """

    statements: tuple[Sending, ...]
    found: Callable[[Sequence[Sequence[Row]]], list[tuple[UUID, float]]]


class WordIndex:
    """Searches the word indexes of one database. One per process; safe to call from many tasks.

    At most `cache_bytes` of it are kept in memory, those that were used last.
    """

    def __init__(self, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._most = cache_bytes
        self._size = 0
        self._kept: OrderedDict[tuple[int, int], Head | Block] = OrderedDict()
        self._buckets: defaultdict[int, set[int]] = defaultdict(set)  # of each segment, those that are kept
        self._removed: dict[int, tuple[int, Numbers]] = {}  # by segment: as of which version, and the positions
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
    ) -> Searching:
        """Return the search for the `limit` readable records with the highest scores above 0.

        `state` is the row of `reading`, of the same snapshot; `weights` are those of the terms. Equal scores are
        ordered by id. It needs no statement if nothing has changed and its blocks are in memory.
        """
        segments = [
            _Segment(*each) for each in zip(state["segments"], state["versions"], state["buckets"], strict=True)
        ]
        self._forget_others(caller.tenant.id, frozenset(segment.id for segment in segments))
        changed: list[UUID] = list(set(state["changed"]))
        pieces, missing = self._look_up(segments, weights)
        stale = [segment.id for segment in segments if self._removed.get(segment.id, (-1,))[0] != segment.version]
        removed = {segment.id: self._removed[segment.id][1] for segment in segments if segment.id not in stale}
        access = self._access(caller, types, history=history)

        def found(results: Sequence[Sequence[Row]]) -> list[tuple[UUID, float]]:
            new: list[tuple[UUID, float]] = []
            if results:
                scored, heads, blocks = results
                new = [(row["id"], -row["distance"]) for row in scored if row["distance"] < 0]
                removed.update(self._keep_removed(heads))
                pieces.update(self._keep(missing, heads, blocks))
            at = None if history else microseconds(now)
            sources = _sources(segments, pieces, removed, weights, access, changed=changed, at=at)
            best = best_matches(sources, list(weights.values()), limit)
            return sorted([*best, *new], key=lambda match: (-match[1], match[0]))[:limit] if new else best

        if not (changed or missing or stale):
            return Searching((), found)
        scoring = _scoring(caller, changed, weights, types=types, now=now, history=history, limit=limit)
        fetching = _fetching_heads(stale, [id_ for id_, bucket in missing if bucket == _HEAD])
        return Searching((scoring, fetching, _fetching_blocks([key for key in missing if key[1] != _HEAD])), found)

    def _look_up(
        self, segments: Iterable[_Segment], weights: Collection[int]
    ) -> tuple[dict[tuple[int, int], Head | Block], list[tuple[int, int]]]:
        """Return the heads and blocks that a search needs: those that are kept, and the keys of the others."""
        found: dict[tuple[int, int], Head | Block] = {}
        missing = []
        for segment in segments:
            for bucket in (_HEAD, *{term & segment.buckets - 1 for term in weights}):
                key = (segment.id, bucket)
                kept = self._kept.get(key)
                if kept is None:
                    missing.append(key)
                else:
                    self._kept.move_to_end(key)
                    found[key] = kept
        return found, missing

    def _keep_removed(self, rows: Iterable[Row]) -> dict[int, Numbers]:
        """Keep the positions of removed records of the segments in `rows`; return them by segment."""
        found = {row["id"]: (row["version"], np.array(row["removed"], np.int64)) for row in rows}
        self._removed |= found
        return {id_: removed for id_, (_, removed) in found.items()}

    def _keep(
        self, missing: Iterable[tuple[int, int]], heads: Iterable[Row], blocks: Iterable[Row]
    ) -> dict[tuple[int, int], Head | Block]:
        """Keep what was missing, within the bound; return it. A bucket without a row has no postings."""
        found: dict[tuple[int, int], Head | Block] = dict.fromkeys(missing, _NO_BLOCK)
        for row in heads:
            if row["groups"] is not None:
                found[row["id"], _HEAD] = Head(
                    id_=row["id"],
                    records=row["records"],
                    buckets=row["buckets"],
                    groups=row["groups"],
                    ids=row["ids"],
                    bounded=row["bounded"],
                )
        for row in blocks:
            found[row["segment"], row["bucket"]] = Block(row["postings"])
        for key, piece in found.items():
            if key not in self._kept:
                self._size += piece.size
            self._kept[key] = piece
            self._buckets[key[0]].add(key[1])
        while self._size > self._most and self._kept:
            self._drop(next(iter(self._kept)))
        return found

    def _drop(self, key: tuple[int, int]) -> None:
        piece = self._kept.pop(key)
        self._size -= piece.size
        self._buckets[key[0]].discard(key[1])

    def _forget_others(self, tenant: int, segments: frozenset[int]) -> None:
        """Drop what is kept of the segments that a tenant had: they were merged, and what was erased is left out."""
        for gone in self._segments.get(tenant, frozenset()) - segments:
            for bucket in tuple(self._buckets[gone]):
                self._drop((gone, bucket))
            self._buckets.pop(gone, None)
            self._removed.pop(gone, None)
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
    pieces: Mapping[tuple[int, int], Head | Block],
    removed: Mapping[int, Numbers],
    terms: Iterable[int],
    access: Access,
    *,
    changed: Iterable[UUID],
    at: int | None,
) -> list[Source]:
    """Return the segments with readable records, without those that were removed or changed, or do not hold `at`."""
    high, low = halves_of([id_.int for id_ in changed])
    found = []
    for segment in segments:
        head = pieces[segment.id, _HEAD]
        assert isinstance(head, Head)
        readable = head.readable(access)
        if not readable.count:
            continue
        excluded = [removed[segment.id], head.positions_of(high, low)]
        if at is not None:
            excluded.append(head.invalid(at))
        blocks = [(term, pieces[segment.id, term & segment.buckets - 1]) for term in terms]
        postings = [block.postings(term) for term, block in blocks if isinstance(block, Block)]
        found.append(Source(head, readable, np.concatenate(excluded), postings))
    return found


def _scoring(
    caller: Caller,
    changed: Sequence[UUID],
    weights: Mapping[int, float],
    *,
    types: Sequence[int],
    now: datetime,
    history: bool,
    limit: int,
) -> Sending:
    """Return the statement that scores the records which changed since the index was written."""
    return sending(
        "score_changed_records",
        {
            **caller.parameters(),
            "ids": uuid_array(changed),
            "terms": list(weights),
            "vector": sparsevec(sorted(weights.items())),
            "types": list(types),
            "now": now,
            "history": history,
            "limit": limit,
        },
    )


def _fetching_heads(segments: Collection[int], whole: Collection[int]) -> Sending:
    wanted = list({*segments, *whole})
    return sending("fetch_word_segments", {"segments": wanted, "whole": list(whole)}, binary=True)


def _fetching_blocks(keys: Collection[tuple[int, int]]) -> Sending:
    parameters = {"segments": [id_ for id_, _ in keys], "buckets": [bucket for _, bucket in keys]}
    return sending("fetch_word_blocks", parameters, binary=True)
