"""Random documents made from the schema: several operations' fields with aliases, fragments, directives, literals and
arguments at every level; and documents that are nearly valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
)
from schema_fuzz import LEAVE_OUT, Fuzz

NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]*")


@dataclass
class Written:
    """A document, the variables that it declares, and the fragments that it has."""

    declared: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    fragments: list[str] = field(default_factory=list)


class DocumentFuzz:
    """A source of random documents, whose values are those of a `Fuzz`."""

    def __init__(self, fuzz: Fuzz) -> None:
        self._fuzz = fuzz

    @property
    def _random(self) -> Random:
        return self._fuzz.random

    def request(self) -> tuple[bool, str, bytes]:
        """Return whether the request is a mutation, its kind, and a body."""
        self._fuzz.calm()
        is_mutation = self._random.random() < 0.4
        root = self._fuzz.schema.mutation_type if is_mutation else self._fuzz.schema.query_type
        keyword = "mutation" if is_mutation else "query"
        if self._fuzz.schema.subscription_type is not None and self._random.random() < 0.03:
            keyword, is_mutation, root = "subscription", False, self._fuzz.schema.subscription_type
        assert root is not None
        self._written = Written()
        names = [self._random.choice(sorted(root.fields)) for _ in range(self._random.choice([1, 1, 2, 3]))]
        fields = [self._field(name, root.fields[name], 3, f"f{at}") for at, name in enumerate(names)]
        if self._random.random() < 0.3:
            fields = [self._fragment(root.name, " ".join(fields))]
        written = self._written
        head = f"{keyword} Fuzz"
        head += f"({', '.join(written.declared)})" if written.declared else ""
        document = " ".join([f"{head} {{ __typename {' '.join(fields)} }}", *written.fragments])
        kind = "document"
        if self._random.random() < 0.35:
            kind, document = "nearly valid", self._random.choice(SPOILS)(document, self._random)
        given: dict[str, Any] = {"query": document, "variables": written.variables, "operationName": "Fuzz"}
        if self._random.random() < 0.05:
            given["operationName"] = self._random.choice(["Other", None, 3, ""])
        return is_mutation, kind, json.dumps(given).encode()

    def _field(self, name: str, declared: Any, depth: int, alias: str = "") -> str:
        given = []
        for argument, definition in declared.args.items():
            if not isinstance(definition.type, GraphQLNonNull) and self._random.random() < LEAVE_OUT:
                continue
            value = self._fuzz.argument(name, argument, definition)
            written = self._literal(value, definition.type) if self._random.random() < 0.6 else None
            if written is None:
                variable = f"v{len(self._written.declared)}"
                self._written.declared.append(f"${variable}: {definition.type}")
                self._written.variables[variable] = value
                written = f"${variable}"
            given.append(f"{argument}: {written}")
        text = (f"{alias}: " if alias else "") + name + (f"({', '.join(given)})" if given else "")
        return f"{text}{self._directive()} {self._selection(get_named_type(declared.type), depth)}"

    def _directive(self) -> str:
        if self._random.random() > 0.05:
            return ""
        flag = self._random.choice(["true", "false"])
        return self._random.choice([f" @include(if: {flag})", f" @skip(if: {flag})"])

    def _selection(self, type_: Any, depth: int) -> str:
        if is_leaf_type(type_):
            return ""
        if isinstance(type_, GraphQLUnionType):
            shown = self._random.sample(list(type_.types), min(len(type_.types), self._random.choice([1, 2, 3])))
            good = [one for one in type_.types if "code" not in one.fields and one not in shown]
            parts = [f"... on {one} {self._selection(one, depth)}" for one in [*good, *shown]]
            return "{ __typename " + " ".join(parts) + " }"
        assert isinstance(type_, GraphQLObjectType | GraphQLInterfaceType)
        chosen = ["__typename"]
        for name, one in type_.fields.items():
            is_leaf = is_leaf_type(get_named_type(one.type))
            if self._random.random() < (0.35 if is_leaf else 0.3) and (depth or is_leaf):
                chosen.append(self._field(name, one, depth - 1, self._random.choice(["", "", "", f"{name}Too"])))
        text = " ".join(chosen)
        if self._random.random() < 0.15:
            text = "__typename " + self._random.choice(
                [self._fragment(type_.name, text), f"... on {type_.name} {{ {text} }}", f"... {{ {text} }}"]
            )
        return "{ " + text + " }"

    def _fragment(self, type_: str, text: str) -> str:
        name = f"F{len(self._written.fragments)}"
        self._written.fragments.append(f"fragment {name} on {type_} {{ {text} }}")
        return f"...{name}"

    def _literal(self, value: Any, type_: Any) -> str | None:
        """Return a value as it is written in a document; None where it cannot be, as a key that is no name."""
        if isinstance(type_, GraphQLNonNull):
            return self._literal(value, type_.of_type)
        of_type = type_.of_type if isinstance(type_, GraphQLList) else type_
        if isinstance(value, list):
            parts = [self._literal(one, of_type) for one in value]
            return None if None in parts else f"[{', '.join(map(str, parts))}]"
        if isinstance(value, dict):
            fields = type_.fields if isinstance(type_, GraphQLInputObjectType) else {}
            made = {key: self._literal(one, fields[key].type if key in fields else None) for key, one in value.items()}
            if None in made.values() or not all(map(NAME.fullmatch, made)):
                return None
            return "{" + ", ".join(f"{key}: {one}" for key, one in made.items()) + "}"
        if isinstance(value, str) and isinstance(type_, GraphQLEnumType):
            return value
        return json.dumps(value)


def _replaced(pattern: str, by: str) -> Callable[[str, Random], str]:
    """Return an edit of a document that replaces one random match of the pattern."""

    def edit(document: str, random: Random) -> str:
        found = list(re.finditer(pattern, document))
        if not found:
            return document
        one = random.choice(found)
        return document[: one.start()] + one.expand(by) + document[one.end() :]

    return edit


SPOILS: list[Callable[[str, Random], str]] = [
    _replaced(r"\b[a-z]\w+(?= )", "unknownField"),
    _replaced(r"\b\w+: ", "unknownArgument: "),
    _replaced(r"\(\w+: ", "("),
    _replaced(r"\$v\d+", "$undeclared"),
    _replaced(r": (\w+!?)(?=[,)])", ": [\\1]"),
    _replaced(r"\.\.\.F\d+", "...Missing"),
    _replaced(r"on \w+ ", "on Query "),
    _replaced(r"on \w+ ", "on Int "),
    _replaced(r"\{ __typename", "{ __typename @unknown"),
    _replaced(r"\{ __typename", "{ __typename { x }"),
    _replaced(r"\{ __typename", "{"),
    _replaced(r"\}", ""),
    _replaced(r"\{", ""),
    _replaced(r"\"", ""),
    _replaced(r": \"[^\"]*\"", ": 7"),
    _replaced(r": \d+", ": 1.5e999"),
    _replaced(r": \{", ": {unknown: 1, "),
    _replaced(r"\b(\w+)\((\w+): ", r"\1(\2: null, \2: "),
    _replaced(r"$", " fragment Left on Query { __typename }"),
    _replaced(r"$", " fragment A on Query { ...B } fragment B on Query { ...A }"),
    _replaced(r"$", " query Fuzz { __typename }"),
    _replaced(r"$", " { __typename }"),
    _replaced(r"^(query|mutation)", "subscription"),
    _replaced(r"^(query|mutation)", "query"),
    _replaced(r" Fuzz", " Fuzz @include(if: true)"),
    _replaced(r"\{ __typename", "{ __typename @include(if: null)"),
    _replaced(r"\{ __typename", "{ __typename @skip"),
    _replaced(r"\{ __typename", "{ __schema { types { fields { type { ofType { name } } } } } "),
]
