"""Bounds on the variables of an operation, checked before graphql-core coerces them.

Coercion takes each item of each list in turn on the event loop, and the limits of the services are checked only after
it. The walk here counts a list before it looks into it, so it takes time in proportion to what is allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from graphql import (
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    OperationDefinitionNode,
    get_operation_ast,
    type_from_ast,
)
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition

from stratagraph.store.model.canonical import has_more_values
from stratagraph.store.model.errors import InvalidInput, LimitExceeded

MAX_LIST = 2_000  # items of one list; the services allow fewer, and their errors say how many
MAX_ITEMS = 100_000  # items of all lists together; 1,000 captures with 64 tags each have 65,000
MAX_JSON_VALUES = 50_000  # in one value of the type JSON, those of its lists and objects included
FEW_VALUES = 500  # are checked on the event loop: a thread would take longer to begin
_SHOWN = 8  # parts of the path of an error


def declared_variables(operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that the operation declares. GraphQL ignores all others."""
    names = [definition.variable.name.value for definition in operation.variable_definitions or ()]
    return {name: variables[name] for name in names if name in variables}


def check_variables(schema: GraphQLSchema, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> None:
    """Check the sizes of declared variables, and that of inputs with alternatives exactly one is given.

    Raises LimitExceeded, which names the list or value that is too large, or InvalidInput.
    """
    bounds = _Bounds()
    for definition in operation.variable_definitions or ():
        name = definition.variable.name.value
        if name in variables:
            bounds.check(variables[name], type_from_ast(schema, definition.type), (name,))


class BoundedVariables(SchemaExtension):
    """Drops the variables that the operation does not declare, and checks the sizes of the others."""

    async def on_execute(self) -> AsyncIterator[None]:
        execution = self.execution_context
        if execution.variables:
            assert execution.graphql_document is not None  # the document is parsed and valid
            operation = get_operation_ast(execution.graphql_document, execution.operation_name)
            assert operation is not None
            execution.variables = declared_variables(operation, execution.variables)
            if any(isinstance(value, list | dict) for value in execution.variables.values()):
                checked = (execution.schema._schema, operation, execution.variables)
                if has_more_values(execution.variables, FEW_VALUES):
                    # Apart from the event loop, because half a million values may be allowed.
                    await asyncio.to_thread(check_variables, *checked)
                else:
                    check_variables(*checked)
        yield


class _Bounds:
    """The walk over the variables of one operation, which counts the items of their lists."""

    def __init__(self) -> None:
        self._items = 0

    def check(self, value: Any, kind: Any, path: tuple[str, ...]) -> None:
        """Check a value, given as its input type `kind`. A value of another type is refused by coercion."""
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            if not isinstance(value, list):
                self.check(value, kind.of_type, path)
                return
            if len(value) > MAX_LIST:
                raise _too_large(path, f"the list has {len(value):,} items; at most {MAX_LIST:,} are allowed")
            self._items += len(value)
            if self._items > MAX_ITEMS:
                raise _too_large(path, f"all lists together have over {MAX_ITEMS:,} items")
            for index, item in enumerate(value):
                self.check(item, kind.of_type, (*path, str(index)))
        elif isinstance(kind, GraphQLInputObjectType) and isinstance(value, dict):
            if len(value) > len(kind.fields) + _SHOWN:
                raise _too_large(path, f"the object has {len(value):,} fields, and {kind.name} {len(kind.fields)}")
            if _is_one_of(kind) and (len(value) != 1 or None in value.values()):
                raise _not_one(path, value, kind)
            for name, field in kind.fields.items():
                if name in value:
                    self.check(value[name], field.type, (*path, name))
        elif has_more_values(value, MAX_JSON_VALUES):
            raise _too_large(path, f"has over {MAX_JSON_VALUES:,} values")


def _is_one_of(kind: GraphQLInputObjectType) -> bool:
    """Return whether exactly one field must be given. Strawberry alone knows, and tells it without a path."""
    definition = kind.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return isinstance(definition, StrawberryObjectDefinition) and definition.is_one_of


def _not_one(path: tuple[str, ...], value: Mapping[str, Any], kind: GraphQLInputObjectType) -> InvalidInput:
    given = "it is null" if len(value) == 1 else f"{len(value)} were given"
    place = ".".join(path[:_SHOWN])
    return InvalidInput(f"{place}: give exactly one of {', '.join(kind.fields)}; {given}", path=list(path))


def _too_large(path: tuple[str, ...], what: str) -> LimitExceeded:
    return LimitExceeded(f"{'.'.join(path[:_SHOWN])}: {what}; send less, or several requests", path=list(path))
