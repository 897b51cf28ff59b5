"""The schema is sorted, and its names, lists, pages, choices, results and deprecations have one form each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from checkout import ROOT
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
    is_specified_scalar_type,
    lexicographic_sort_schema,
    print_schema,
)

TEXT = (ROOT / "schema.graphql").read_text()
FIELDS = (GraphQLObjectType, GraphQLInterfaceType)
# Pages that were named before there was a rule; the contract has these names.
OTHER_PAGES = {"AuditLog", "RecordHistory", "ForgetPreview"}
PAGES = ("Connection", "Page")
REASON = re.compile(r"Since (\d+\.\d+\.\d+), use (`[\w.]+`.*)\.", re.DOTALL)


def types(schema: GraphQLSchema) -> Iterator[GraphQLNamedType]:
    for name, type_ in schema.type_map.items():
        if not name.startswith("__") and not is_specified_scalar_type(type_):
            yield type_


def fields(schema: GraphQLSchema) -> Iterator[tuple[str, Any]]:
    """Yield each field of an output type with its coordinate."""
    for type_ in types(schema):
        if isinstance(type_, FIELDS):
            yield from ((f"{type_.name}.{name}", field) for name, field in type_.fields.items())


def inputs(schema: GraphQLSchema) -> Iterator[tuple[str, Any]]:
    """Yield each argument and each field of an input with its coordinate."""
    for where, field in fields(schema):
        yield from ((f"{where}({name}:)", given) for name, given in field.args.items())
    for type_ in types(schema):
        if isinstance(type_, GraphQLInputObjectType):
            yield from ((f"{type_.name}.{name}", field) for name, field in type_.fields.items())


def values(schema: GraphQLSchema) -> Iterator[tuple[str, Any]]:
    for type_ in types(schema):
        if isinstance(type_, GraphQLEnumType):
            yield from ((f"{type_.name}.{name}", value) for name, value in type_.values.items())


def misnamed(schema: GraphQLSchema) -> Iterator[str]:
    """Yield types that are not PascalCase, fields and arguments that are not camelCase, values not UPPER_CASE."""
    for type_ in types(schema):
        kind_of_upper = isinstance(type_, GraphQLScalarType) and type_.name.isupper()
        if not re.fullmatch(r"[A-Z][a-z0-9]+([A-Z][a-z0-9]+)*", type_.name) and not kind_of_upper:
            yield type_.name
    for where, _ in [*fields(schema), *inputs(schema)]:
        name = re.split(r"[.(]", where.rstrip(":)"))[-1]
        if not re.fullmatch(r"[a-z][a-z0-9]*([A-Z][a-z0-9]*)*", name):
            yield where
    for where, _ in values(schema):
        if not re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", where.split(".")[1]):
            yield where


def unused(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the types that no operation takes or returns."""
    waiting: list[Any] = [schema.query_type, schema.mutation_type, schema.subscription_type]
    found = set()
    while waiting:
        type_ = get_named_type(waiting.pop())
        if type_ is None or type_.name in found:
            continue
        found.add(type_.name)
        waiting += getattr(type_, "types", ())
        waiting += getattr(type_, "interfaces", ())
        if isinstance(type_, (*FIELDS, GraphQLInputObjectType)):
            waiting += [field.type for field in type_.fields.values()]
            waiting += [given.type for field in type_.fields.values() for given in getattr(field, "args", {}).values()]
    yield from (type_.name for type_ in types(schema) if type_.name not in found)


def wrong_choices(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the fields of `@oneOf` inputs that could not be left out, and choices of which one is none."""
    for type_ in types(schema):
        if isinstance(type_, GraphQLInputObjectType) and type_.is_one_of:
            if len(type_.fields) < 2:
                yield type_.name
            for name, field in type_.fields.items():
                if is_non_null_type(field.type) or (field.ast_node and field.ast_node.default_value):
                    yield f"{type_.name}.{name}"


def lists_with_nulls(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the lists whose items may be null."""
    for where, one in [*fields(schema), *inputs(schema)]:
        given: Any = get_nullable_type(one.type)
        while is_list_type(given):
            if not is_non_null_type(given.of_type):
                yield where
            given = get_nullable_type(given.of_type)


def wrong_pages(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the pages that are not `nodes` and `pageInfo`, and those that are not named `…Connection` or `…Page`."""
    for type_ in types(schema):
        form = {name: str(field.type) for name, field in getattr(type_, "fields", {}).items()}
        is_page = "pageInfo" in form
        if is_page and (form["pageInfo"] != "PageInfo!" or not re.fullmatch(r"\[\w+!\]!", form.get("nodes", ""))):
            yield type_.name
        if is_page != type_.name.endswith(PAGES) and type_.name not in OTHER_PAGES:
            yield type_.name
        if type_.name == "PageInfo" and form != {"hasNextPage": "Boolean!", "endCursor": "String"}:
            yield type_.name


def wrong_paging(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the fields that return a page without `first: Int = …` and `after: String`, or take `after` without one."""
    for where, field in fields(schema):
        given = {name: str(one.type) for name, one in field.args.items()}
        is_page = "pageInfo" in getattr(get_named_type(field.type), "fields", {})
        if is_page:
            default = field.args["first"].ast_node.default_value if "first" in given else None
            if given.get("first") != "Int" or given.get("after") != "String" or default is None:
                yield where
        elif "after" in given and not where.startswith("Subscription."):
            yield where


def wrong_results(schema: GraphQLSchema) -> Iterator[str]:
    """Yield mutations whose type is no union of one success with errors, and unions named otherwise than `…Result`."""
    mutation = schema.mutation_type
    for name, field in (mutation.fields if mutation is not None else {}).items():
        type_ = get_named_type(field.type)
        if not is_non_null_type(field.type) or not isinstance(type_, GraphQLUnionType):
            yield f"Mutation.{name}"
    error = schema.type_map["MemoryError"]
    for type_ in types(schema):
        if isinstance(type_, GraphQLUnionType) and type_.name.endswith("Result"):
            good = [one for one in type_.types if error not in one.interfaces]
            if len(good) != 1 or len(type_.types) < 2:
                yield type_.name


def wrong_deprecations(schema: GraphQLSchema) -> Iterator[str]:
    """Yield the deprecations that do not say since which version, and what to use that is not deprecated itself."""
    declared = [*fields(schema), *inputs(schema), *values(schema)]
    kept = {re.split(r"[.(]", where.rstrip(":)"))[-1] for where, one in declared if one.deprecation_reason is None}
    kept |= {where for where, one in declared if one.deprecation_reason is None}
    for where, one in declared:
        if one.deprecation_reason is None:
            continue
        found = REASON.fullmatch(one.deprecation_reason)
        if found is None or not set(re.findall(r"`([\w.]+)`", found[2])[:1]) <= kept:
            yield f"{where}: {one.deprecation_reason}"


RULES: list[Callable[[GraphQLSchema], Iterator[str]]] = [
    misnamed, unused, wrong_choices, lists_with_nulls, wrong_pages, wrong_paging, wrong_results, wrong_deprecations
]  # fmt: skip
BY_NAME = {rule.__name__: rule for rule in RULES}
BROKEN = [
    ("misnamed", "type Query { a_b: Int B: Int c(D: Int): Int }", ["Query.a_b", "Query.B", "Query.c(D:)"]),
    ("misnamed", "type Query { a: e f: aB } enum e { a B_c } type aB { a: Int }", ["e", "aB", "e.a", "e.B_c"]),
    ("unused", "type Query { a: Int } type Left { a: Int }", ["Left"]),
    ("wrong_choices", "type Query { a(c: C): Int } input C @oneOf { a: Int! b: Int = 1 c: Int }", ["C.a", "C.b"]),
    ("wrong_choices", "type Query { a(c: C): Int } input C @oneOf { a: Int }", ["C"]),
    ("lists_with_nulls", "type Query { a: [Int]! b: [[Int]!]! c: [Int!] d(e: [Int]): Int }", None),
    ("wrong_pages", "type Query { a: P } type P { nodes: [Int!]! pageInfo: Int }", ["P", "P"]),
    ("wrong_pages", "type Query { a: XConnection } type XConnection { b: Int }", ["XConnection"]),
    ("wrong_paging", "type Query { a(first: Int, after: String): P b(after: ID): Int } type P { pageInfo: Int }", None),
    ("wrong_deprecations", 'type Query { a: Int @deprecated(reason: "old") b: Int }', ["Query.a: old"]),
    ("wrong_deprecations", 'type Query { a: Int @deprecated(reason: "Since 1.0.0, use `c`.") b: Int }', None),
]


@pytest.mark.parametrize("rule", BY_NAME)
def test_the_schema_keeps_the_rule(rule: str) -> None:
    assert list(BY_NAME[rule](build_schema(TEXT))) == []


def test_the_schema_is_printed_sorted() -> None:
    assert print_schema(lexicographic_sort_schema(build_schema(TEXT))) + "\n" == TEXT


@pytest.mark.parametrize(("rule", "text", "found"), BROKEN)
def test_the_rule_finds_what_breaks_it(rule: str, text: str, found: list[str] | None) -> None:
    broken = list(BY_NAME[rule](build_schema(text)))
    assert broken if found is None else broken == found, broken


def test_a_mutation_without_a_result_union_is_found() -> None:
    text = """interface MemoryError { code: Int } type No implements MemoryError { code: Int } type Yes { a: Int }
      type Query { a: Int } union AResult = Yes | No union BResult = No
      type Mutation { a: AResult! b: AResult c: Int! d: BResult! }"""
    assert list(wrong_results(build_schema(text))) == ["Mutation.b", "Mutation.c", "BResult"]
