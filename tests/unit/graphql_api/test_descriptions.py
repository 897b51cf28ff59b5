"""Every element of the schema has a description, and every number names its range or its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    build_schema,
    get_named_type,
)

from stratagraph.graphql.schema import sdl

UNITS = ("seconds", "milliseconds", "hops", "tokens", "bytes", "characters")


@dataclass(frozen=True)
class Element:
    """A named part of the schema; `type` is the name of its GraphQL type, where it has one."""

    name: str
    description: str
    type: str = ""

    def __str__(self) -> str:
        return self.name


def elements_of(type_: GraphQLNamedType) -> Iterator[Element]:
    yield Element(type_.name, type_.description or "")
    if isinstance(type_, GraphQLEnumType):
        for name, value in type_.values.items():
            yield Element(f"{type_.name}.{name}", value.description or "")
    if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        for name, field in type_.fields.items():
            where = f"{type_.name}.{name}"
            yield Element(where, field.description or "", get_named_type(field.type).name)
            for argument, declared in getattr(field, "args", {}).items():
                described = declared.description or ""
                yield Element(f"{where}({argument})", described, get_named_type(declared.type).name)


def elements() -> list[Element]:
    schema = build_schema(sdl())
    own = [type_ for name, type_ in schema.type_map.items() if not name.startswith("__")]
    builtin = {"String", "Int", "Float", "Boolean", "ID"}
    return [element for type_ in own if type_.name not in builtin for element in elements_of(type_)]


def words(text: str) -> list[str]:
    """The words of a name or a sentence in lower case, without articles: `rootLimit` is root, limit."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [word for word in re.findall(r"[a-z0-9]+", spaced.lower()) if word not in ("a", "an", "the")]


def faults(element: Element) -> list[str]:
    description = element.description
    if not description:
        return ["has no description"]
    found = []
    if not description.endswith("."):
        found.append("its description does not end with a period")
    if words(description) == words(re.split(r"[.(]", element.name.rstrip(")"))[-1]):
        found.append("its description repeats the name")
    if element.type in ("Int", "Float") and not (
        re.search(r"\d", description) or any(re.search(rf"\b{unit}\b", description) for unit in UNITS)
    ):
        found.append("its description names neither a range nor a unit")
    if element.type == "DateTime" and not re.search(r"\binstant\b", description, re.IGNORECASE):
        found.append("its description does not say that it is an instant")
    return found


@pytest.mark.parametrize("element", elements(), ids=str)
def test_an_element_of_the_schema_is_described(element: Element) -> None:
    assert faults(element) == [], f"{element}: {element.description!r}"


@pytest.mark.parametrize(
    ("element", "fault"),
    [
        (Element("T.a", ""), "has no description"),
        (Element("T.a", "Some text"), "its description does not end with a period"),
        (Element("T.rootLimit", "The root limit."), "its description repeats the name"),
        (Element("Query.records(first)", "First.", "String"), "its description repeats the name"),
        (Element("T.a", "Number of things.", "Int"), "its description names neither a range nor a unit"),
        (Element("T.a", "When it was.", "DateTime"), "its description does not say that it is an instant"),
    ],
    ids=str,
)
def test_the_check_finds_each_fault(element: Element, fault: str) -> None:
    assert fault in faults(element)
