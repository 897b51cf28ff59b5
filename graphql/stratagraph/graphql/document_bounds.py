"""Bounds on GraphQL documents, checked on the parsed document before it is validated.

Validation by the standard rules takes time that grows with the square of a document's fields, and exponentially with
fragments that spread one another. The checks here take time linear in the document, because the selections of a
fragment are counted once however often it is spread; a document is expanded only if that count is within
MAX_SELECTIONS. The documents that pass are small enough for the standard rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FloatValueNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    StringValueNode,
)

MAX_OPERATIONS = 20
MAX_FRAGMENTS = 50
MAX_VARIABLES = 100  # of an operation
MAX_DIRECTIVES = 50  # of the document
MAX_SELECTIONS_OF_SET = 100  # fields, spreads and inline fragments between one pair of braces
MAX_SELECTIONS = 2_000  # of all operations, each fragment counted as often as it is spread
MAX_REPEATS = 25  # how often an operation may select the field of one response path
MAX_ALIASES = 20  # of an operation, each fragment counted as often as it is spread
MAX_DEPTH = 12  # levels of fields below those of the operation itself
MAX_INTROSPECTION_DEPTH = 20  # the same within __schema and __type; the standard introspection query has 14
MAX_LITERAL_DEPTH = 20  # levels of lists and objects in a value
MAX_LITERAL_DIGITS = 308  # characters of a number, which a double can hold
_INTROSPECTION = ("__schema", "__type")
_Definition = OperationDefinitionNode | FragmentDefinitionNode


def check_bounds(document: DocumentNode) -> None:
    """Check the document against the limits of this module. Raises GraphQLError, which says what to change."""
    operations: list[OperationDefinitionNode] = []
    fragments: dict[str, FragmentDefinitionNode] = {}
    fragment_count = 0
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            operations.append(definition)
        elif isinstance(definition, FragmentDefinitionNode):
            fragment_count += 1
            # Two fragments of one name are reported by the standard rules.
            fragments.setdefault(definition.name.value, definition)
        else:
            raise GraphQLError(
                "The document contains a definition that is neither an operation nor a fragment; remove it.", definition
            )
    _at_most(MAX_OPERATIONS, len(operations), "operations", document)
    _at_most(MAX_FRAGMENTS, fragment_count, "fragments", document)
    _check_nodes(document)
    sizes = _sizes(fragments)
    total = 0
    for operation in operations:
        _at_most(MAX_VARIABLES, len(operation.variable_definitions or ()), "variables", operation)
        total += _Size.of(operation, sizes).total
        if total > MAX_SELECTIONS:
            raise GraphQLError(
                f"The document selects more than {MAX_SELECTIONS:,} fields, with each fragment counted as often as it"
                " is spread; select fewer fields, or send several requests.",
                operation,
            )
    for operation in operations:
        _check_expanded(operation, fragments)


def _at_most(limit: int, count: int, what: str, node: Node) -> None:
    if count > limit:
        raise GraphQLError(f"{count:,} {what}; at most {limit:,} are allowed, so send several requests.", node)


def _check_nodes(document: DocumentNode) -> None:
    """Check what can be seen at each node alone: selections of a set, directives, and literal values."""
    directives = 0
    stack: list[tuple[Node, int]] = [(document, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, SelectionSetNode):
            _at_most(MAX_SELECTIONS_OF_SET, len(node.selections), "selections in one pair of braces", node)
        elif isinstance(node, DirectiveNode):
            directives += 1
            _at_most(MAX_DIRECTIVES, directives, "directives", node)
        elif isinstance(node, ListValueNode | ObjectValueNode):
            depth += 1
            if depth > MAX_LITERAL_DEPTH:
                raise GraphQLError(
                    f"A value is nested deeper than {MAX_LITERAL_DEPTH} levels; send it as a variable.", node
                )
        elif isinstance(node, IntValueNode | FloatValueNode):
            if len(node.value) > MAX_LITERAL_DIGITS:
                raise GraphQLError(f"A number has over {MAX_LITERAL_DIGITS} digits; send it as a string.", node)
        elif isinstance(node, StringValueNode) and "\x00" in node.value:
            raise GraphQLError("A string contains the character U+0000, which cannot be stored; leave it out.", node)
        for key in node.keys:
            child = getattr(node, key, None)
            if isinstance(child, Node):
                stack.append((child, depth))
            elif isinstance(child, tuple | list):
                stack.extend((item, depth) for item in child)


@dataclass(slots=True)
class _Size:
    """The selections of a definition: those it contains itself, and the fragments that it spreads."""

    own: int
    spreads: list[FragmentSpreadNode] = field(default_factory=list)
    total: int = 0

    @classmethod
    def of(cls, definition: _Definition, sizes: dict[str, _Size]) -> _Size:
        """Count the selections. `total` includes those of spread fragments, as far as `sizes` has them."""
        size = cls(own=0)
        stack = [definition.selection_set]
        while stack:
            for selection in stack.pop().selections:
                size.own += 1
                if isinstance(selection, FragmentSpreadNode):
                    size.spreads.append(selection)
                elif isinstance(selection, FieldNode | InlineFragmentNode) and selection.selection_set is not None:
                    stack.append(selection.selection_set)
        size.add_up(sizes)
        return size

    def add_up(self, sizes: dict[str, _Size]) -> None:
        self.total = self.own + sum(sizes[name].total for name in self.spread_names if name in sizes)

    @property
    def spread_names(self) -> Iterable[str]:
        return (spread.name.value for spread in self.spreads)


def _sizes(fragments: dict[str, FragmentDefinitionNode]) -> dict[str, _Size]:
    """Return the size of each fragment. Raises GraphQLError for fragments that spread one another in a circle."""
    sizes = {name: _Size.of(fragment, {}) for name, fragment in fragments.items()}
    done: set[str] = set()
    for root, size in sizes.items():
        # The fragments on the way from `root`, each with those of its spreads that are still to be followed.
        path = [(root, iter(size.spreads))] if root not in done else []
        on_path = {root}
        while path:
            name, spreads = path[-1]
            spread = next(spreads, None)
            if spread is None:
                sizes[name].add_up(sizes)
                done.add(name)
                on_path.remove(name)
                path.pop()
                continue
            other = spread.name.value
            if other in on_path:
                raise GraphQLError(
                    f"The fragment {other} spreads itself, directly or through others; remove the spread.", spread
                )
            if other in sizes and other not in done:
                path.append((other, iter(sizes[other].spreads)))
                on_path.add(other)
    return sizes


@dataclass(slots=True)
class _Level:
    """The selection sets of one response path, which the answer merges into one object."""

    sets: list[SelectionSetNode]
    depth: int
    is_introspection: bool


def _check_expanded(operation: OperationDefinitionNode, fragments: dict[str, FragmentDefinitionNode]) -> None:
    """Check depth, aliases and repeated fields of an operation whose expanded selections are within MAX_SELECTIONS."""
    aliases = 0
    levels = [_Level([operation.selection_set], depth=0, is_introspection=False)]
    while levels:
        level = levels.pop()
        for fields in _fields_by_key(level.sets, fragments).values():
            first = fields[0]
            names = {one.name.value for one in fields}  # several only in documents that are not valid
            is_introspection = level.is_introspection or not names.isdisjoint(_INTROSPECTION)
            if len(fields) > MAX_REPEATS:
                raise GraphQLError(
                    f"The field {first.name.value} is selected {len(fields):,} times at one place; at most"
                    f" {MAX_REPEATS} are allowed, so select it once.",
                    first,
                )
            aliased = sum(1 for one in fields if one.alias is not None)
            aliases += aliased
            if aliases > MAX_ALIASES:
                raise GraphQLError(
                    f"The operation has more than {MAX_ALIASES} aliases, with each fragment counted as often as it is"
                    " spread; send several requests.",
                    first,
                )
            if aliased and (level.is_introspection or "__schema" in names):
                raise GraphQLError("An alias of __schema, or within introspection, is not allowed; remove it.", first)
            limit = MAX_INTROSPECTION_DEPTH if is_introspection else MAX_DEPTH
            if level.depth > limit:
                raise GraphQLError(
                    f"The field {first.name.value} is more than {limit} levels below the operation; ask for the inner"
                    " records by another request.",
                    first,
                )
            sets = [one.selection_set for one in fields if one.selection_set is not None]
            if sets:
                levels.append(_Level(sets, level.depth + 1, is_introspection))


def _fields_by_key(
    sets: list[SelectionSetNode], fragments: dict[str, FragmentDefinitionNode]
) -> dict[str, list[FieldNode]]:
    """Return the fields of the sets by response key, with fragments expanded."""
    found: dict[str, list[FieldNode]] = {}
    stack: list[SelectionNode] = [selection for one in sets for selection in one.selections]
    while stack:
        selection = stack.pop()
        if isinstance(selection, FieldNode):
            key = (selection.alias or selection.name).value
            found.setdefault(key, []).append(selection)
        elif isinstance(selection, InlineFragmentNode):
            stack.extend(selection.selection_set.selections)
        elif isinstance(selection, FragmentSpreadNode):
            fragment = fragments.get(selection.name.value)
            if fragment is not None:
                stack.extend(fragment.selection_set.selections)
    return found
