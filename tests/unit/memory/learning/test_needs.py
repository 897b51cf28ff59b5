"""Properties of the model of the tools that tasks need."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.needs.model import LEAST, MOST, ToolModel, combined
from stratagraph.store.learning.examples import Example
from stratagraph.store.model.enums import Outcome

TOOLS = [bytes([number]) * 16 for number in range(5)]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def example(number: int, words: list[int], tools: set[int], outcome: Outcome = Outcome.SUCCESS) -> Example:
    counts = Counter(words)
    chosen = tuple(TOOLS[at] for at in sorted(tools))
    return Example(
        episode=UUID(int=number),
        closed_at=BEGIN + timedelta(seconds=number),
        outcome=outcome,
        skill=b"s" * 31 + bytes([sum(1 << at for at in tools)]),
        plan=b"p" * 31 + bytes([sum(1 << at for at in tools)]),
        tools=chosen,
        terms=tuple(counts),
        counts=tuple(counts.values()),
    )


@st.composite
def sets_of_examples(draw: st.DrawFn) -> list[Example]:
    return [
        example(
            number,
            draw(st.lists(st.integers(1, 40), min_size=1, max_size=12)),
            draw(st.sets(st.integers(0, len(TOOLS) - 1), min_size=1, max_size=3)),
            draw(st.sampled_from(Outcome)),
        )
        for number in range(draw(st.integers(1, 25)))
    ]


@given(sets_of_examples(), st.dictionaries(st.integers(1, 50), st.integers(1, 4), min_size=1, max_size=12))
@examples(60)
def test_a_model_says_the_same_after_it_was_stored(found: list[Example], said: dict[int, int]) -> None:
    model = ToolModel.of(found)
    assert model is not None
    again = ToolModel.of_bytes(model.as_bytes())
    assert again.needs(said) == model.needs(said)
    assert (again.examples, again.size) == (len(found), model.size)


@given(sets_of_examples(), st.dictionaries(st.integers(1, 50), st.integers(1, 4), min_size=1, max_size=12))
@examples(60)
def test_what_a_model_says_is_within_its_bounds(found: list[Example], said: dict[int, int]) -> None:
    model = ToolModel.of(found)
    assert model is not None
    needs = model.needs(said)
    known = {term for one in found for term in one.terms}
    if not known & said.keys():
        assert needs is None
        return
    assert needs is not None
    assert 0 < needs.near <= needs.alike <= 1
    assert needs.probable.keys() == {tool for one in found for tool in one.tools}
    assert all(LEAST <= p <= MOST + 1e-6 for p in needs.probable.values())
    families = {frozenset(one.tools) for one in found}
    assert {one.tools for one in needs.votes} <= families
    likeliest = max(families, key=needs.likelihood)
    assert needs.likelihood(likeliest) <= 0
    assert combined([(needs, model.examples)]) == needs or needs.probable == combined([(needs, 1)]).probable  # type: ignore[union-attr]


def test_each_tool_is_learned_by_its_words_also_for_sets_of_tools_that_nobody_used() -> None:
    chosen = random.Random(7)
    words = {0: [1, 2, 3], 1: [11, 12, 13], 2: [21, 22, 23]}
    noise = range(100, 130)
    found = [
        example(number, [*chosen.choices(words[number % 3], k=3), *chosen.choices(noise, k=4)], {number % 3})
        for number in range(45)
    ]
    model = ToolModel.of(found)
    assert model is not None
    needs = model.needs({1: 1, 2: 1, 11: 1, 12: 1})
    assert needs is not None
    both, third = {TOOLS[0], TOOLS[1]}, TOOLS[2]
    assert min(needs.probable[tool] for tool in both) > 3 * needs.probable[third]
    assert needs.likelihood(both) > max(needs.likelihood({tool}) for tool in TOOLS[:3])


def test_the_nearest_examples_vote_and_failures_hardly_do() -> None:
    good = [example(number, [1, 2, 3], {0}) for number in range(2)]
    bad = [example(10 + number, [1, 2, 3], {1}, Outcome.FAILURE) for number in range(2)]
    model = ToolModel.of([*good, *bad])
    assert model is not None
    needs = model.needs({1: 1, 2: 1, 3: 1})
    assert needs is not None
    votes = {one.tools: vote for one, vote in needs.votes.items()}
    assert votes[frozenset({TOOLS[0]})] > 5 * votes[frozenset({TOOLS[1]})]


def test_a_model_of_other_tasks_hardly_counts() -> None:
    shop = ToolModel.of([example(number, [1, 2, 3], {0}) for number in range(3)])
    bank = ToolModel.of([example(number, [1, 31, 32], {1}) for number in range(300)])
    assert shop is not None
    assert bank is not None
    said = {1: 1, 2: 1, 3: 1, 4: 1}
    found = [(needs, model.examples) for model in (shop, bank) if (needs := model.needs(said)) is not None]
    needs = combined(found)
    assert needs is not None
    assert needs.probable[TOOLS[0]] > 0.9
    assert needs.probable[TOOLS[1]] < 0.5
    assert combined([]) is None


def test_no_examples_make_no_model() -> None:
    assert ToolModel.of([]) is None
    only = ToolModel.of([example(0, [5], {0})])
    assert only is not None
    assert np.isfinite(list((only.needs({5: 2}) or only.needs({5: 1})).probable.values())).all()  # type: ignore[union-attr]
