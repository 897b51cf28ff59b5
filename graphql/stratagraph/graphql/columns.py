"""Completion of lists by columns: all values of one field at once, instead of field by field and item by item.

The executor of graphql-core calls several functions for each field of each item. A retrieval returns hundreds of items
with a dozen fields each, so most of the time of a query went there. Where each selected field, at every level below the
list, is an attribute of the item (no resolver, no arguments, no abstract type), each column is read, checked and
converted by a few calls for all items together. Everything else is left to the executor, and so is a list with any
value that is not exactly of the expected class: errors, their paths and what they make null are the executor's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from functools import lru_cache
from itertools import chain, islice
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias, cast
from weakref import WeakKeyDictionary

from graphql import (
    GraphQLBoolean,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLString,
    Undefined,
    get_named_type,
    is_leaf_type,
)
from graphql.execution.collect_fields import CollectedFields
from strawberry.schema.schema_converter import CustomGraphQLEnumType, GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

# Returns the completed values of a column. Raises any exception where it does not know a value.
Completion: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]
Collect: TypeAlias = Callable[[GraphQLObjectType, Any], CollectedFields]  # of the selected fields of a type

_LISTS = {list, tuple}
_PLAIN = {dict, list, str, int, float, bool, datetime}  # classes of the values of our own scalars
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1  # of the type Int


# The columns of the leaf fields of each type, by the fields' names.
_LEAVES: WeakKeyDictionary[GraphQLObjectType, dict[str, Completion]] = WeakKeyDictionary()


class LeftToExecutor(Exception):
    """The selection, or a value, is not one that is completed by columns."""


def completion(type_: Any, details: Any, collect: Collect) -> Completion:
    """Return the completion of values of the output type with the selection `details`. Raises LeftToExecutor.

    `collect` returns the selected fields of an object type, after @skip and @include.
    """
    if isinstance(type_, GraphQLNonNull):
        return _of_present(type_.of_type, details, collect)
    present = _of_present(type_, details, collect)

    def complete(values: Sequence[Any]) -> Sequence[Any]:
        try:
            return present(values)  # which checks the classes of all values first
        except LeftToExecutor:
            if NoneType not in set(map(type, values)):
                raise
        completed = iter(present([value for value in values if value is not None]))
        return [None if value is None else next(completed) for value in values]

    return complete


def _of_present(type_: Any, details: Any, collect: Collect) -> Completion:
    """Return the completion of values that are not None; it must raise for None."""
    if isinstance(type_, GraphQLList):
        return _of_lists(completion(type_.of_type, details, collect))
    if isinstance(type_, GraphQLObjectType):
        return _of_objects(type_, details, collect)
    if isinstance(type_, CustomGraphQLEnumType):
        return _of_enum(type_)
    if isinstance(type_, GraphQLScalarType):
        return _SCALARS.get(type_.name) or _of_scalar(type_)
    raise LeftToExecutor


def _of_objects(type_: GraphQLObjectType, details: Any, collect: Collect) -> Completion:
    definition = type_.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(definition, StrawberryObjectDefinition) or definition.is_type_of is not None:
        raise LeftToExecutor
    classes = {definition.origin}
    collected = collect(type_, details)
    if collected.new_defer_usages:
        raise LeftToExecutor
    names = tuple(collected.grouped_field_set)
    if not names:  # everything is skipped
        raise LeftToExecutor
    leaves = _LEAVES.setdefault(type_, {})
    columns = [_column(type_, field, collect, leaves) for field in collected.grouped_field_set.values()]
    rows = _rows_of(names)

    def complete(values: Sequence[Any]) -> Sequence[Any]:
        _expect(values, classes)
        return rows([column(values) for column in columns])

    return complete


@lru_cache(maxsize=256)
def _rows_of(names: tuple[str, ...]) -> Callable[[list[Sequence[Any]]], list[Any]]:
    """Return the function that makes a dictionary with these keys of each row of the columns.

    It is compiled, because `{"id": a, "name": b}` takes a quarter of the time of `dict(zip(names, row))`. The names
    are those of a document that has been parsed, so letters, digits and underscores.
    """
    values = [f"v{number}" for number in range(len(names))]
    pairs = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    made: Callable[[list[Sequence[Any]]], list[Any]] = eval(
        f"lambda columns: [{{{pairs}}} for {', '.join(values)}, in zip(*columns, strict=True)]"
    )
    return made


def _column(type_: GraphQLObjectType, details: Any, collect: Collect, leaves: dict[str, Completion]) -> Completion:
    """Return what completes one field of objects of a type; `leaves` are those of its leaves that are known."""
    name = details[0].node.name.value
    known = leaves.get(name)
    if known is not None:
        return known
    if name == "__typename":
        return lambda objects: [type_.name] * len(objects)
    field = type_.fields[name]
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    is_attribute = (
        isinstance(definition, StrawberryField)
        and definition.is_basic_field
        and definition.default_resolver is getattr
        and getattr(field.resolve, "_is_default", False)  # no handlers of exceptions around it
        and not field.args
    )
    if not is_attribute:
        raise LeftToExecutor
    read = attrgetter(definition.python_name)
    complete = completion(field.type, details, collect)

    def column(objects: Sequence[Any]) -> Sequence[Any]:
        return complete(list(map(read, objects)))

    if is_leaf_type(get_named_type(field.type)):  # else it depends on what is selected below
        leaves[name] = column
    return column


def _of_lists(items: Completion) -> Completion:
    def complete(values: Sequence[Any]) -> Sequence[Any]:
        _expect(values, _LISTS)
        completed = iter(items(list(chain.from_iterable(values))))
        return [list(islice(completed, len(value))) for value in values]

    return complete


def _of_enum(type_: CustomGraphQLEnumType) -> Completion:
    enum = cast(type[Enum], type_.wrapped_cls)
    classes = {enum}
    names = {member: type_.coerce_output_value(member) for member in enum}

    def complete(values: Sequence[Any]) -> Sequence[Any]:
        _expect(values, classes)
        return list(map(names.__getitem__, values))

    return complete


def _of_scalar(type_: GraphQLScalarType) -> Completion:
    """Return the completion of a scalar of our own: each value is converted, as the executor does."""
    convert = type_.coerce_output_value

    def complete(values: Sequence[Any]) -> Sequence[Any]:
        _expect(values, _PLAIN)
        completed = list(map(convert, values))
        if any(value is None or value is Undefined for value in completed):
            raise LeftToExecutor
        return completed

    return complete


def _of_class(expected: type) -> Completion:
    """Return the completion of a scalar whose values of the class `expected` stay as they are."""
    classes = {expected}

    def complete(values: Sequence[Any]) -> Sequence[Any]:
        _expect(values, classes)
        return values

    return complete


def _of_floats(values: Sequence[Any]) -> Sequence[Any]:
    _expect(values, {float})
    if not isfinite(sum(values)):
        raise LeftToExecutor
    return values


def _of_integers(values: Sequence[Any]) -> Sequence[Any]:
    _expect(values, {int})
    if values and not _SMALLEST <= min(values) <= max(values) <= _LARGEST:
        raise LeftToExecutor
    return values


def _expect(values: Sequence[Any], classes: set[Any]) -> None:
    """Raise LeftToExecutor unless all values are exactly of these classes: no awaitable, exception, null or other."""
    if not classes.issuperset(map(type, values)):
        raise LeftToExecutor


_SCALARS: dict[str, Completion] = {
    GraphQLID.name: _of_class(str),
    GraphQLString.name: _of_class(str),
    GraphQLBoolean.name: _of_class(bool),
    GraphQLFloat.name: _of_floats,
    GraphQLInt.name: _of_integers,
}
