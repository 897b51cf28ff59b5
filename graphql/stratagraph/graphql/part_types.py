"""GraphQL types of the forms in which content is given and payloads are stored.

A form is declared once, as a pydantic model; the description of each of its fields is that of the GraphQL field. The
types here repeat only names and kinds of the fields, for type checkers, and a test compares them with the forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast, dataclass_transform

import strawberry
from strawberry.schema.name_converter import NameConverter
from strawberry.types import get_object_definition
from strawberry.types.base import StrawberryList, StrawberryOptional
from strawberry.types.enum import StrawberryEnumDefinition

from stratagraph.graphql.scalars import JSON
from stratagraph.memory.requests.warnings import camel_case
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import Part

T = TypeVar("T")
_FORM = "__form__"
_MAX_INT = 2**31 - 1  # of the type Int


class Misfit(Exception):
    """A stored value is not of its field's type."""


def form_of_type(type_: type) -> type[Part]:
    """Return the form that a type made by `shown_as` or `given_as` stands for."""
    form: type[Part] = getattr(type_, _FORM)
    return form


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def shown_as(form: type[Part], description: str) -> Callable[[type[T]], type[T]]:
    """Make an output type of a class whose annotations are fields of `form`."""

    def make(cls: type[T]) -> type[T]:
        for name in cls.__annotations__:
            setattr(cls, name, strawberry.field(description=_description(form, name)))
        made = strawberry.type(cls, description=description)
        setattr(made, _FORM, form)
        return made

    return make


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def given_as(form: type[Part], description: str) -> Callable[[type[T]], type[T]]:
    """Make an input type of a class whose annotations are fields of `form`; a nullable one may be left out.

    Fields that the class defines by itself are not of the form. Values are not made of it: `content_of` converts what
    graphql-core gives.
    """

    def make(cls: type[T]) -> type[T]:
        for name, annotation in cls.__annotations__.items():
            if not hasattr(cls, name):
                told = _description(form, name)
                field = (
                    strawberry.field(default=strawberry.UNSET, description=told)
                    if str(annotation).endswith("| None")
                    else strawberry.field(description=told)
                )
                setattr(cls, name, field)
        made = strawberry.input(cls, description=description)
        setattr(made, _FORM, form)
        return made

    return make


def _description(form: type[Part], name: str) -> str:
    found = form.model_fields[name].description
    assert found, f"{form.__name__}.{name} has no description"
    return found


def shown_part(type_: type[T], stored: object) -> T | None:
    """Return an object of an output type with the values of a stored JSON object; None where that does not fit.

    As with errors in GraphQL, a value of another type makes its field null, or its object where the field cannot be.
    """
    try:
        return _shown(type_, stored)
    except Misfit:
        return None


def _shown(type_: type[T], stored: object) -> T:
    if not isinstance(stored, Mapping):
        raise Misfit
    return type_(**{name: read(stored.get(key)) for name, key, read in _readers(cast(Hashable, type_))})


@cache
def _readers(type_: Any) -> list[tuple[str, str, Callable[[Any], Any]]]:
    """Return for each field of an output type its name, its key in the payload, and what reads its value."""
    form = form_of_type(type_)
    fields = get_object_definition(type_, strict=True).fields
    return [(one.python_name, key_of(form, one.python_name), _reader(one.type)) for one in fields]


def key_of(form: type[Part], name: str) -> str:
    """Return the key under which JSON has a field of the form."""
    return form.model_fields[name].alias or name


def _reader(type_: Any) -> Callable[[Any], Any]:
    if isinstance(type_, StrawberryOptional):
        present = _reader(type_.of_type)

        def nullable(value: Any) -> Any:
            try:
                return None if value is None else present(value)
            except Misfit:
                return None

        return nullable
    if isinstance(type_, StrawberryList):
        item = _reader(type_.of_type)

        def listed(value: Any) -> Any:
            if not isinstance(value, list):
                raise Misfit
            return list(map(item, value))

        return listed
    if isinstance(type_, StrawberryEnumDefinition):
        enum = cast(type[Enum], type_.wrapped_cls)
        members = {label_of(member): member for member in enum}

        def member_of(value: Any) -> Any:
            if not isinstance(value, str) or value not in members:
                raise Misfit
            return members[value]

        return member_of
    if hasattr(type_, _FORM):
        return lambda value: _shown(type_, value)
    return _SCALARS[type_]


def label_of(member: Enum) -> str:
    """Return the word of JSON for a member of an enum."""
    return member.value if isinstance(member.value, str) else member.name.lower()


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise Misfit
    return value


def _truth(value: Any) -> Any:
    if not isinstance(value, bool):
        raise Misfit
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not -_MAX_INT <= value <= _MAX_INT:
        raise Misfit
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Misfit
    return float(value)


def _instant(value: Any) -> Any:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is None or found.tzinfo is None:
            raise Misfit
        return found.astimezone(UTC)
    except (ValueError, OverflowError):  # such as a time that in UTC lies before the year 1
        raise Misfit from None


def _json(value: Any) -> Any:
    if value is None:
        raise Misfit
    return value


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    strawberry.ID: _text,
    bool: _truth,
    int: _whole,
    float: _number,
    datetime: _instant,
    JSON: _json,
}


def content_of(type_: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a value of an input type, as graphql-core gives it: by the names of GraphQL.

    What is left out is absent, and so is a null where it says nothing else. Raises InvalidInput where `extra` has a key
    of one of the fields.
    """
    content: dict[str, Any] = {}
    for name, key, write, keeps_null in _writers(type_):
        value = given.get(name)
        if value is not None or (keeps_null and name in given):
            content[key] = write(value)
    extra = given.get(EXTRA)
    return content if extra is None else _with_extra(form_of_type(type_), content, extra)


def _with_extra(form: type[Part], content: dict[str, Any], extra: object) -> dict[str, Any]:
    if not isinstance(extra, dict):
        raise InvalidInput(f"extra: must be a JSON object, not {json_type(extra)}", path=[EXTRA])
    known = {key_of(form, name) for name in form.model_fields}
    for key in extra:
        if key in known:
            raise InvalidInput(f"extra.{key}: is a field of its own; give it as {camel_case(key)}", path=[EXTRA, key])
    return {**extra, **content}


@cache
def _writers(type_: type) -> list[tuple[str, str, Callable[[Any], Any], bool]]:
    """Return for each field of an input type that is one of its form: its name, its key in JSON, what writes it.

    The last says whether a null is written.
    """
    form = form_of_type(type_)
    convert = NameConverter()
    return [
        (convert.from_field(one), key_of(form, one.python_name), _writer(one.type), one.python_name in form.NULLABLE)
        for one in get_object_definition(type_, strict=True).fields
        if one.python_name in form.model_fields
    ]


def _writer(type_: Any) -> Callable[[Any], Any]:
    if isinstance(type_, StrawberryOptional):
        present = _writer(type_.of_type)
        return lambda value: None if value is None else present(value)
    if isinstance(type_, StrawberryList):
        item = _writer(type_.of_type)
        return lambda value: list(map(item, value))
    if isinstance(type_, StrawberryEnumDefinition):
        return label_of
    if hasattr(type_, _FORM):
        return lambda value: content_of(type_, value)
    return rfc3339 if type_ is datetime else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def json_path(type_: type, path: list[str]) -> list[str]:
    """Return the path of GraphQL for a path within the JSON form of an input type; what is unknown stays as it is."""
    if not path:
        return []
    key, *rest = path
    definition = get_object_definition(type_, strict=True)
    form = form_of_type(type_)
    for one in definition.fields:
        if one.python_name in form.model_fields and key_of(form, one.python_name) == key:
            inner: Any = one.type
            while isinstance(inner, StrawberryOptional | StrawberryList):
                inner = inner.of_type
            place = rest[:1] if rest and rest[0].isdigit() else []
            below = rest[len(place) :]
            within = json_path(inner, below) if hasattr(inner, _FORM) else below
            return [NameConverter().from_field(one), *place, *within]
    return [EXTRA, *path] if any(one.python_name == EXTRA for one in definition.fields) else path


EXTRA = "extra"  # the field of an input type for further keys of its object
