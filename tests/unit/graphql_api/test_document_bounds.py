"""Documents are bounded before they are validated, at a cost linear in their size."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_introspection_query,
    parse,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strawberry.types import ExecutionResult

from stratagraph.graphql import document_bounds, documents
from stratagraph.graphql.document_bounds import check_bounds
from stratagraph.graphql.documents import MAX_TEXT_BYTES, Documents
from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.schema import build_schema

SCHEMA = build_schema()._schema


def lines_run(work: Callable[[], object], *, file: str | None = None) -> int:
    """Run `work`; return how many lines of Python ran, or of `file` alone. Errors of GraphQL are an end like others."""
    count = 0

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        nonlocal count
        if file is not None and frame.f_code.co_filename != file:
            return None
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except GraphQLError:
        pass
    finally:
        sys.settrace(before)
    return count


def nodes_of(document: DocumentNode) -> int:
    count = 0
    stack: list[Node] = [document]
    while stack:
        node = stack.pop()
        count += 1
        for key in node.keys:
            child = getattr(node, key, None)
            stack.extend(child if isinstance(child, tuple | list) else [child] if isinstance(child, Node) else [])
    return count


# ----- random documents, mostly hostile


def random_selections(random: Random, depth: int = 0) -> str:
    made = []
    for _ in range(random.randint(1, 4)):
        kind = random.choice(["field", "field", "alias", "spread", "inline", "repeat"])
        inner = random_selections(random, depth + 1) if depth < 5 and random.random() < 0.4 else ""
        name = random.choice(["a", "b", "__type"])
        if kind == "alias":
            name = f"{random.choice(['x', 'y'])}: {name}"
        if kind == "spread":
            made.append(f"...F{random.randint(0, 8)}")
        elif kind == "inline":
            made.append(f"... on T {inner or '{ a }'}")
        else:
            made.extend([f"{name} {inner}"] * (3 if kind == "repeat" else 1))
    return "{" + " ".join(made) + "}"


def random_document(random: Random) -> DocumentNode:
    operations = [f"query Q{number} {random_selections(random)}" for number in range(random.randint(1, 3))]
    fragments = [f"fragment F{number} on T {random_selections(random)}" for number in range(random.randint(0, 7))]
    return parse(" ".join([*operations, *fragments]))


def chain(length: int, spreads: int) -> str:
    """Fragments that each spread the next one several times; the last one spreads nothing."""
    links = [f"fragment F{n} on T {{ a {f'...F{n + 1} ' * spreads} }}" for n in range(length)]
    return " ".join(["{ ...F0 }", *links, f"fragment F{length} on T {{ a }}"])


HOSTILE: dict[str, Callable[[int], str]] = {
    "fragments that double": lambda n: chain(n, 2),
    "fragments that grow tenfold": lambda n: chain(n, 10),
    "a long chain": lambda n: chain(n, 1),
    "a circle": lambda n: "{ ...F0 }" + "".join(f" fragment F{k} on T {{ ...F{(k + 1) % n} }}" for k in range(n)),
    "all spread all": lambda n: (
        "{ ...F0 }" + "".join(f" fragment F{k} on T {{ {' '.join(f'...F{j}' for j in range(n))} }}" for k in range(n))
    ),
    "all spread later ones": lambda n: (
        "{ ...F0 }"
        + "".join(f" fragment F{k} on T {{ a {' '.join(f'...F{j}' for j in range(k + 1, n))} }}" for k in range(n))
    ),
    "a wide set": lambda n: "{" + "a " * n + "}",
    "repeated sets": lambda n: "{" + f"a {{ {'b ' * n} }} " * n + "}",
    "nested sets": lambda n: "{ a " * n + "{ b }" + "}" * n,
    "nested lists": lambda n: "{ a(b: " + "[" * n + "]" * n + ") }",
    "many operations": lambda n: " ".join(f"query Q{k} {{ ...F }}" for k in range(n)) + " fragment F on T { a }",
    "inline fragments": lambda n: "{" + "... { " * n + "a" + "}" * n + "}",
    "variables": lambda n: "query(" + " ".join(f"$v{k}: Int" for k in range(n)) + ") { a }",
    "directives": lambda n: "{ a " + "@b " * n + "}",
}


def steps_within(document: DocumentNode) -> tuple[int, int]:
    """Return the lines that the check ran, and how many it may run."""
    steps = lines_run(lambda: check_bounds(document), file=document_bounds.__file__)
    return steps, 60 * nodes_of(document) + 30 * document_bounds.MAX_SELECTIONS


@pytest.mark.parametrize("shape", HOSTILE)
def test_a_hostile_document_is_checked_in_linear_time(shape: str) -> None:
    for size in (5, 40, 150):
        steps, allowed = steps_within(parse(HOSTILE[shape](size)))
        assert steps <= allowed, size


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_a_random_document_is_checked_in_linear_time(seed: int) -> None:
    steps, allowed = steps_within(random_document(Random(seed)))
    assert steps <= allowed


# ----- the limits, compared with a check that expands everything

LIMITS = {"MAX_SELECTIONS": 60, "MAX_REPEATS": 4, "MAX_ALIASES": 4, "MAX_DEPTH": 4, "MAX_INTROSPECTION_DEPTH": 5}


class Over(Exception):
    """A limit is exceeded."""


def expanded(selections: tuple[SelectionNode, ...], fragments: dict[str, Any], way: tuple[str, ...]) -> Iterator[Any]:
    """Yield all selections of a set with fragments expanded. Raises Over for a circle."""
    for one in selections:
        yield one
        if isinstance(one, InlineFragmentNode):
            yield from expanded(one.selection_set.selections, fragments, way)
        elif isinstance(one, FragmentSpreadNode) and one.name.value in fragments:
            if one.name.value in way:
                raise Over
            inner = fragments[one.name.value].selection_set.selections
            yield from expanded(inner, fragments, (*way, one.name.value))


def expand_all(
    sets: list[SelectionSetNode], fragments: dict[str, Any], spent: list[int], depth: int, introspection: bool
) -> int:
    """Return the number of aliases below the merged sets. Raises Over."""
    by_key: dict[str, list[FieldNode]] = {}
    for one_set in sets:
        for one in expanded(one_set.selections, fragments, ()):
            spent[0] += 1
            if spent[0] > LIMITS["MAX_SELECTIONS"]:
                raise Over
            if isinstance(one, FieldNode):
                by_key.setdefault((one.alias or one.name).value, []).append(one)
    aliases = 0
    for fields in by_key.values():
        inside = introspection or any(field.name.value in ("__schema", "__type") for field in fields)
        aliased = sum(field.alias is not None for field in fields)
        aliases += aliased
        limit = LIMITS["MAX_INTROSPECTION_DEPTH"] if inside else LIMITS["MAX_DEPTH"]
        if len(fields) > LIMITS["MAX_REPEATS"] or depth > limit or (introspection and aliased):
            raise Over
        inner = [field.selection_set for field in fields if field.selection_set is not None]
        if inner:
            aliases += expand_all(inner, fragments, spent, depth + 1, inside)
    return aliases


def circles(fragments: dict[str, Any]) -> bool:
    def spreads(selections: tuple[SelectionNode, ...]) -> Iterator[str]:
        for one in selections:
            if isinstance(one, FragmentSpreadNode):
                yield one.name.value
            elif isinstance(one, FieldNode | InlineFragmentNode) and one.selection_set is not None:
                yield from spreads(one.selection_set.selections)

    reached = {name: set(spreads(one.selection_set.selections)) & set(fragments) for name, one in fragments.items()}
    for _ in fragments:
        reached = {name: direct | {far for near in direct for far in reached[near]} for name, direct in reached.items()}
    return any(name in others for name, others in reached.items())


def is_over(document: DocumentNode) -> bool:
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    if circles(fragments):
        return True
    spent = [0]
    try:
        aliases = [
            expand_all([one.selection_set], fragments, spent, 0, False)
            for one in document.definitions
            if isinstance(one, OperationDefinitionNode)
        ]
    except Over:
        return True
    return max(aliases) > LIMITS["MAX_ALIASES"]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
@example(997)  # two fields under one key, of which one is introspection
def test_a_document_is_refused_exactly_if_its_expansion_exceeds_a_limit(seed: int) -> None:
    document = random_document(Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(document_bounds, name, value)
        try:
            check_bounds(document)
            refused = False
        except GraphQLError:
            refused = True
    assert refused == is_over(document)


AT_THE_LIMIT: list[tuple[str, Callable[[int], str], int]] = [
    ("operations", lambda n: " ".join(f"query Q{k} {{ a }}" for k in range(n)), document_bounds.MAX_OPERATIONS),
    ("fragments", lambda n: "{ a }" + "".join(f" fragment F{k} on T {{ a }}" for k in range(n)), 50),
    ("variables", HOSTILE["variables"], document_bounds.MAX_VARIABLES),
    ("directives", HOSTILE["directives"], document_bounds.MAX_DIRECTIVES),
    ("selections", lambda n: "{" + " ".join(f"a{k}" for k in range(n)) + "}", document_bounds.MAX_SELECTIONS_OF_SET),
    ("repeats", lambda n: "{" + "a " * n + "}", document_bounds.MAX_REPEATS),
    ("aliases", lambda n: "{" + " ".join(f"a{k}: b" for k in range(n)) + "}", document_bounds.MAX_ALIASES),
    ("depth", HOSTILE["nested sets"], document_bounds.MAX_DEPTH),
    ("literal depth", HOSTILE["nested lists"], document_bounds.MAX_LITERAL_DEPTH),
    ("digits", lambda n: "{ a(b: " + "9" * n + ") }", document_bounds.MAX_LITERAL_DIGITS),
]


@pytest.mark.parametrize(("shape", "limit"), [one[1:] for one in AT_THE_LIMIT], ids=[one[0] for one in AT_THE_LIMIT])
def test_a_document_at_a_limit_passes_and_one_over_it_is_refused(shape: Callable[[int], str], limit: int) -> None:
    check_bounds(parse(shape(limit)))
    with pytest.raises(GraphQLError):
        check_bounds(parse(shape(limit + 1)))


def test_the_introspection_queries_pass_and_a_multiplied_one_does_not() -> None:
    for query in (
        get_introspection_query(),
        get_introspection_query(input_value_deprecation=True, specified_by_url=True),
    ):
        found = Documents(SCHEMA)
        assert found.errors(query, found.parsed(query)) == []
    for text in ("{ a: __schema { types { name } } }", "{ __schema { a: types { name } b: types { name } } }"):
        with pytest.raises(GraphQLError, match="alias"):
            check_bounds(parse(text))


WITHIN = {
    "fragments that double": chain(3, 2).replace("on T", "on Query").replace(" a ", " health { ok } "),
    "fields repeated": "{" + ("records { nodes { id name type state salience confidence tags scope } } " * 25) + "}",
    "fragments that overlap": "{ records { nodes { "
    + " ".join(f"...F{n}" for n in range(25))
    + " } } }"
    + "".join(f" fragment F{n} on MemoryRecord {{ id name type state salience scope }}" for n in range(25)),
    "unknown fields": "{" + " ".join(f"records{n}" for n in range(100)) + "}",
    "conflicts": "{" + " ".join(f'x: record(id: "{n}") {{ id }}' for n in range(20)) + "}",
    "lines": "{" + "\n" * (documents.MAX_LINES - 10) + " ".join(f"unknown{n}" for n in range(90)) + "}",
    "a long list": "{ records(first: [" + "1 " * 1_900 + "]) { nodes { id } } }",
}


@pytest.mark.parametrize("shape", WITHIN)
def test_a_document_within_the_limits_is_validated_with_bounded_work(shape: str) -> None:
    """The worst document before the limits, 781 bytes, took 20 s; a line takes about 0.1 µs without the trace."""
    found = Documents(SCHEMA)
    document = found.parsed(WITHIN[shape])
    assert lines_run(lambda: found.errors(WITHIN[shape], document)) < 1_500_000


# ----- text and cache


def test_a_long_text_is_refused_before_it_is_parsed() -> None:
    found = Documents(SCHEMA)
    padded = "{ health { ok } } #"
    found.parsed(padded + "x" * (MAX_TEXT_BYTES - len(padded)))
    for text in (padded + "x" * MAX_TEXT_BYTES, padded + "é" * (MAX_TEXT_BYTES // 2), "\n" * 6_000 + padded):
        with pytest.raises(GraphQLError, match=r"variables|lines"):
            found.parsed(text)
    with pytest.raises(GraphQLError, match="token"):
        found.parsed("{ health { ok } }" + "# x\n" * 2_500)


def test_the_cache_holds_at_most_its_bytes() -> None:
    bound = 2 << 20
    found = Documents(SCHEMA, max_bytes=bound)
    shapes: list[Callable[[int], str]] = [
        lambda n: "{ related: expand(id: 1, loadedIds: [" + f'"{n}" ' * 900 + "]) { __typename } }",
        lambda n: "{" + f"records(first: {n}) {{ nodes {{ id name type state tags scope }} }} " * 20 + "}",
        lambda n: '{ record(id: "' + "😀" + "x" * 50_000 + f'{n}") {{ id }} }}',
    ]
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1, 13):
            text = shapes[number % len(shapes)](number)
            document = found.parsed(text)
            assert found.errors(text, document) == []
            assert found.parsed(text) is document
        del text, document
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert bound / 4 < held <= bound
    assert found.cached_bytes <= bound


async def test_a_repeated_document_is_parsed_and_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for name in ("parse", "validate"):
        whole = getattr(documents, name)

        def counted(*arguments: Any, name: str = name, whole: Callable[..., Any] = whole, **options: Any) -> Any:
            calls[name] += 1
            return whole(*arguments, **options)

        monkeypatch.setattr(documents, name, counted)
    schema = build_schema()
    for yes in (True, False, True):  # other variables, same document
        answer = await schema.execute(
            "query ($yes: Boolean!) { __typename @include(if: $yes) }",
            {"yes": yes},
            context_value=SimpleNamespace(ticket=None, record=RequestRecord()),
        )
        assert isinstance(answer, ExecutionResult)
        assert answer.data == ({"__typename": "Query"} if yes else {})

    assert calls == {"parse": 1, "validate": 1}


def test_invalid_documents_are_not_cached() -> None:
    found = Documents(SCHEMA)
    for text in ("{ nothing }", "{ health { ok } nothing }"):
        assert found.errors(text, found.parsed(text))
    assert found.cached_bytes == 0
