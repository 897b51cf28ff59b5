"""Segments keep what they are given, and the best records of segments are those of a plain sum over all records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.search import word_index, word_segments
from stratagraph.store.search.word_index import Source, best_matches
from stratagraph.store.search.word_indexing import SegmentSize, to_merge
from stratagraph.store.search.word_segments import (
    LEAST,
    MAX_RECORDS,
    MOST,
    STEPS,
    Access,
    Block,
    Encoded,
    Head,
    Words,
    encoded,
    halves_of,
    joined,
)

Record = tuple[int, int, int, int, int, int, int, dict[int, float]]  # id, scope, level, type, past, since, until, words


def some_records(chance: random.Random, number: int, *, common: int = 3) -> list[Record]:
    """Return records in few scopes and of few impacts, so that many scores are equal."""
    return [
        (
            chance.getrandbits(128),
            chance.randint(1, 30 if chance.random() < 0.5 else 3),
            chance.randint(0, 4),
            chance.choice((1, 4)),
            int(chance.random() < 0.2),
            *chance.choice(((LEAST, MOST), (LEAST, MOST), (100, MOST), (50, 100), (MOST, LEAST))),
            {
                term: round(chance.choice((0.5, 0.75, 1.25)) * STEPS) / STEPS
                for term in (
                    *(term for term in range(1, common + 1) if chance.random() < 0.6),
                    *chance.sample((7, 8, 512, 999_999_999, 1_000_000_000), chance.randint(0, 2)),
                )
            },
        )
        for _ in range(number)
    ]


def words_of(records: Sequence[Record]) -> Words:
    high, low = halves_of([record[0] for record in records])
    columns = [np.array([record[place] for record in records], np.int64) for place in range(1, 7)]
    postings = [(term, place, impact) for place, record in enumerate(records) for term, impact in record[7].items()]
    term, position, impact = zip(*postings, strict=True) if postings else ((), (), ())
    return Words(
        scope=columns[0],
        level=columns[1],
        type=columns[2],
        past=columns[3],
        high=high,
        low=low,
        since=columns[4],
        until=columns[5],
        term=np.array(term, np.int64),
        position=np.array(position, np.int64),
        impact=np.array(impact, np.float32),
    )


def records_of(words: Words) -> list[Record]:
    found: list[dict[int, float]] = [{} for _ in range(words.records)]
    for term, position, impact in zip(words.term.tolist(), words.position.tolist(), words.impact.tolist(), strict=True):
        found[position][term] = impact
    ids = [high << 64 | low for high, low in zip(words.high.tolist(), words.low.tolist(), strict=True)]
    rest = (words.scope, words.level, words.type, words.past, words.since, words.until)
    return list(zip(ids, *(column.tolist() for column in rest), found, strict=True))


def read(segment: Encoded) -> tuple[Head, dict[int, Block]]:
    head = Head(
        id_=1,
        records=segment.records,
        buckets=segment.buckets,
        groups=segment.groups,
        ids=segment.ids,
        bounded=segment.bounded,
    )
    blocks, start = {}, 0
    for bucket, length in zip(segment.block_buckets, segment.block_lengths, strict=True):
        blocks[bucket] = Block(segment.blocks[start : start + length])
        start += length
    return head, blocks


def source(
    records: Sequence[Record],
    access: Access,
    terms: Sequence[int],
    *,
    intervals: Sequence[tuple[int, int]],
    removed: Sequence[int],
) -> Source:
    head, blocks = read(encoded(words_of(records)))
    excluded = [head.positions_of(*halves_of(removed))]
    if not access.history:
        excluded.append(head.invalid(intervals))
    found = [
        blocks[term & head.buckets - 1].postings(term) if term & head.buckets - 1 in blocks else None for term in terms
    ]
    return Source(head, head.readable(access), np.concatenate(excluded), found)


@given(
    seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4), removed=st.integers(0, 9)
)
@examples(40)
def test_segments_keep_their_records_when_they_are_merged(seed: int, sizes: list[int], removed: int) -> None:
    chance = random.Random(seed)
    groups = [some_records(chance, size) for size in sizes]
    parts, expected = [], []
    for group in groups:
        head, blocks = read(encoded(words_of(group)))
        gone = chance.sample(group, min(removed, len(group) - 1))
        parts.append(head.kept(head.positions_of(*halves_of([one[0] for one in gone])), blocks.values()))
        expected += [record for record in group if record not in gone]
    head, blocks = read(encoded(joined(parts)))
    assert sorted(records_of(head.kept(np.empty(0, int), blocks.values()))) == sorted(expected)


@given(
    seed=st.integers(0, 2**32), size=st.integers(1, 300), limit=st.integers(1, 30), few=st.sampled_from([0.0, 0.3, 9.9])
)
@examples(80)
def test_the_best_records_are_those_of_a_plain_sum(seed: int, size: int, limit: int, few: float) -> None:
    """With ranges and masks, equal scores, terms that are passed over or read whole, and any division into segments."""
    chance = random.Random(seed)
    records = some_records(chance, size, common=chance.choice((1, 3, 6)))
    terms = chance.sample(range(1, 9), chance.randint(1, 6)) + chance.sample((512, 999_999_999, 10**9, 77), 2)
    weights = [chance.choice((0.1, 0.7, 2.3, 9.01)) for _ in terms]
    scopes = chance.choice((None, [1], [2, 3], list(range(1, 30, 2))))
    access = Access(
        chance.randint(1, 9),
        None if scopes is None else np.array(scopes),
        chance.randint(0, 4),
        chance.choice(((1,), (1, 4))),
        chance.random() < 0.5,
        chance.random() < 0.5,
    )
    at = chance.choice((75, 100, 150))
    intervals = [(at, at + 1)] + [(since, since + 20) for since in (60, 110) if access.facts and chance.random() < 0.5]
    removed = [record[0] for record in records if chance.random() < 0.2]
    exact = {term: round(weight * STEPS) / STEPS for term, weight in zip(terms, weights, strict=True)}
    expected = []
    for id_, scope, level, type_, past, since, until, words in records:
        score = sum(exact.get(term, 0.0) * impact for term, impact in words.items())
        readable = (scopes is None or scope in scopes) and level <= access.ceiling and type_ in access.types
        holds = any(since < end and start < until for start, end in intervals)
        current = access.history or ((not past or (access.facts and type_ == 4)) and holds)
        if readable and current and score > 0 and id_ not in removed:
            expected.append((UUID(int=id_), score))
    expected.sort(key=lambda match: (-match[1], match[0]))
    borders = sorted({0, size, *(chance.randint(0, size) for _ in range(chance.randint(0, 4)))})
    parts = [records[a:b] for a, b in pairwise(borders)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_index, "FEW_POSTINGS", few)
        patch.setattr(word_index, "PASSED_OVER", chance.choice((0.0, 0.5, 0.9)))
        patch.setattr(word_index, "MANY", chance.choice((0, 5, 64)))
        patch.setattr(word_index, "AT_ONCE", chance.choice((0, 20, 8_192)))
        patch.setattr(word_segments, "MAX_RANGES", chance.choice((1, 8)))
        patch.setattr(word_segments, "BLOCK_POSTINGS", chance.choice((1, 8, 256)))
        sources = [source(part, access, terms, intervals=intervals, removed=removed) for part in parts]
        assert best_matches(sources, weights, limit) == expected[:limit]


@given(
    sizes=st.lists(st.integers(0, MAX_RECORDS), max_size=30),
    removed=st.lists(st.floats(0, 1), min_size=30, max_size=30),
)
@examples(100)
def test_merging_ends_with_few_segments_of_bounded_size(sizes: list[int], removed: list[float]) -> None:
    segments = [
        SegmentSize(n, size, int(size * share), False)
        for n, (size, share) in enumerate(zip(sizes, removed, strict=False))
    ]
    kept = sum(segment.kept for segment in segments)
    for number in range(200):
        chosen = to_merge(segments)
        if not chosen:
            break
        whole = sum(segment.kept for segment in chosen)
        assert whole <= MAX_RECORDS
        segments = [segment for segment in segments if segment not in chosen]
        if whole:
            segments.append(SegmentSize(100 + number, whole, 0, False))
    assert not to_merge(segments)
    assert sum(segment.kept for segment in segments) == kept
    assert len(segments) <= 3 * 6 + 2 * kept / MAX_RECORDS + 4
