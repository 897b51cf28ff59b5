"""Completion by columns gives exactly the answers and the errors of the stock executor."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Awaitable, Generator
from datetime import UTC, date, datetime, timedelta, timezone
from random import Random
from types import SimpleNamespace
from typing import Any, NewType

import pytest
import strawberry
from fix_examples import examples
from graphql import (
    ExecutionResult,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    execute,
    get_named_type,
    is_leaf_type,
    parse,
    validate,
)
from graphql.execution.executor import Executor
from hypothesis import given, note
from hypothesis import strategies as st
from strawberry.permission import BasePermission
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext as Stock
from strawberry.schema.schema_converter import CustomGraphQLEnumType
from structlog.testing import capture_logs

from stratagraph.graphql.limits.slices import COLUMN_SLICE, SLICE, SlicedExecution
from stratagraph.graphql.scalars import SCALARS
from stratagraph.graphql.types import errors
from stratagraph.graphql.types.record_lists import RecordConnection
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.relations import Relation
from stratagraph.graphql.types.retrieve import RetrieveGraphResult, RetrieveGraphSuccess


@strawberry.type
class Query:
    """Fields that return what the test puts into the root: objects, lists of them, and members of a union."""

    records: list[MemoryRecord]
    maybe: list[MemoryRecord | None] | None
    edges: list[Relation] | None
    page: RecordConnection | None
    answer: RetrieveGraphResult | None
    answers: list[RetrieveGraphResult | None] | None
    names: list[str | None] | None


class Counted(SlicedExecution):
    """Counts the fields that the executor resolves one by one."""

    resolved = 0

    def execute_field(self, *arguments: Any) -> Any:
        type(self).resolved += 1
        return super().execute_field(*arguments)


Even = NewType("Even", int)
EVEN = strawberry.scalar(name="Even", serialize=lambda value: None if value % 2 else value)


def _schema(query: type) -> GraphQLSchema:
    return strawberry.Schema(
        query, types=[errors.MemoryError], config=StrawberryConfig(scalar_map={**SCALARS, Even: EVEN}), extensions=[]
    )._schema


SCHEMA = _schema(Query)
TYPES = SCHEMA.type_map


class Later:
    """A value that has to be awaited, any number of times."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __await__(self) -> Generator[Any, None, Any]:
        yield from asyncio.sleep(0).__await__()
        return self.value


class Text(str):
    __slots__ = ()


WRONG: tuple[Any, ...] = (
    *(1e308, -1e308, 1.7e308),
    *(
        None,
        True,
        1,
        -1,
        2**31,
        2**31 - 1,
        2**70,
        0.5,
        float("nan"),
        float("inf"),
        "text",
        Text("text"),
        b"bytes",
        [],
        (),
    ),
    *({}, ["a", None], [1], {"a": 1}, {"a"}, date(2026, 1, 1), object, ValueError("a value that is an exception")),
    SimpleNamespace(id="1", name="no record"),
)


class Values:
    """Random values of the types of the schema; `wrong` is the share of those that do not fit."""

    def __init__(self, random: Random, wrong: float) -> None:
        self.random = random
        self.wrong = wrong

    def of(self, type_: Any, depth: int = 4) -> Any:
        if self.random.random() < self.wrong:
            odd = self.random.choice(WRONG)
            return Later(odd) if self.random.random() < 0.1 else odd
        if isinstance(type_, GraphQLNonNull):
            return self._present(type_.of_type, depth)
        return None if depth < 0 or self.random.random() < 0.2 else self._present(type_, depth)

    def _present(self, type_: Any, depth: int) -> Any:
        if isinstance(type_, GraphQLList):
            items = [self.of(type_.of_type, depth - 1) for _ in range(self.random.choice((0, 1, 2, 3)))]
            return tuple(items) if self.random.random() < 0.1 else items
        if isinstance(type_, GraphQLUnionType):
            return self._present(self.random.choice(type_.types), depth)
        if isinstance(type_, GraphQLObjectType):
            return self._object(type_, depth)
        if isinstance(type_, CustomGraphQLEnumType):
            member: Any = self.random.choice(list(type_.wrapped_cls))
            return member.value if self.random.random() < self.wrong else member
        return self._scalar(type_.name)

    def _object(self, type_: GraphQLObjectType, depth: int) -> Any:
        definition = type_.extensions["strawberry-definition"]
        fields = [(field.extensions["strawberry-definition"], field.type) for field in type_.fields.values()]
        given = {field.python_name: self.of(inner, depth - 1) for field, inner in fields if field.base_resolver is None}
        # What resolvers need and no field shows: without it they fail.
        needed = {field.name for field in dataclasses.fields(definition.origin) if field.init}
        given |= dict.fromkeys(needed - given.keys())
        if self.random.random() < self.wrong / 4:
            return SimpleNamespace(**given)
        return definition.origin(**given)

    def _scalar(self, name: str) -> Any:
        pick = self.random
        if name in {"ID", "String"}:
            return pick.choice(("", "a", "é", "name"))
        if name == "Boolean":
            return pick.random() < 0.5
        if name == "Int":
            return pick.choice((0, 1, -(2**31), 2**31 - 1))
        if name == "Float":
            return pick.choice((0.0, -0.0, 0.5, 1e-320))
        if name == "DateTime":
            moment = datetime(2026, 1, 28, 9, 30, tzinfo=pick.choice((UTC, timezone(timedelta(hours=5)))))
            return moment + timedelta(microseconds=pick.choice((0, 1, 250_000)))
        return pick.choice(({"a": [1, None]}, [], "text", 1, 0.5, True, None))


class Documents:
    """Random documents: aliases, fragments, type conditions, @skip and @include, __typename, the same field twice."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.fragments: list[str] = []
        self.aliases = 0

    def document(self) -> str:
        query = self._selection(TYPES["Query"], 4)
        return f"query Q($yes: Boolean!, $no: Boolean!) {query} {' '.join(self.fragments)}"

    def _selection(self, type_: Any, depth: int) -> str:
        parts = [self._part(type_, depth) for _ in range(self.random.choice((1, 2, 3, 6)))]
        return "{ " + " ".join(part for part in parts if part) + " __typename }"

    def _part(self, type_: Any, depth: int) -> str:
        draw = self.random.random()
        if draw < 0.1:
            return f"... {self._directive()} {self._selection(type_, depth)}" if depth > 0 else ""
        if draw < 0.2 and depth > 0:
            name = f"F{len(self.fragments)}"
            self.fragments.append("")  # so that a fragment within takes another name
            at = len(self.fragments) - 1
            self.fragments[at] = f"fragment {name} on {type_.name} {self._selection(type_, depth - 1)}"
            return f"...{name} {self._directive()}"
        if isinstance(type_, GraphQLUnionType):
            member = self.random.choice(type_.types)
            return f"... on {member.name} {self._directive()} {self._selection(member, depth)}"
        if isinstance(type_, GraphQLInterfaceType) or draw < 0.3:
            return "__typename"
        return self._field(type_, depth)

    def _field(self, type_: Any, depth: int) -> str:
        name, field = self.random.choice(list(type_.fields.items()))
        inner = get_named_type(field.type)
        if not is_leaf_type(inner) and depth <= 0:
            return ""
        below = "" if is_leaf_type(inner) else self._selection(inner, depth - 1)
        self.aliases += 1
        alias = f"a{self.aliases}: " if self.random.random() < 0.3 else ""
        return f"{alias}{name} {self._directive()} {below}"

    def _directive(self) -> str:
        return self.random.choice(("", "", "", "", "@skip(if: $no)", "@include(if: $yes)", "@skip(if: true)"))


def _shown(result: ExecutionResult) -> tuple[str, list[str]]:
    """Return the data with the order of its keys, and the errors in any order."""
    found = sorted(repr((error.message, error.path, error.locations)) for error in result.errors or ())
    return json.dumps(result.data, default=repr), found


async def _execute(
    executor: type[Executor[Any]], document: str, root: object, schema: GraphQLSchema = SCHEMA
) -> ExecutionResult:
    result = execute(schema, parse(document), root, None, {"yes": True, "no": False}, executor_class=executor)
    return await result if isinstance(result, Awaitable) else result


@given(seed=st.integers(0, 2**32), wrong=st.sampled_from((0.0, 0.01, 0.1)))
@examples(60)
async def test_answers_and_errors_are_those_of_the_stock_executor(seed: int, wrong: float) -> None:
    random = Random(seed)
    document = Documents(random).document()
    note(document)
    root = Values(random, wrong).of(GraphQLNonNull(TYPES["Query"]))

    assert _shown(await _execute(SlicedExecution, document, root)) == _shown(await _execute(Stock, document, root))


LEAVES = (
    *("id", "name", "confidence", "version", "redacted", "type", "createdAt", "validFrom", "tags", "interpretation"),
    *("lifecycle { pinned }", "provenance { sources { kind timestamp } }"),
)


@pytest.mark.parametrize("selected", LEAVES)
async def test_one_value_that_does_not_fit_is_left_to_the_executor(selected: str) -> None:
    values = Values(Random(1), 0.0)
    records = [values.of(GraphQLNonNull(TYPES["MemoryRecord"])) for _ in range(3)]
    document = f"{{ maybe {{ id version {selected} }} }}"
    attribute = re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", selected.split(maxsplit=1)[0])
    fitting = getattr(records[1], attribute)
    for wrong in (*WRONG, Later(fitting), Later(None)):
        setattr(records[1], attribute, wrong)
        root = SimpleNamespace(maybe=records)
        expected = _shown(await _execute(Stock, document, root))
        assert _shown(await _execute(SlicedExecution, document, root)) == expected, wrong


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, COLUMN_SLICE, COLUMN_SLICE + 1, 3 * COLUMN_SLICE + 7])
@pytest.mark.parametrize("odd", [None, 0.5, 2**70])
async def test_long_lists_are_those_of_the_stock_executor(count: int, odd: object) -> None:
    values = Values(Random(count), 0.0)
    edges = [values.of(GraphQLNonNull(TYPES["Relation"])) for _ in range(count)]
    if odd is not None and edges:
        edges[-1].weight, edges[-1].predicate = odd, odd  # converted by the executor; 2**70 makes a null
    root = SimpleNamespace(edges=edges)
    document = "{ edges { id predicate weight createdAt } }"

    assert _shown(await _execute(SlicedExecution, document, root)) == _shown(await _execute(Stock, document, root))


async def test_a_retrieval_is_completed_without_a_call_for_each_field() -> None:
    values = Values(Random(1), 0.0)
    success = values.of(GraphQLNonNull(TYPES["RetrieveGraphSuccess"]))
    assert isinstance(success, RetrieveGraphSuccess)
    success.nodes = [values.of(GraphQLNonNull(TYPES["GraphNode"])) for _ in range(100)]
    success.edges = [values.of(GraphQLNonNull(TYPES["Relation"])) for _ in range(300)]
    document = """{ answer { __typename ... on RetrieveGraphSuccess { roots edges { id predicate weight createdAt }
      nodes { score why { names viaId } record { id type tags text lifecycle { pinned }
        provenance { sources { kind timestamp } } interpretation } } } } }"""
    Counted.resolved = 0

    schema = strawberry.Schema(
        Query,
        types=[errors.MemoryError],
        execution_context_class=Counted,
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    result = await schema.execute(document, root_value=SimpleNamespace(answer=success))

    assert isinstance(result, strawberry.types.ExecutionResult)
    assert result.errors is None
    assert result.data is not None
    assert len(result.data["answer"]["edges"]) == 300
    assert Counted.resolved == len(("answer", "__typename", "roots", "edges", "nodes"))


def test_most_random_documents_are_valid() -> None:
    documents = [Documents(Random(seed)).document() for seed in range(20)]
    assert sum(not validate(SCHEMA, parse(document)) for document in documents) > 10


class Refused(BasePermission):
    message = "refused"

    def has_permission(self, source: Any, info: Any, **kwargs: Any) -> bool:
        return False


@strawberry.type
class Guarded:
    open: str
    even: Even | None = None
    secret: str | None = strawberry.field(permission_classes=[Refused])


@strawberry.type
class GuardedQuery:
    items: list[Guarded]


async def test_a_guarded_attribute_is_never_read_by_columns() -> None:
    root = SimpleNamespace(items=[Guarded(open="a", secret="b")])

    result = await _execute(SlicedExecution, "{ items { open secret } }", root, _schema(GuardedQuery))

    assert result.data == {"items": [{"open": "a", "secret": None}]}
    assert [error.message for error in result.errors or ()] == ["refused"]


async def test_a_scalar_that_makes_null_of_a_value_is_left_to_the_executor() -> None:
    root = SimpleNamespace(items=[Guarded(open="a", even=Even(number), secret=None) for number in (1, 2)])
    schema = _schema(GuardedQuery)

    result = await _execute(SlicedExecution, "{ items { even } }", root, schema)

    assert result.data == {"items": [{"even": None}, {"even": 2}]}
    assert _shown(result) == _shown(await _execute(Stock, "{ items { even } }", root, schema))


async def test_what_stops_the_columns_unexpectedly_is_logged_by_its_type_alone() -> None:
    schema = _schema(GuardedQuery)
    with capture_logs() as logged:
        misfit: Any = 1
        root = SimpleNamespace(items=[Guarded(open=misfit, secret=None)])
        await _execute(SlicedExecution, "{ items { open } }", root, schema)
        assert logged == [], "a value that does not fit is the executor's, and no error here"
        unfinished = object.__new__(Guarded)  # without the attribute that is read
        await _execute(SlicedExecution, "{ items { open } }", SimpleNamespace(items=[unfinished]), schema)
    [event] = logged
    assert (event["event"], event["error"]) == ("list not completed by columns", "AttributeError")
    assert "open" not in json.dumps(event)
