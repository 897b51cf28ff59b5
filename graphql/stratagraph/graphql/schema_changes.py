"""What changed between two versions of the schema, and which changes break a client that was written for the older.

Elements are named by their coordinates (`Type`, `Type.field`, `Type.field(argument:)`, `Enum.VALUE`). A change breaks a
client where a document or a value that the older schema accepts is refused by the newer, or where an answer has a form
that the older did not allow. A new enum value, a new member of a union and a new optional argument do not: clients
pass over values and types that they do not know (docs/api.md, Compatibility).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLEnumValue,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLUnionType,
    NullValueNode,
    get_named_type,
    is_required_argument,
    is_required_input_field,
    is_specified_scalar_type,
    print_ast,
)

FIELDS = (GraphQLObjectType, GraphQLInterfaceType)
Element = GraphQLField | GraphQLArgument | GraphQLInputField | GraphQLEnumValue


class Effect(StrEnum):
    """What a change means for a client that was written for the older schema."""

    BREAKING = "breaking"
    DEPRECATED = "deprecated"
    CHANGED = "changed"
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Change:
    """One difference. A breaking one is `announced` where the older schema had deprecated what it touches."""

    coordinate: str
    what: str
    effect: Effect
    announced: bool = False

    def __str__(self) -> str:
        return f"`{self.coordinate}` {self.what}".rstrip()


def differences(old: GraphQLSchema, new: GraphQLSchema) -> list[Change]:
    """Return every difference in names, types, defaults and deprecations, ordered by coordinate; not descriptions."""
    return sorted(_Comparison(old, new).changes())


class _Comparison:
    """Two schemas, and the types of the older one that clients meet without using what it had deprecated."""

    def __init__(self, old: GraphQLSchema, new: GraphQLSchema) -> None:
        self._old, self._new = old, new
        self._supported = _supported(old)

    def changes(self) -> Iterator[Change]:
        old, new = _own(self._old), _own(self._new)
        for name, before in old.items():
            now = new.get(name)
            if now is None:
                yield self._breaking(name, name, "was removed")
            elif type(now) is not type(before):
                yield self._breaking(name, name, f"was {_kind(before)} and is {_kind(now)}")
            else:
                yield from self._of_type(name, before, now)
        for name, now in new.items():
            if name not in old:
                yield _added(name, f"({_kind(now)})")

    def _breaking(self, owner: str, coordinate: str, what: str, reason: str | None = None) -> Change:
        """Return a breaking change of something of `owner`, a type; `reason` is that of its deprecation."""
        announced = reason is not None or owner not in self._supported
        return Change(coordinate=coordinate, what=what, effect=Effect.BREAKING, announced=announced)

    def _of_type(self, name: str, old: GraphQLNamedType, new: GraphQLNamedType) -> Iterator[Change]:
        if isinstance(old, FIELDS) and isinstance(new, FIELDS):
            yield from self._of_fields(name, old.fields, new.fields)
            yield from self._of_names(name, "interface", old.interfaces, new.interfaces)
        elif isinstance(old, GraphQLUnionType) and isinstance(new, GraphQLUnionType):
            yield from self._of_names(name, "member", old.types, new.types)
        elif isinstance(old, GraphQLEnumType) and isinstance(new, GraphQLEnumType):
            yield from self._of_values(name, old.values, new.values)
        elif isinstance(old, GraphQLInputObjectType) and isinstance(new, GraphQLInputObjectType):
            if new.is_one_of and not old.is_one_of:
                yield self._breaking(name, name, "takes exactly one field (`@oneOf`)")
            elif old.is_one_of and not new.is_one_of:
                yield Change(coordinate=name, what="takes more than one field (no `@oneOf`)", effect=Effect.CHANGED)
            yield from self._of_inputs(name, name + ".{}", old.fields, new.fields, None)
        elif isinstance(old, GraphQLScalarType) and isinstance(new, GraphQLScalarType):
            before, now = (one.specified_by_url or "nothing" for one in (old, new))
            if before != now:
                yield self._breaking(name, name, f"was specified by {before} and is by {now}")

    def _of_fields(
        self, name: str, old: Mapping[str, GraphQLField], new: Mapping[str, GraphQLField]
    ) -> Iterator[Change]:
        for field, before in old.items():
            where, reason, now = f"{name}.{field}", before.deprecation_reason, new.get(field)
            if now is None:
                yield self._breaking(name, where, "was removed", reason)
                continue
            yield from self._of_output(name, where, before, now)
            yield from self._of_inputs(name, where + "({}:)", before.args, now.args, reason)
            yield from _deprecated(where, before, now)
        yield from (_added(f"{name}.{field}", f"`{new[field].type}`") for field in new if field not in old)

    def _of_output(self, owner: str, where: str, old: GraphQLField, new: GraphQLField) -> Iterator[Change]:
        what = f"was `{old.type}` and is `{new.type}`"
        if not _gives(old.type, new.type):
            yield self._breaking(owner, where, what, old.deprecation_reason)
        elif str(old.type) != str(new.type):
            yield Change(coordinate=where, what=what, effect=Effect.CHANGED)

    def _of_inputs(
        self, owner: str, where: str, old: Mapping[str, Any], new: Mapping[str, Any], reason: str | None
    ) -> Iterator[Change]:
        """Yield the differences of arguments, or of the fields of an input; `reason` deprecates all of them."""
        for name, before in old.items():
            coordinate, now = where.format(name), new.get(name)
            because = reason or before.deprecation_reason
            if now is None:
                yield self._breaking(owner, coordinate, "was removed", because)
                continue
            what = f"was `{_declared(before)}` and is `{_declared(now)}`"
            if not _takes(before.type, now.type) or (_is_required(now) and not _is_required(before)):
                yield self._breaking(owner, coordinate, what, because)
            elif _declared(before) != _declared(now):
                yield Change(coordinate=coordinate, what=what, effect=Effect.CHANGED)
            yield from _deprecated(coordinate, before, now)
        for name, now in new.items():
            if name in old:
                continue
            if _is_required(now):
                yield self._breaking(owner, where.format(name), f"was added and is required, `{now.type}`", reason)
            else:
                yield _added(where.format(name), f"`{_declared(now)}`")

    def _of_values(
        self, name: str, old: Mapping[str, GraphQLEnumValue], new: Mapping[str, GraphQLEnumValue]
    ) -> Iterator[Change]:
        for value, before in old.items():
            if value not in new:
                yield self._breaking(name, f"{name}.{value}", "was removed", before.deprecation_reason)
            else:
                yield from _deprecated(f"{name}.{value}", before, new[value])
        yield from (_added(f"{name}.{value}") for value in new if value not in old)

    def _of_names(
        self, name: str, what: str, old: Sequence[GraphQLNamedType], new: Sequence[GraphQLNamedType]
    ) -> Iterator[Change]:
        before, now = {one.name for one in old}, {one.name for one in new}
        yield from (self._breaking(name, name, f"lost the {what} `{one}`") for one in before - now)
        if added := sorted(now - before):
            yield _added(name, f"with the {what}{'s' * (len(added) > 1)} {', '.join(f'`{one}`' for one in added)}")


def _own(schema: GraphQLSchema) -> dict[str, GraphQLNamedType]:
    return {
        name: type_
        for name, type_ in schema.type_map.items()
        if not name.startswith("__") and not is_specified_scalar_type(type_)
    }


def _supported(schema: GraphQLSchema) -> set[str]:
    """Return the names of the types that can be reached from the operations without anything that is deprecated."""
    waiting: list[Any] = [schema.query_type, schema.mutation_type, schema.subscription_type]
    found: set[str] = set()
    while waiting:
        type_ = get_named_type(waiting.pop())
        if type_ is None or type_.name in found:
            continue
        found.add(type_.name)
        if isinstance(type_, GraphQLUnionType):
            waiting += type_.types
        if isinstance(type_, GraphQLInterfaceType):
            waiting += schema.get_possible_types(type_)
        if isinstance(type_, FIELDS):
            waiting += type_.interfaces
        if isinstance(type_, (*FIELDS, GraphQLInputObjectType)):
            for field in type_.fields.values():
                if field.deprecation_reason is None:
                    waiting.append(field.type)
                    given = getattr(field, "args", {}).values()
                    waiting += [one.type for one in given if one.deprecation_reason is None]
    return found


def _gives(old: Any, new: Any) -> bool:
    """Return whether every value of the type `new` in an answer is one of the type `old`."""
    if isinstance(new, GraphQLNonNull):
        return _gives(old.of_type if isinstance(old, GraphQLNonNull) else old, new.of_type)
    if isinstance(old, GraphQLList) and isinstance(new, GraphQLList):
        return _gives(old.of_type, new.of_type)
    return str(old) == str(new)


def _takes(old: Any, new: Any) -> bool:
    """Return whether every value that can be given for the type `old` can be given for the type `new`."""
    if isinstance(old, GraphQLNonNull):
        return _takes(old.of_type, new.of_type if isinstance(new, GraphQLNonNull) else new)
    if isinstance(old, GraphQLList) and isinstance(new, GraphQLList):
        return _takes(old.of_type, new.of_type)
    return str(old) == str(new)


def _is_required(given: GraphQLArgument | GraphQLInputField) -> bool:
    return is_required_argument(given) if isinstance(given, GraphQLArgument) else is_required_input_field(given)


def _declared(given: GraphQLArgument | GraphQLInputField) -> str:
    """Return the type of an argument of a parsed schema, and its default where that is not null."""
    default = given.ast_node.default_value if given.ast_node is not None else None
    return (
        str(given.type)
        if default is None or isinstance(default, NullValueNode)
        else f"{given.type} = {print_ast(default)}"
    )


def _kind(type_: GraphQLNamedType) -> str:
    return type(type_).__name__.removeprefix("GraphQL").removesuffix("Type").lower().replace("inputobject", "input")


def _added(coordinate: str, what: str = "") -> Change:
    return Change(coordinate=coordinate, what=what, effect=Effect.ADDED)


def _deprecated(coordinate: str, old: Element, new: Element) -> Iterator[Change]:
    if new.deprecation_reason is not None and new.deprecation_reason != old.deprecation_reason:
        yield Change(coordinate=coordinate, what=new.deprecation_reason, effect=Effect.DEPRECATED)
    if new.deprecation_reason is None and old.deprecation_reason is not None:
        yield Change(coordinate=coordinate, what="is no longer deprecated", effect=Effect.CHANGED)
