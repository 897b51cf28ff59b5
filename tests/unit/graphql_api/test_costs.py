"""The cost of an operation follows from its document and variables, and every field of the schema has one."""

from __future__ import annotations

import time
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
    is_leaf_type,
    is_list_type,
    parse,
    validate,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.limits.costs import FIELD, LIST, MOST, NESTED, OPERATION, WORK, Arguments
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.graphql.limits.options import FairUse
from stratagraph.graphql.schema import build_schema

SCHEMA = build_schema()._schema
ROOTS = {
    name: (operation, field)
    for operation, root in (("query", SCHEMA.query_type), ("mutation", SCHEMA.mutation_type))
    if root is not None
    for name, field in root.fields.items()
}
PAGED = sorted(name for name, (_, field) in ROOTS.items() if "first" in field.args)
NODES = "{ ... on RetrieveGraphSuccess { nodes { record { id name %s } } edges { id } } }"
WIDEST = {"taskDescriptor": "x", "rootLimit": 100, "nodeLimit": 1_000, "edgeLimit": 5_000, "maxHops": 6}


def cost(document: str, **variables: Any) -> float:
    parsed = parse(document)
    assert validate(SCHEMA, parsed) == []
    operation = get_operation_ast(parsed)
    assert operation is not None
    return estimate(SCHEMA, parsed, operation, variables)


def retrieval(given: dict[str, Any], more: str = "") -> float:
    document = f"query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {NODES % more} }}"
    return cost(document, input=given)


def test_every_query_and_mutation_has_a_cost_and_no_other() -> None:
    roots = [SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type]
    names = {name for root in roots if root is not None for name in root.fields}
    assert {name for name in WORK if not name.startswith("__")} == names


def test_twenty_aliases_cost_twenty_times_as_much() -> None:
    field = "retrieveGraph(input: $input) { __typename }"
    once = cost(f"query($input: RetrieveGraphInput!) {{ {field} }}", input=WIDEST) - OPERATION
    aliases = " ".join(f"a{number}: {field}" for number in range(20))
    twenty = cost(f"query($input: RetrieveGraphInput!) {{ {aliases} }}", input=WIDEST) - OPERATION
    assert twenty == pytest.approx(20 * once)
    spread = f"query($input: RetrieveGraphInput!) {{ ...F }} fragment F on Query {{ {aliases} }}"
    assert cost(spread, input=WIDEST) - OPERATION == pytest.approx(20 * once)


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["rootLimit", "nodeLimit", "edgeLimit", "maxHops"]), st.integers(1, 5), min_size=1)
)
def test_asking_for_more_never_costs_less(asked: dict[str, int]) -> None:
    most = dict.fromkeys(asked, 10000000)
    assert retrieval({"taskDescriptor": "x", **asked}) < retrieval({"taskDescriptor": "x", **most})
    # Beyond the bounds of the schema, where the operation is refused, the cost does not grow.
    assert retrieval({"taskDescriptor": "x", **most}) <= retrieval(WIDEST)


@pytest.mark.parametrize("more", ["relations { id weight }", "auditLog { action }", "payload"])
def test_what_is_read_for_each_record_counts_for_each_record(more: str) -> None:
    few, many = ({**WIDEST, "nodeLimit": limit} for limit in (10, 1_000))
    assert retrieval(many, more) - retrieval(many) == pytest.approx(100 * (retrieval(few, more) - retrieval(few)))
    assert retrieval(few, more) > retrieval(few) + 1


def test_literals_variables_and_defaults_cost_the_same() -> None:
    rows = "{ nodes { id name } pageInfo { hasNextPage } }"
    literal = cost(f"{{ records(first: 70) {rows} }}")
    assert cost(f"query($n: Int) {{ records(first: $n) {rows} }}", n=70) == literal
    assert cost(f"query($n: Int = 70) {{ records(first: $n) {rows} }}") == literal
    assert cost(f"{{ records(first: 69) {rows} }}") < literal
    assert cost(f"{{ records {rows} }}") == cost(f"{{ records(first: 50) {rows} }}")


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=10,
    )
)
def test_variables_of_any_form_have_a_finite_cost(value: Any) -> None:
    document = (
        "query($input: RetrieveGraphInput!, $n: Int, $id: ID!) {"
        " retrieveGraph(input: $input) { __typename } records(first: $n) { nodes { id } } impact(id: $id, hops: $n)"
        " { __typename } }"
    )
    for variables in ({"input": value, "n": value, "id": value}, {"input": {"nodeLimit": value, "asOf": value}}):
        assert 0 < cost(document, **variables) < 10_000
    batch = "mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename } }"
    assert 0 < cost(batch, input={"items": value}) < 10_000


def test_a_document_of_fragments_that_spread_each_other_twice_is_walked_once() -> None:
    links = "".join(f"fragment F{n} on RetrieveGraphSuccess {{ ...F{n + 1} ...F{n + 1} }} " for n in range(200))
    document = (
        f"query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {{ ...F0 }} }} {links}"
        "fragment F200 on RetrieveGraphSuccess { roots }"
    )
    parsed = parse(document)
    operation = get_operation_ast(parsed)
    assert operation is not None
    began = time.process_time()
    assert estimate(SCHEMA, parsed, operation, {"input": WIDEST}) == MOST  # counted as often as they are spread
    assert time.process_time() - began < 0.5


def selections(field: GraphQLField) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """Yield each field below `field` once, as the (type, field) pairs that lead to it and the text that selects it."""
    seen: set[tuple[str, str]] = set()
    waiting: list[tuple[Any, list[tuple[str, str]], str, str]] = [(field.type, [], "", "")]
    while waiting:
        output, path, before, after = waiting.pop(0)
        named = get_named_type(output)
        for parent in named.types if isinstance(named, GraphQLUnionType) else (named,):
            if not isinstance(parent, GraphQLObjectType):
                continue
            for name, below in parent.fields.items():
                if (parent.name, name) in seen:
                    continue
                seen.add((parent.name, name))
                where, text = [*path, (parent.name, name)], f"{before} {{ ... on {parent.name} {{ {name}"
                if is_leaf_type(get_named_type(below.type)):
                    yield where, f"{text} }} }}{after}"
                else:
                    yield where, f"{text} {{ __typename }} }} }}{after}"
                    waiting.append((below.type, where, text, f" }} }}{after}"))


def numbers(field: GraphQLField) -> Iterator[tuple[str, ...]]:
    """Yield the arguments that are numbers, as paths: those of an input object too."""
    for name, argument in field.args.items():
        given = get_nullable_type(argument.type)
        if given is GraphQLInt:
            yield (name,)
        elif isinstance(given, GraphQLInputObjectType):
            yield from ((name, below) for below, one in given.fields.items() if get_named_type(one.type) is GraphQLInt)


def priced(name: str, selection: str, path: tuple[str, ...], value: int) -> float:
    """Return the cost of the field `name` with this selection, where the argument at `path` is `value`."""
    operation, _ = ROOTS[name]
    argument = f"{path[0]}: {value}" if len(path) == 1 else f"{path[0]}: {{{path[1]}: {value}}}"
    parsed = parse(f"{operation} {{ {name}({argument}) {selection} }}")
    found = get_operation_ast(parsed)
    assert found is not None
    return estimate(SCHEMA, parsed, found, {})


@pytest.mark.parametrize("name", sorted(name for name, (_, field) in ROOTS.items() if any(numbers(field))))
def test_the_cost_of_every_field_grows_by_as_much_with_each_item_asked_for(name: str) -> None:
    field = ROOTS[name][1]
    for path in numbers(field):
        for _, selection in selections(field):
            one, two, three = (priced(name, selection, path, value) for value in (1, 2, 3))
            assert three - two == pytest.approx(two - one), (path, selection)
            assert two - OPERATION <= 2 * (one - OPERATION) + 1e-9, (path, selection)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_each_list_on_the_way_to_a_field_counts_once(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(PAGED))
    field = ROOTS[name][1]
    where, selection = data.draw(st.sampled_from(list(selections(field))))
    first = data.draw(st.integers(1, 100))
    lists = WORK[name](Arguments({"first": first})).lists
    lists = dict(lists)
    times, own = (lists[name] if is_list_type(get_nullable_type(field.type)) else 1), 0.0
    below = SCHEMA.get_type(where[-1][0])
    assert isinstance(below, GraphQLObjectType)
    for parent, step in where:
        nested = NESTED.get((parent, step))
        work = nested.work(Arguments({})) if nested is not None else None
        own += times * (FIELD + (work.points if work is not None else 0.0))
        lists |= work.lists if work is not None else {}
        output = SCHEMA.get_type(parent).fields[step].type  # type: ignore[union-attr]  # an object type
        if nested is not None:
            times *= nested.items
        elif is_list_type(get_nullable_type(output)):
            times *= lists.get(step, LIST)
    if not is_leaf_type(get_named_type(below.fields[where[-1][1]].type)):
        own += times * FIELD  # its __typename
    paid = priced(name, selection, ("first",), first)
    assert paid == pytest.approx(OPERATION + WORK[name](Arguments({"first": first})).points + own)


@pytest.mark.parametrize("name", sorted(ROOTS))
def test_every_list_whose_length_is_fixed_is_one_of_the_field(name: str) -> None:
    field = ROOTS[name][1]
    found = {
        where[-1][1]
        for where, _ in selections(field)
        if is_list_type(get_nullable_type(SCHEMA.get_type(where[-1][0]).fields[where[-1][1]].type))  # type: ignore[union-attr]  # an object type
    }
    if is_list_type(get_nullable_type(field.type)):
        assert name in WORK[name](Arguments({})).lists
        found.add(name)
    assert set(WORK[name](Arguments({})).lists) <= found


@pytest.mark.parametrize("name", PAGED)
def test_a_budget_of_an_api_key_admits_a_full_page_of_every_list_with_all_that_a_record_has(name: str) -> None:
    everything = "relations { id predicate inverse sourceId targetId weight createdAt } auditLog { action } payload"
    field = ROOTS[name][1]
    for where, selection in selections(field):
        if where[-1] == ("MemoryRecord", "id"):
            page = selection.replace("... on MemoryRecord { id", f"... on MemoryRecord {{ id text {everything}")
            assert priced(name, page, ("first",), 100) < FairUse().rate.burst / 4


def test_a_page_of_records_costs_about_what_it_takes() -> None:
    assert cost("{ records(first: 100) { nodes { relations { id } } } }") < 200  # 9,095 where the page counted twice
    assert cost("{ records(first: 50) { nodes { payload relations { id } } } }") < 150
