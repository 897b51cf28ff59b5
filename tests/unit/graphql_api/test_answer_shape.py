"""The check of the form of answers, on which the random requests rest, finds each way in which one can be wrong."""

from __future__ import annotations

from typing import Any

import pytest
from answer_shape import AnswerShape
from graphql import build_schema, get_operation_ast, parse

SCHEMA = build_schema(
    """type Query { a: A! u: U many: [A!] } interface I { at: D } type A implements I { at: D n: Int! e: E f: Float }
    type B { n: Int s: String! } union U = A | B enum E { X } scalar D"""
)
DOCUMENT = parse(
    """query($no: Boolean!) { a { ...F n two: n f @skip(if: $no) } u { __typename ... on I { at } ... on B { s } }
      many { e } } fragment F on A { e }"""
)
GOOD: dict[str, Any] = {
    "a": {"e": "X", "n": 1, "two": 1, "f": 2},
    "u": {"__typename": "B", "s": "t"},
    "many": [{"e": None}, {"e": "X"}],
}


def faults(data: Any, no: bool = False) -> list[str]:
    operation = get_operation_ast(DOCUMENT)
    assert operation is not None
    return AnswerShape(SCHEMA, DOCUMENT, {"no": no}).faults(operation, data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        GOOD,
        GOOD | {"u": None, "many": None},
        GOOD | {"u": {"__typename": "A", "at": "x"}},
        GOOD | {"many": []},
    ],
)
def test_an_answer_of_the_right_form_is_accepted(data: Any) -> None:
    assert faults(data) == []


@pytest.mark.parametrize(
    "part",
    [
        {"a": None},
        {"a": []},
        {"a": GOOD["a"] | {"n": None}},
        {"a": GOOD["a"] | {"n": 2**31}},
        {"a": GOOD["a"] | {"n": True}},
        {"a": GOOD["a"] | {"e": "Y"}},
        {"a": GOOD["a"] | {"f": "2"}},
        {"a": GOOD["a"] | {"more": 1}},
        {"a": {"e": "X", "n": 1, "two": 1}},
        {"u": {"__typename": "Query"}},
        {"u": {"__typename": "A", "s": "t"}},
        {"u": {"__typename": "B"}},
        {"many": {"e": "X"}},
        {"many": [None]},
        {"extra": 1},
    ],
)
def test_an_answer_of_a_wrong_form_is_found(part: dict[str, Any]) -> None:
    assert len(faults(GOOD | part)) == 1


@pytest.mark.parametrize(("data", "number"), [({"u": {}}, 0), ({"u": {"s": "t"}}, 0), ({"u": {"s": 1}}, 1)])
def test_without_a_type_name_the_answer_has_the_form_of_some_type(data: Any, number: int) -> None:
    document = parse("{ u { ... on B { s } } }")
    operation = get_operation_ast(document)
    assert operation is not None
    assert len(AnswerShape(SCHEMA, document, {}).faults(operation, data)) == number


def test_what_is_skipped_must_be_missing() -> None:
    assert faults(GOOD, no=True) == ["data.a has the keys ['e', 'f', 'n', 'two'] and not ['e', 'n', 'two']"]
