"""What a process keeps of the word index: bounded, counted as large as it is, and nothing of segments that are gone."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import numpy as np
from fix_examples import examples
from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.keys.callers import Caller
from stratagraph.store.search.word_index import PreparedSearch, WordIndex, best_matches, scored_vectors
from stratagraph.store.search.word_segments import LEAST, MOST, Encoded, Words, encoded, halves_of, unpacked_vectors

Rows = list[dict[str, Any]]
CALLER = cast(
    Caller,
    SimpleNamespace(
        tenant=SimpleNamespace(id=7),
        scopes=None,
        ceiling=4,
        parameters=lambda: {"tenant": 7, "all_scopes": True, "scopes": [], "ceiling": 4},
    ),
)


def sent(impacts: Mapping[int, float]) -> bytes:
    """Return a sparsevec as the database sends it."""
    terms = sorted(impacts)
    head = struct.pack(">3i", 10**9, len(terms), 0)
    return head + struct.pack(f">{len(terms)}i{len(terms)}f", *(t - 1 for t in terms), *(impacts[t] for t in terms))


def segment_of(records: Mapping[UUID, Mapping[int, float]]) -> Encoded:
    """Return the segment of unscoped turns with these words."""
    high, low = halves_of([id_.int for id_ in records])
    number = len(records)
    term, position, impact = unpacked_vectors([sent(words) for words in records.values()])
    zeros = np.zeros(number, np.int64)
    bounds = np.full(number, LEAST), np.full(number, MOST)
    return encoded(
        Words(
            scope=zeros,
            level=zeros,
            type=zeros + 1,
            past=zeros,
            high=high,
            low=low,
            since=bounds[0],
            until=bounds[1],
            term=term,
            position=position,
            impact=impact,
        )
    )


class Stored:
    """The segments of a tenant, and what the database answers to a search of them."""

    def __init__(self, segments: Mapping[int, Encoded]) -> None:
        self.segments = segments

    @property
    def state(self) -> dict[str, Any]:
        ids = list(self.segments)
        buckets = [one.buckets for one in self.segments.values()]
        return {"segments": ids, "versions": [1] * len(ids), "buckets": buckets, "changed": []}

    def begin(self, index: WordIndex, weights: Mapping[int, float]) -> PreparedSearch:
        return index.searching(CALLER, self.state, weights, types=[1], now=NOON, history=False, limit=10)

    def answer(self, search: PreparedSearch) -> list[tuple[UUID, float]]:
        """Return what a search finds once its statements are answered."""
        if not search.statements:
            return search.found(())
        heads: Rows = [
            {"id": id_, "version": 1, "removed": [], "records": one.records, "buckets": one.buckets}
            | {"groups": one.groups, "ids": one.ids, "bounded": one.bounded}
            for id_, one in self.segments.items()
        ]
        blocks: Rows = []
        for id_, one in self.segments.items():
            start = 0
            for bucket, length in zip(one.block_buckets, one.block_lengths, strict=True):
                part = one.blocks[start : start + length]
                blocks.append({"segment": id_, "bucket": bucket, "postings": part})
                start += length
        asked = {name: json.loads(f"[{value[1:-1]}]") for name, value in search.statements[-1].parameters.items()}
        wanted = set(zip(asked["segments"], asked["buckets"], strict=True))
        found = [row for row in blocks if (row["segment"], row["bucket"]) in wanted]
        return search.found(cast(Sequence[Any], (heads, found)))

    def ask(self, index: WordIndex, weights: Mapping[int, float]) -> list[tuple[UUID, float]]:
        return self.answer(self.begin(index, weights))


def some_records(chance: random.Random, number: int, *, words: int = 40) -> dict[UUID, dict[int, float]]:
    return {
        UUID(int=chance.getrandbits(128)): {
            chance.randint(1, 10**9) if chance.random() < 0.5 else chance.randint(1, 50): chance.uniform(0.01, 2.2)
            for _ in range(words)
        }
        for _ in range(number)
    }


def counted(index: WordIndex) -> int:
    return sum(piece.size for piece in index._kept.values())


@given(seed=st.integers(0, 2**32), size=st.integers(1, 30))
@examples(30)
def test_a_changed_record_has_the_score_that_it_will_have_in_a_segment(seed: int, size: int) -> None:
    """To the last digit, so that no order of equal scores changes when the index is written."""
    chance = random.Random(seed)
    records = some_records(chance, size, words=12)
    weights = {term: chance.uniform(0.0, 14.0) for term in chance.sample(range(1, 51), 12)}
    fresh = scored_vectors([(id_, sent(words)) for id_, words in records.items()], weights)
    indexed = Stored({1: segment_of(records)}).ask(WordIndex(), weights)
    assert sorted(fresh, key=lambda match: (-match[1], match[0]))[:10] == indexed


def test_records_without_words_of_the_question_score_nothing() -> None:
    assert scored_vectors([(UUID(int=1), sent({3: 1.0})), (UUID(int=2), sent({}))], {4: 1.0}) == []
    assert scored_vectors([], {4: 1.0}) == []
    assert best_matches([], [], 5) == []


def test_words_that_no_record_has_take_no_memory() -> None:
    chance, index = random.Random(1), WordIndex()
    stored = Stored({1: segment_of(some_records(chance, 50))})
    for term in range(1, 51):
        stored.ask(index, {term: 1.0})
    before = index._size
    assert before == counted(index) > 0
    for _ in range(2_000):
        stored.ask(index, {chance.randint(1, 10**9) & ~0xFF | chance.randint(0, 255): 1.0})
    assert index._size == counted(index)
    assert index._size <= before + 1_000 * 256  # for empty buckets, of which there are few


def test_the_index_is_counted_as_large_as_it_is_and_stays_within_its_bound() -> None:
    chance = random.Random(2)
    stored = Stored({number: segment_of(some_records(chance, 400)) for number in range(1, 6)})
    questions = [dict.fromkeys(chance.sample(range(1, 51), 10), 1.0) for _ in range(40)]
    for question in questions:  # so that nothing but the index grows
        stored.ask(WordIndex(), question)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        index = WordIndex()
        for question in questions:
            stored.ask(index, question)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert index._size == counted(index)
    # The stored bytes of blocks are those that the database answered with, which the test has anyway.
    assert used <= 1.2 * index._size
    small = WordIndex(cache_bytes=index._size // 3)
    for question in questions:
        assert stored.ask(small, question) == stored.ask(index, question)
        assert small._size == counted(small) <= index._size // 3


def test_a_search_that_a_merge_overtakes_leaves_nothing_of_the_old_segments() -> None:
    """Their words may be those of records that are erased since."""
    chance, index = random.Random(3), WordIndex()
    records = some_records(chance, 30)
    old, new = Stored({1: segment_of(records)}), Stored({2: segment_of(records)})
    weights = dict.fromkeys(range(1, 11), 1.0)
    overtaken = old.begin(index, weights)
    expected = new.ask(index, weights)
    assert old.answer(overtaken) == expected
    assert {segment for segment, _ in index._kept} == {2}
    assert {segment for segment, buckets in index._buckets.items() if buckets} == {2}
    assert index._size == counted(index)
