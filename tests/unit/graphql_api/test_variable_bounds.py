"""Bounds on variables: sizes are checked before coercion, by a walk that stops at the first list that is too long."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse

from stratagraph.graphql.limits.costs import MAX_ITEMS as MAX_CAPTURES
from stratagraph.graphql.limits.costs import body_cost
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.variable_bounds import (
    FEW_VALUES,
    MAX_ITEMS,
    MAX_JSON_VALUES,
    MAX_LIST,
    check_variables,
    declared_variables,
)
from stratagraph.memory.capture.request import MAX_TAGS
from stratagraph.store.model.canonical import has_more_values
from stratagraph.store.model.errors import LimitExceeded

SCHEMA = build_schema()._schema


class Counted(list[Any]):
    """A list that counts the items that are taken from it."""

    taken = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.taken += 1
            yield item


def operation(kind: str, declared: str) -> OperationDefinitionNode:
    definition = parse(f"{kind} ($i: {declared}) {{ __typename }}").definitions[0]
    assert isinstance(definition, OperationDefinitionNode)
    return definition


LISTS = [
    ("mutation", "MergeInput!", "recordIds"),
    ("mutation", "ContestInput!", "evidence"),
    ("mutation", "CaptureMemoryInput!", "tags"),
    ("mutation", "CaptureMemoriesInput!", "items"),
    ("query", "RetrieveGraphInput!", "memoryTypes"),
    ("query", "RetrieveGraphInput!", "scopes"),
    ("query", "RecordFilter", "types"),
    ("query", "[String!]!", None),
    ("query", "[ID!]", None),
]


@pytest.mark.parametrize(("kind", "declared", "name"), LISTS)
def test_a_long_list_is_refused_before_its_items_are_looked_at(kind: str, declared: str, name: str | None) -> None:
    short, long = Counted(["x"] * MAX_LIST), Counted(["x"] * (MAX_LIST + 1))
    check_variables(SCHEMA, operation(kind, declared), {"i": short if name is None else {name: short}})
    with pytest.raises(LimitExceeded) as refused:
        check_variables(SCHEMA, operation(kind, declared), {"i": long if name is None else {name: long}})
    assert refused.value.path == ["i"] if name is None else ["i", name]
    assert long.taken == 0


def test_lists_within_lists_count_together() -> None:
    items = [{"tags": Counted(["x"] * 1_000)} for _ in range(MAX_ITEMS // 1_000 + 1)]
    with pytest.raises(LimitExceeded):
        check_variables(SCHEMA, operation("mutation", "CaptureMemoriesInput!"), {"i": {"items": items}})
    assert items[-1]["tags"].taken == 0
    largest = {"items": [{"tags": ["x"] * MAX_TAGS, "content": {"subject": "x"}}] * MAX_CAPTURES}
    check_variables(SCHEMA, operation("mutation", "CaptureMemoriesInput!"), {"i": largest})


@pytest.mark.parametrize("value", [[1] * (MAX_JSON_VALUES + 1), {"k": [[1] * 1_000] * 50}, [{}] * 60_000])
def test_a_json_value_has_a_bound_however_it_is_nested(value: Any) -> None:
    with pytest.raises(LimitExceeded) as refused:
        check_variables(SCHEMA, operation("mutation", "CaptureMemoryInput!"), {"i": {"content": value}})
    assert refused.value.path == ["i", "content"]


def test_an_object_with_many_unknown_fields_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        check_variables(SCHEMA, operation("mutation", "PinInput!"), {"i": {f"k{n}": n for n in range(1_000)}})


def test_variables_that_are_not_declared_are_dropped() -> None:
    given = {"i": ["a"], **{f"k{n}": n for n in range(1_000)}}
    assert declared_variables(operation("query", "[ID!]"), given) == {"i": ["a"]}


def test_the_price_of_a_body_leaves_room_for_the_largest_batch() -> None:
    most = body_cost(b"," * (16 << 20))
    assert 500 <= most <= 800  # decoding takes about half a second
    assert most + 15 + 4 * MAX_CAPTURES < 5_000


def test_few_values_are_told_from_many_without_reading_a_long_list() -> None:
    assert not has_more_values({"a": [0] * (FEW_VALUES - 1)}, FEW_VALUES)
    assert has_more_values({"a": [0] * FEW_VALUES}, FEW_VALUES)
    assert not has_more_values({"a": {"b": [0] * (FEW_VALUES - 2)}}, FEW_VALUES)
    assert has_more_values({"a": {"b": [0] * (FEW_VALUES - 1)}}, FEW_VALUES)
    long = Counted([0] * 100_000)
    assert has_more_values({"a": {"b": [long]}}, FEW_VALUES)
    assert long.taken == 0
