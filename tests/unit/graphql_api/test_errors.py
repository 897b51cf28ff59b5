"""One rule of errors: a result union answers every error as a member, other fields the same fields in `errors`."""

from __future__ import annotations

import ast
import asyncio
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
)
from graphql import build_schema as parsed_schema
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition

import stratagraph.graphql
import stratagraph.service
from stratagraph.graphql.context import Context
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema, sdl
from stratagraph.graphql.types.enums import ErrorCode
from stratagraph.store.model import errors
from stratagraph.store.model.errors import InvalidInput, Problem, StratagraphError
from stratagraph.store.model.trust import SINGLE_USER

SCHEMA = build_schema()
CORE = parsed_schema(sdl())  # which has `@oneOf`
ID = "01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e"
OTHER_ID = "01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6f"
FIELDS = "code message retryable path retryAfter problems { code message path }"
NEVER_ANSWERED = {"CLIENT_GONE", "MISCONFIGURED", "MIGRATION_FAILED"}  # nobody is left, or nothing is served
# Of an operation as a whole, or of `changes`, whose type is no union: no field answers them.
OF_THE_REQUEST = NEVER_ANSWERED | {"UNAUTHENTICATED", "DEADLINE_EXCEEDED", "ARTIFACT_DAMAGED", "INTERNAL"}
OF_THE_REQUEST |= {"POSITION_EXPIRED"}
CONSTANT = {"revisionRules"}  # read nothing


def several() -> InvalidInput:
    error = InvalidInput("source: is blank; scope: is long", path=["source"])
    error.problems = [
        Problem(code="INVALID_INPUT", message=f"{name}: is wrong", path=(name,)) for name in ("source", "scope")
    ]
    return error


MADE: dict[type[StratagraphError], StratagraphError] = {
    errors.SourceErased: errors.SourceErased([0]),
    errors.RecordNotFound: errors.RecordNotFound(ID),
    errors.NotLoggedYet: errors.NotLoggedYet(ID),
    errors.VersionConflict: errors.VersionConflict(7),
    errors.KeyCollision: errors.KeyCollision(None),
    errors.RateLimited: errors.RateLimited("wait", retry_after_s=1.2345),
    errors.MigrationFailed: errors.MigrationFailed("failed", reached=None),
    errors.InvalidInput: several(),
}


def classes(of: type[StratagraphError]) -> Iterator[type[StratagraphError]]:
    yield of
    for below in of.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from classes(below)


ERRORS = [MADE.get(one) or one() for one in classes(StratagraphError)]


def is_one_of(kind: GraphQLInputObjectType) -> bool:
    definition = kind.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return kind.is_one_of or (isinstance(definition, StrawberryObjectDefinition) and definition.is_one_of)


def operations() -> Iterator[tuple[str, str, GraphQLField]]:
    for kind, of in (("query", CORE.query_type), ("mutation", CORE.mutation_type)):
        assert of is not None
        yield from ((kind, name, made) for name, made in of.fields.items() if name not in CONSTANT)


def value(kind: Any) -> Any:
    """Return a plausible value of an input type, with what it requires only."""
    if isinstance(kind, GraphQLNonNull):
        return value(kind.of_type)
    if isinstance(kind, GraphQLList):
        return [ID, OTHER_ID] if get_named_type(kind).name == "ID" else [value(kind.of_type)]
    if isinstance(kind, GraphQLEnumType):
        return next(iter(kind.values))
    if isinstance(kind, GraphQLInputObjectType):
        names = [name for name, one in kind.fields.items() if isinstance(one.type, GraphQLNonNull)]
        if not names and is_one_of(kind):
            names = [next(iter(kind.fields))]
        return {name: value(kind.fields[name].type) for name in names}
    return {"ID": ID, "Int": 1, "Float": 0.5, "Boolean": True, "DateTime": "2026-01-01T00:00:00Z", "JSON": {}}.get(
        kind.name, "a"
    )


def selection(made: GraphQLField) -> str:
    of = get_named_type(made.type)
    if is_leaf_type(of):
        return ""
    if isinstance(of, GraphQLUnionType):
        return f"{{ __typename ... on MemoryError {{ {FIELDS} }} }}"
    return "{ __typename }"


class Failing:
    """Services of which each call raises the error."""

    def __init__(self, error: StratagraphError) -> None:
        self._error = error

    def __getattr__(self, _: str) -> Failing:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._error


def answer(kind: str, name: str, made: GraphQLField, error: StratagraphError) -> Any:
    required = {key: one.type for key, one in made.args.items() if isinstance(one.type, GraphQLNonNull)}
    declared = ", ".join(f"${key}: {type_}" for key, type_ in required.items())
    given = ", ".join(f"{key}: ${key}" for key in required)
    document = f"{kind} {f'({declared})' if declared else ''} {{ {name}{f'({given})' if given else ''} "
    variables = {key: value(type_) for key, type_ in required.items()}
    context = Context(trust=SINGLE_USER, services=Failing(error))  # type: ignore[arg-type]  # which only fails
    return asyncio.run(
        SCHEMA.execute(document + selection(made) + " }", variable_values=variables, context_value=context)
    )


def is_result(made: GraphQLField) -> bool:
    return isinstance(get_named_type(made.type), GraphQLUnionType)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_operation_answers_an_error_at_its_one_place_and_with_the_same_fields(error: StratagraphError) -> None:
    for kind, name, made in operations():
        result = answer(kind, name, made, error)
        if is_result(made) and error.code not in OF_THE_REQUEST:
            assert result.errors is None, (name, result.errors)
            shown = result.data[name]
            assert CORE.type_map[shown.pop("__typename")] in CORE.get_possible_types(CORE.type_map["MemoryError"])  # type: ignore[arg-type]
        else:
            (raised,) = map(coded, result.errors)
            assert raised.extensions is not None
            shown = {**raised.extensions, "message": raised.message}
            shown.pop("reference", None)
        assert shown == {
            "code": error.code,
            "message": error.message,
            "retryable": error.retryable,
            "path": error.path,
            "retryAfter": 1.235 if isinstance(error, errors.RateLimited) else None,
            "problems": [{"code": one.code, "message": one.message, "path": list(one.path)} for one in error.problems],
        }, name


def test_every_mutation_has_a_result_union_and_every_such_union_all_errors() -> None:
    assert all(is_result(made) for kind, _, made in operations() if kind == "mutation")
    interface = CORE.type_map["MemoryError"]
    all_errors = {one.name for one in CORE.get_possible_types(interface)}  # type: ignore[arg-type]
    for name, of in CORE.type_map.items():
        if isinstance(of, GraphQLUnionType) and name.endswith("Result"):
            members = {one.name for one in of.types}
            assert members > all_errors, f"{name}: give it the members of `Refusal` of types/errors.py"
            assert len(members - all_errors) == 1


def codes_in_calls() -> Iterator[str]:
    """Yield the codes that the rooms with HTTP write themselves."""
    for room in (stratagraph.graphql, stratagraph.service):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            found = importlib.util.find_spec(module.name)
            assert found is not None
            assert found.origin is not None
            for node in ast.walk(ast.parse(Path(found.origin).read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("failure", "extensions_of"):
                    texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
                    yield from (text for text in texts if isinstance(text, str) and re.fullmatch("[A-Z_]{6,}", text))


def test_the_enum_lists_every_code_that_can_come_and_no_other() -> None:
    written = set(codes_in_calls())
    assert len(written) > 3
    assert {code.value for code in ErrorCode} == {error.code for error in ERRORS} - NEVER_ANSWERED
    assert written <= {code.value for code in ErrorCode}


def test_a_wrong_variable_is_named_by_its_path() -> None:
    document = "mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename } }"
    item = {"source": "a", "sourceKind": "EVENT", "content": {}}
    items = [item, item | {"source": 5}, item | {"sourceKind": "RUMOUR", "tags": ["x", 7]}]
    context = Context(trust=SINGLE_USER, services=Failing(several()))  # type: ignore[arg-type]
    result: Any = asyncio.run(
        SCHEMA.execute(document, variable_values={"input": {"items": items}}, context_value=context)
    )
    found = [coded(error).extensions or {} for error in result.errors]
    assert [one["path"] for one in found] == [
        ["input", "items", "1", "source"],
        ["input", "items", "2", "sourceKind"],
        ["input", "items", "2", "tags", "1"],
    ], [error.message for error in result.errors]
    assert all(one["problems"][0]["path"] == one["path"] for one in found)


def one_ofs() -> Iterator[tuple[str, str, str]]:
    """Yield the operations with an argument of which exactly one field is given, and its type."""
    for kind, name, made in operations():
        for key, one in made.args.items():
            of = get_named_type(one.type)
            if isinstance(of, GraphQLInputObjectType) and is_one_of(of):
                yield kind, name, f"{key}: {one.type}"


def test_an_input_with_alternatives_names_them_and_its_path_unless_exactly_one_is_given() -> None:
    found = list(one_ofs())
    assert found
    for kind, name, argument in found:
        key, _, of = argument.partition(": ")
        alternatives = CORE.type_map[of.rstrip("!")]
        assert isinstance(alternatives, GraphQLInputObjectType)
        fields = list(alternatives.fields)
        made = {one: field for _, one, field in operations()}[name]
        document = f"{kind}(${key}: {of}) {{ {name}({key}: ${key}) {selection(made)} }}"
        for wrong in ({}, {fields[0]: None}, dict.fromkeys(fields[:2], "x")):
            context = Context(trust=SINGLE_USER, services=Failing(several()))  # type: ignore[arg-type]
            result: Any = asyncio.run(SCHEMA.execute(document, variable_values={key: wrong}, context_value=context))
            (error,) = map(coded, result.errors)
            assert result.data is None
            assert error.extensions is not None
            assert (error.extensions["code"], error.extensions["path"]) == ("INVALID_INPUT", [key]), error.message
            assert all(field in error.message for field in fields)
