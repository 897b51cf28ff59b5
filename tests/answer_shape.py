"""Whether an answer has the form that its document and the schema say: keys, types, nulls, lists and type names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    is_abstract_type,
    is_leaf_type,
)
from graphql.type import GraphQLNamedType
from graphql.utilities import value_from_ast_untyped

INT = range(-(2**31), 2**31)


class AnswerShape:
    """The form of the answers to one document with its variables."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self._schema, self._variables = schema, variables
        self._fragments = {
            one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)
        }

    def faults(self, operation: OperationDefinitionNode, data: Any) -> list[str]:
        """Return where the answer's data differs from what was asked; `data` may be null where fields failed."""
        root = self._schema.get_root_type(operation.operation)
        assert root is not None
        return [] if data is None else list(self._object([operation.selection_set], root, data, "data"))

    def _value(self, sets: list[SelectionSetNode], type_: Any, value: Any, where: str) -> Iterator[str]:
        if isinstance(type_, GraphQLNonNull):
            if value is None:
                yield f"{where} is null, not {type_}"
            else:
                yield from self._value(sets, type_.of_type, value, where)
        elif value is None:
            return
        elif isinstance(type_, GraphQLList):
            if not isinstance(value, list):
                yield f"{where} is no list"
                return
            for number, item in enumerate(value):
                yield from self._value(sets, type_.of_type, item, f"{where}[{number}]")
        elif is_leaf_type(type_):
            if not _is_leaf(type_, value):
                yield f"{where} is {value!r}, not {type_}"
        else:
            yield from self._object(sets, type_, value, where)

    def _object(self, sets: list[SelectionSetNode], type_: Any, value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} is no object"
            return
        if is_abstract_type(type_) and "__typename" not in value:
            tried = [list(self._fields(sets, one, value, where)) for one in self._schema.get_possible_types(type_)]
            yield from min(tried, key=len)
            return
        name = value.get("__typename", type_.name)
        concrete = self._schema.type_map.get(name)
        if not isinstance(concrete, GraphQLObjectType) or (
            not self._schema.is_sub_type(type_, concrete) if is_abstract_type(type_) else concrete is not type_
        ):
            yield f"{where} has the type {name}, which is no {type_}"
            return
        yield from self._fields(sets, concrete, value, where)

    def _fields(
        self, sets: list[SelectionSetNode], concrete: GraphQLObjectType, value: dict[str, Any], where: str
    ) -> Iterator[str]:
        asked: dict[str, list[FieldNode]] = {}
        for one in sets:
            self._collect(one, concrete, asked)
        if asked.keys() != value.keys():
            yield f"{where} has the keys {sorted(value)} and not {sorted(asked)}"
            return
        for key, nodes in asked.items():
            field = self._schema.get_field(concrete, nodes[0].name.value)
            assert field is not None
            below = [node.selection_set for node in nodes if node.selection_set is not None]
            yield from self._value(below, field.type, value[key], f"{where}.{key}")

    def _collect(self, chosen: SelectionSetNode, type_: GraphQLObjectType, found: dict[str, list[FieldNode]]) -> None:
        """Add the fields of a selection that apply to the type, by their keys in the answer."""
        for one in chosen.selections:
            if not self._is_included(one):
                continue
            if isinstance(one, FieldNode):
                found.setdefault((one.alias or one.name).value, []).append(one)
                continue
            fragment = self._fragments[one.name.value] if isinstance(one, FragmentSpreadNode) else one
            assert isinstance(fragment, FragmentDefinitionNode | InlineFragmentNode)
            condition = fragment.type_condition
            wanted = None if condition is None else self._schema.type_map[condition.name.value]
            if wanted is None or wanted is type_ or (is_abstract_type(wanted) and self._is_one(wanted, type_)):
                self._collect(fragment.selection_set, type_, found)

    def _is_one(self, wanted: GraphQLNamedType, type_: GraphQLObjectType) -> bool:
        return is_abstract_type(wanted) and self._schema.is_sub_type(wanted, type_)

    def _is_included(self, node: Any) -> bool:
        given = {
            one.name.value: value_from_ast_untyped(one.arguments[0].value, dict(self._variables))
            for one in node.directives or ()
            if one.name.value in {"skip", "include"}
        }
        return given.get("include", True) is True and given.get("skip", False) is False


def _is_leaf(type_: Any, value: Any) -> bool:
    """Return whether a value of an answer is one of a scalar or of an enum."""
    if isinstance(type_, GraphQLEnumType):
        return value in type_.values
    if type_.name == "DateTime":
        return isinstance(value, str) and datetime.fromisoformat(value).utcoffset() is not None
    if type_.name == "Int":
        return type(value) is int and value in INT
    kinds: dict[str, Any] = {"Float": (int, float), "Boolean": bool, "JSON": object}
    return isinstance(value, kinds.get(type_.name, str)) and (type_.name != "Float" or not isinstance(value, bool))
