"""The cost of an operation, estimated from its document and its variables before it runs.

The walk takes time in proportion to the document: the selections of a fragment are walked once for each field of Query
or Mutation that uses them, however often they are spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SchemaMetaFieldDef,
    SelectionSetNode,
    TypeMetaFieldDef,
    VariableDefinitionNode,
    get_named_type,
    value_from_ast_untyped,
)

from stratagraph.graphql.limits.costs import (
    FIELD,
    LIST,
    MOST,
    NESTED,
    OPERATION,
    UNKNOWN,
    WORK,
    Arguments,
    Nested,
    Work,
)

_META = {"__schema": SchemaMetaFieldDef, "__type": TypeMetaFieldDef}


def estimate(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> float:
    """Return the cost of a valid operation in points. Aliases cost as often as they are named; @skip is ignored."""
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    root = schema.get_root_type(operation.operation)
    if root is None:
        return OPERATION
    values = {**_defaults(operation.variable_definitions or ()), **variables}
    fields = _root_fields(fragments, operation.selection_set, set())
    return min(MOST, OPERATION + sum(_root_field(schema, fragments, root, node, values) for node in fields))


def _defaults(definitions: Iterable[VariableDefinitionNode]) -> dict[str, Any]:
    return {
        definition.variable.name.value: value_from_ast_untyped(definition.default_value)
        for definition in definitions
        if definition.default_value is not None
    }


def _root_fields(
    fragments: Mapping[str, FragmentDefinitionNode], selections: SelectionSetNode, seen: set[str]
) -> list[FieldNode]:
    """Return the fields at the root, those of a fragment once however often it is spread."""
    found: list[FieldNode] = []
    for node in selections.selections:
        if isinstance(node, FieldNode):
            found.append(node)
        elif isinstance(node, InlineFragmentNode):
            found += _root_fields(fragments, node.selection_set, seen)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
            seen.add(node.name.value)
            if node.name.value in fragments:
                found += _root_fields(fragments, fragments[node.name.value].selection_set, seen)
    return found


def _root_field(
    schema: GraphQLSchema,
    fragments: Mapping[str, FragmentDefinitionNode],
    root: GraphQLObjectType,
    node: FieldNode,
    variables: Mapping[str, Any],
) -> float:
    name = node.name.value
    work = WORK[name](arguments_of(node, variables)) if name in WORK else Work(UNKNOWN)
    definition = root.fields.get(name) or _META.get(name)
    if definition is None or node.selection_set is None:
        return work.points
    walk = _Walk(schema, fragments, work.lists, variables)
    below = walk.cost(node.selection_set, get_named_type(definition.type))
    return work.points + walk.length(name, definition.type) * below


def arguments_of(node: FieldNode, variables: Mapping[str, Any]) -> Arguments:
    """Return the arguments of a field as they were sent."""
    return Arguments(
        {
            argument.name.value: value_from_ast_untyped(argument.value, dict(variables))
            for argument in node.arguments or ()
        }
    )


class _Walk:
    """The walk over the selections below one field of Query or Mutation, which fixes the lengths of lists."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: Mapping[str, FragmentDefinitionNode],
        lists: Mapping[str, int],
        variables: Mapping[str, Any],
        walks: dict[tuple[tuple[str, int], ...], _Walk] | None = None,
    ) -> None:
        self._schema = schema
        self._fragments = fragments
        self._lists = lists
        self._variables = variables
        self._walks = walks if walks is not None else {}  # those below pages, so that each fragment is walked once
        self._of_fragments: dict[str, float] = {}

    def cost(self, selections: SelectionSetNode, parent: Any) -> float:
        """Return the points of reading the selections from one object of the type `parent`."""
        total = 0.0
        for node in selections.selections:
            if isinstance(node, FieldNode):
                total += FIELD + self._field(node, parent)
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                inner = self._schema.get_type(condition.name.value) if condition is not None else parent
                total += self.cost(node.selection_set, inner)
            elif isinstance(node, FragmentSpreadNode):
                total += self._fragment(node.name.value)
        return total

    def _fragment(self, name: str) -> float:
        if name not in self._of_fragments:
            self._of_fragments[name] = 0.0  # a fragment within itself, which validation refuses, ends here
            fragment = self._fragments[name]
            parent = self._schema.get_type(fragment.type_condition.name.value)
            self._of_fragments[name] = self.cost(fragment.selection_set, parent)
        return self._of_fragments[name]

    def _field(self, node: FieldNode, parent: Any) -> float:
        name = node.name.value
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) or name not in parent.fields:
            return 0.0  # __typename
        nested = NESTED.get((parent.name, name))
        output = parent.fields[name].type
        if nested is not None and nested.page is not None:
            return self._page(node, nested, get_named_type(output))
        below = self.cost(node.selection_set, get_named_type(output)) if node.selection_set is not None else 0.0
        if nested is not None:
            return nested.points + nested.items * below
        return self.length(name, output) * below

    def _page(self, node: FieldNode, nested: Nested, output: Any) -> float:
        """Return the points of a page below a field, whose lists have as many items as its arguments say."""
        work = nested.work(arguments_of(node, self._variables))
        if node.selection_set is None:
            return work.points
        lists = {**self._lists, **work.lists}
        within = self._walks.setdefault(
            tuple(sorted(lists.items())), _Walk(self._schema, self._fragments, lists, self._variables, self._walks)
        )
        return work.points + within.cost(node.selection_set, output)

    def length(self, name: str, output: Any) -> int:
        """Return how many objects a field may return: 1 where its type is no list."""
        return self._lists.get(name, LIST) if _is_list(output) else 1


def _is_list(output: Any) -> bool:
    return isinstance(output.of_type if isinstance(output, GraphQLNonNull) else output, GraphQLList)
