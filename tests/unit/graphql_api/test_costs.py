"""The cost of an operation follows from its document and variables, and every field of the schema has one."""

from __future__ import annotations

import time
from typing import Any

import pytest
from graphql import get_operation_ast, parse, validate
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.limits.costs import MOST, OPERATION, WORK
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.graphql.schema import build_schema

SCHEMA = build_schema()._schema
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
    roots = [SCHEMA.query_type, SCHEMA.mutation_type]
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
