"""Sketches of sets of words: exact for short texts, an estimate for long ones."""

from __future__ import annotations

import random
import struct

from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.sketches import SKETCH, first_terms, resemblance, resembles, sketch_of, stored_sketch

numbers = st.integers(1, 60)
terms = st.sets(numbers, max_size=SKETCH - 1)


@examples(200)
@given(terms, terms, st.floats(0.1, 1))
def test_the_resemblance_of_short_texts_is_exact_and_alike_ones_share_a_first_term(
    one: set[int], other: set[int], least: float
) -> None:
    sketches = sketch_of(sorted(one)), sketch_of(sorted(other))
    expected = len(one & other) / len(one | other) if one | other else 0.0
    assert resemblance(*sketches) == expected == resemblance(*reversed(sketches))
    if expected >= least:
        often = {number: number * 7 % 5 for number in one | other}
        first, second = (first_terms(sketch, least, often=often) for sketch in sketches)
        assert {*first} & {*second}


@examples(200)
@given(st.frozensets(numbers), st.frozensets(numbers), st.floats(0.1, 1))
def test_sketches_that_resemble_each_other_are_those_of_a_resemblance_of_the_least(
    one: frozenset[int], other: frozenset[int], least: float
) -> None:
    sketches = sketch_of(sorted(one)), sketch_of(sorted(other))
    assert resembles(*sketches, least) == (resemblance(*sketches) >= least)


def test_the_resemblance_of_long_texts_is_estimated() -> None:
    pick = random.Random(3)
    for shared in (0, 400, 800, 950):
        words = pick.sample(range(10**9), 2_000 - shared)
        one, other = sorted(words[:1_000]), sorted(words[-1_000:])
        expected = shared / (2_000 - shared)
        assert abs(resemblance(sketch_of(one), sketch_of(other)) - expected) < 0.2
    assert resemblance(sketch_of(one), sketch_of(one)) == 1


def test_a_sketch_is_read_from_the_binary_form_of_an_array() -> None:
    values = (3, 70_000, 10**9)
    header = struct.pack(">iiiii", 1, 0, 23, len(values), 1)
    assert stored_sketch(header + b"".join(struct.pack(">ii", 4, value) for value in values)) == {*values}
    assert stored_sketch(struct.pack(">iii", 0, 0, 23)) == set()  # an empty array has no dimensions
