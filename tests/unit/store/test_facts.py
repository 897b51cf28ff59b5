"""Disjoint validities: facts that cannot hold at the same time, by a shared condition or by their times."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import validities

from stratagraph.store.records.fact_keys import disjoint

Json = dict[str, Any]

EXAMPLES = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MAY, JUNE, JULY = "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"

few_values = st.sampled_from(["go", "rust", 1, None]) | st.lists(st.sampled_from(["go", "rust", 1]), max_size=2)
similar_validities = st.fixed_dictionaries(
    {"mode": st.just("conditional"), "conditions": st.dictionaries(st.sampled_from("ab"), few_values, max_size=2)},
    optional={"start": st.sampled_from([MAY, JUNE]), "end": st.sampled_from([JUNE, JULY])},
)


def when(**conditions: Any) -> Json:
    return {"mode": "conditional", "conditions": conditions}


def between(start: str | None = None, end: str | None = None) -> Json:
    validity = {"mode": "timeboxed", "start": start, "end": end}
    return {name: value for name, value in validity.items() if value is not None}


@EXAMPLES
@given(validities() | similar_validities, validities() | similar_validities)
def test_disjointness_is_symmetric(one: Json, other: Json) -> None:
    assert disjoint(one, other) == disjoint(other, one)


@EXAMPLES
@given(similar_validities, similar_validities)
def test_narrowing_a_disjoint_validity_keeps_it_disjoint(one: Json, other: Json) -> None:
    if disjoint(one, other):
        narrower = {**one, "conditions": {**one["conditions"], "c": "more"}}
        assert disjoint(narrower, other)


@EXAMPLES
@given(validities())
def test_no_validity_is_disjoint_from_a_global_one(validity: Json) -> None:
    assert not disjoint(validity, {"mode": "global"})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (when(os="mac"), when(os="linux")),
        (when(os="mac", shell="zsh"), when(os="linux", shell="zsh")),
        (when(os=["mac", "bsd"]), when(os="linux")),
        (when(os=["mac", "bsd"]), when(os=["linux", "windows"])),
        (when(cores=4), when(cores=8)),
        (when(cores=1), when(cores="1")),
        (when(os=None), when(os="mac")),
        (when(os={"name": "mac"}), when(os={"name": "linux"})),
        (between(end=JUNE), between(start=JUNE)),
        (between(MAY, JUNE), between(JUNE, JULY)),
        (between(MAY, JUNE), between(JULY)),
        (between(end="2026-06-01T02:00:00+02:00"), between(start=JUNE)),
        (between(end="2026-06-01T00:00:00.000001Z"), between(start="2026-06-01T00:00:00.000001Z")),
        ({**when(os="mac"), "end": JUNE}, {**when(os="mac"), "start": JUNE}),
    ],
    ids=str,
)
def test_validities_that_exclude_each_other_are_disjoint(one: Json, other: Json) -> None:
    assert disjoint(one, other)
    assert disjoint(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"mode": "global"}, {"mode": "global"}),
        ({"mode": "global"}, when(os="mac")),
        (when(os="mac"), when(os="mac")),
        (when(os="mac"), when(shell="zsh")),
        (when(os="mac"), when(os="mac", shell="zsh")),
        (when(os=["mac", "linux"]), when(os="linux")),
        (when(os=["mac", "linux"]), when(os=["linux", "windows"])),
        (when(cores=1), when(cores=1.0)),
        (when(os={"a": 1, "b": 2}), when(os={"b": 2, "a": 1})),
        ({"mode": "conditional", "conditions": None}, when(os="mac")),
        (between(MAY, JULY), between(JUNE)),
        (between(end=JUNE), between(MAY)),
        (between(end=JUNE), between(end=JULY)),
        (between(start=JUNE), between(start=JULY)),
        (between(end="2026-06-01T00:00:00.000001Z"), between(start=JUNE)),
        (between(MAY, JUNE), when(os="mac")),
    ],
    ids=str,
)
def test_validities_that_may_both_apply_are_not_disjoint(one: Json, other: Json) -> None:
    assert not disjoint(one, other)
    assert not disjoint(other, one)


def test_true_and_one_are_not_a_common_value() -> None:
    assert disjoint({"conditions": {"a": True}}, {"conditions": {"a": 1}})
    assert not disjoint({"conditions": {"a": 1}}, {"conditions": {"a": [2, 1.0]}})
