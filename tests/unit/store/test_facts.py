"""Conditions of facts: which exclude each other, and which facts contradict each other under them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.store.records.fact_keys import contradictory, disjoint

Json = dict[str, Any]

EXAMPLES = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])

few_values = st.sampled_from(["go", "rust", 1, None]) | st.lists(st.sampled_from(["go", "rust", 1]), max_size=2)
conditions = st.dictionaries(st.sampled_from("ab"), few_values, max_size=2)


@EXAMPLES
@given(conditions, conditions)
def test_disjointness_and_contradiction_are_symmetric(one: Json, other: Json) -> None:
    assert disjoint(one, other) == disjoint(other, one)
    assert contradictory(one, other) == contradictory(other, one)


@EXAMPLES
@given(conditions, conditions)
def test_narrowing_disjoint_conditions_keeps_them_disjoint(one: Json, other: Json) -> None:
    if disjoint(one, other):
        assert disjoint({**one, "c": "more"}, other)


@EXAMPLES
@given(conditions)
def test_equal_conditions_contradict_each_other_as_the_constraint_of_the_database_says(one: Json) -> None:
    assert contradictory(one, one)


@EXAMPLES
@given(conditions)
def test_a_conditional_fact_does_not_contradict_an_unconditional_one(one: Json) -> None:
    assert contradictory(one, {}) == (one == {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"os": "mac"}, {"os": "linux"}),
        ({"os": "mac", "shell": "zsh"}, {"os": "linux", "shell": "zsh"}),
        ({"os": ["mac", "bsd"]}, {"os": "linux"}),
        ({"os": ["mac", "bsd"]}, {"os": ["linux", "windows"]}),
        ({"cores": 4}, {"cores": 8}),
        ({"cores": 1}, {"cores": "1"}),
        ({"os": None}, {"os": "mac"}),
        ({"os": {"name": "mac"}}, {"os": {"name": "linux"}}),
    ],
    ids=str,
)
def test_conditions_that_exclude_each_other_are_disjoint(one: Json, other: Json) -> None:
    assert disjoint(one, other)
    assert not contradictory(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"os": "mac"}, {"os": "mac"}),
        ({"os": "mac"}, {"shell": "zsh"}),
        ({"os": "mac"}, {"os": "mac", "shell": "zsh"}),
        ({"os": ["mac", "linux"]}, {"os": "linux"}),
        ({"os": ["mac", "linux"]}, {"os": ["linux", "windows"]}),
        ({"cores": 1}, {"cores": 1.0}),
        ({"os": {"a": 1, "b": 2}}, {"os": {"b": 2, "a": 1}}),
    ],
    ids=str,
)
def test_conditions_that_may_both_apply_are_not_disjoint(one: Json, other: Json) -> None:
    assert not disjoint(one, other)
    assert contradictory(one, other)


def test_true_and_one_are_not_a_common_value() -> None:
    assert disjoint({"a": True}, {"a": 1})
    assert not disjoint({"a": 1}, {"a": [2, 1.0]})
