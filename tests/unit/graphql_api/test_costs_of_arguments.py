"""The cost of an operation grows by as much with each item that an argument names, wherever the argument is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInt,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    get_nullable_type,
    get_operation_ast,
    is_list_type,
    parse,
)

from stratagraph.graphql.limits.costs import OPERATION
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.graphql.schema import build_schema

SCHEMA = build_schema()._schema
ROOTS: list[tuple[str, str, GraphQLField]] = [
    (operation, name, field)
    for operation, root in (
        ("query", SCHEMA.query_type),
        ("mutation", SCHEMA.mutation_type),
        ("subscription", SCHEMA.subscription_type),
    )
    if root is not None
    for name, field in root.fields.items()
]
Path = tuple[str, ...]


def lists(type_: Any, path: Path) -> Iterator[Path]:
    """Yield the lists that an argument is or has within, as paths, without those of inputs within themselves."""
    given = get_nullable_type(type_)
    if is_list_type(given):
        yield path
    elif isinstance(given, GraphQLInputObjectType) and len(path) < 5:
        for name, field in given.fields.items():
            yield from lists(field.type, (*path, name))


def value(path: Path, items: int) -> Any:
    made: Any = [{} for _ in range(items)]
    for name in reversed(path[1:]):
        made = {name: made}
    return made


def cost(document: str, **variables: Any) -> float:
    parsed = parse(document)
    operation = get_operation_ast(parsed)
    assert operation is not None
    return estimate(SCHEMA, parsed, operation, variables)


def assert_linear(costs: list[float], where: object) -> None:
    one, two, three = costs
    assert three - two == pytest.approx(two - one), where
    assert two - OPERATION <= 2 * (one - OPERATION) + 1e-9, where


@pytest.mark.parametrize(("operation", "name", "field"), ROOTS, ids=[name for _, name, _ in ROOTS])
def test_each_item_of_a_list_that_is_given_costs_as_much(operation: str, name: str, field: GraphQLField) -> None:
    for argument, declared in field.args.items():
        for path in lists(declared.type, (argument,)):
            document = f"{operation} {{ {name}({argument}: $given) {{ __typename }} }}"
            assert_linear([cost(document, given=value(path, items)) for items in (1, 2, 3)], path)


def nested(field: GraphQLField) -> Iterator[tuple[str, str, str, str]]:
    """Yield each field with a number as argument below `field`: its type, name, argument, and a selection around it.

    The selection has `%s` in the place of the field.
    """
    seen: set[str] = set()
    waiting: list[tuple[Any, str]] = [(field.type, "%s")]
    while waiting:
        output, around = waiting.pop(0)
        named = get_named_type(output)
        for parent in named.types if isinstance(named, GraphQLUnionType) else (named,):
            if not isinstance(parent, GraphQLObjectType) or parent.name in seen:
                continue
            seen.add(parent.name)
            for name, below in parent.fields.items():
                inside = around % f"{{ ... on {parent.name} {{ %s }} }}"
                for argument, declared in below.args.items():
                    if get_nullable_type(declared.type) is GraphQLInt:
                        yield parent.name, name, argument, inside
                waiting.append((below.type, inside % f"{name} %s"))


@pytest.mark.parametrize(("operation", "name", "field"), ROOTS, ids=[name for _, name, _ in ROOTS])
def test_each_item_of_a_page_within_an_answer_costs_as_much(operation: str, name: str, field: GraphQLField) -> None:
    for parent, below, argument, around in nested(field):
        type_ = SCHEMA.get_type(parent)
        assert isinstance(type_, GraphQLObjectType)
        page = get_named_type(type_.fields[below].type)
        item = " { nodes { __typename } }" if isinstance(page, GraphQLObjectType) and "nodes" in page.fields else ""
        costs = []
        for number in (1, 2, 3):
            asked = f"{below}({argument}: {number}){item or ' { __typename }'}"
            costs.append(cost(f"{operation} {{ {name} {around % asked} }}"))
        assert_linear(costs, (parent, below, argument))
        assert not item or costs[1] > costs[0], (parent, below)


@pytest.mark.parametrize(("operation", "name", "field"), ROOTS, ids=[name for _, name, _ in ROOTS])
def test_each_more_of_a_number_costs_as_much(operation: str, name: str, field: GraphQLField) -> None:
    for argument, declared in field.args.items():
        if get_nullable_type(declared.type) is GraphQLInt:
            asked = [f"{operation} {{ {name}({argument}: {number}) {{ __typename }} }}" for number in (1, 2, 3)]
            assert_linear([cost(one) for one in asked], argument)
