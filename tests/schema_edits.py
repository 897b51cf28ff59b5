"""Random edits of a schema: such that break a client, and such that do not."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    is_specified_scalar_type,
    print_ast,
)


@dataclass
class Item:
    """A field, an argument, an enum value, a member or an interface, as far as it has a type and arguments."""

    type: str = ""
    default: str = ""
    deprecated: bool = False
    arguments: dict[str, Item] = field(default_factory=dict)

    def text(self, name: str) -> str:
        given = ", ".join(one.text(argument) for argument, one in self.arguments.items())
        return (
            name
            + (f"({given})" if given else "")
            + (f": {self.type}" if self.type else "")
            + (f" = {self.default}" if self.default else "")
            + (' @deprecated(reason: "Since 1.0.0, x.")' if self.deprecated else "")
        )

    @property
    def may_be_null(self) -> bool:
        return not self.type.endswith("!")

    def require(self) -> None:
        self.type, self.default = f"{self.type.rstrip('!')}!", ""

    def retype(self) -> None:
        self.type, self.default = "[Boolean!]" if self.type != "[Boolean!]" else "Int", ""


@dataclass
class Type:
    """A type: its keyword in the definition language, and what it consists of."""

    keyword: str
    items: dict[str, Item] = field(default_factory=dict)  # fields, values of an enum, or members of a union
    interfaces: list[str] = field(default_factory=list)
    one_of: bool = False

    def text(self, name: str) -> str:
        head = f"{self.keyword} {name}"
        if self.keyword == "union":
            return f"{head} = {' | '.join(self.items)}"
        if self.interfaces:
            head += f" implements {' & '.join(self.interfaces)}"
        if self.one_of:
            head += " @oneOf"
        if self.keyword == "scalar":
            return head
        return head + " {\n  " + "\n  ".join(one.text(item) for item, one in self.items.items()) + "\n}"


def model_of(schema: GraphQLSchema) -> dict[str, Type]:
    """Return the types of a parsed schema, without descriptions."""
    return {
        name: Type(*_parts(type_))
        for name, type_ in schema.type_map.items()
        if not name.startswith("__") and not is_specified_scalar_type(type_)
    }


def _parts(type_: object) -> tuple[str, dict[str, Item], list[str], bool]:
    if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType):
        keyword = "type" if isinstance(type_, GraphQLObjectType) else "interface"
        items = {
            name: Item(str(one.type), "", one.deprecation_reason is not None, _inputs(one.args))
            for name, one in type_.fields.items()
        }
        return keyword, items, [one.name for one in type_.interfaces], False
    if isinstance(type_, GraphQLInputObjectType):
        return "input", _inputs(type_.fields), [], type_.is_one_of
    if isinstance(type_, GraphQLEnumType):
        values = {name: Item(deprecated=one.deprecation_reason is not None) for name, one in type_.values.items()}
        return "enum", values, [], False
    if isinstance(type_, GraphQLUnionType):
        return "union", {one.name: Item() for one in type_.types}, [], False
    return "scalar", {}, [], False


def _inputs(given: dict[str, GraphQLArgument] | dict[str, GraphQLInputField]) -> dict[str, Item]:
    found = {}
    for name, one in given.items():
        literal = one.ast_node.default_value if one.ast_node is not None else None
        default = "" if literal is None else print_ast(literal)
        found[name] = Item(str(one.type), default, one.deprecation_reason is not None)
    return found


@dataclass
class Edited:
    """A schema that is edited. An edit of a type is of one that no other touches, one of an item of another item."""

    types: dict[str, Type]
    random: Random
    types_touched: set[str] = field(default_factory=set)  # by edits of the type itself
    items_touched: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, types: dict[str, Type], random: Random) -> Edited:
        return cls(copy.deepcopy(types), random)

    def text(self) -> str:
        return "\n".join(one.text(name) for name, one in self.types.items())

    def _type(self, accepts: Callable[[Type], bool] = lambda _: True) -> str:
        """Return the name of a random type, and touch it."""
        taken = self.types_touched | {owner for owner, _ in self.items_touched}
        name = self.random.choice([name for name, one in self.types.items() if name not in taken and accepts(one)])
        self.types_touched.add(name)
        return name

    def _item(self, *keywords: str, accepts: Callable[[Item], bool] = lambda _: True) -> tuple[Type, str, str, Item]:
        """Return a random item of a type with one of these keywords: its type, coordinate, name, and itself."""
        found = [
            (owner, item)
            for owner, one in self.types.items()
            if one.keyword in keywords and owner not in self.types_touched and not one.one_of
            for item, made in one.items.items()
            if (owner, item) not in self.items_touched and accepts(made)
        ]
        owner, item = self.random.choice(found)
        self.items_touched.add((owner, item))
        return self.types[owner], f"{owner}.{item}", item, self.types[owner].items[item]

    def _argument(self, accepts: Callable[[Item], bool] = lambda _: True) -> tuple[Item, str, str, Item]:
        """Return a random argument: its field, coordinate, name, and itself."""
        _, where, _, item = self._item(*FIELDS, accepts=lambda one: any(map(accepts, one.arguments.values())))
        name = self.random.choice([name for name, one in item.arguments.items() if accepts(one)])
        return item, f"{where}({name}:)", name, item.arguments[name]

    # Edits that break a client; each returns the coordinate of what it changed.

    def remove_field(self) -> str:
        owner, where, name, _ = self._item(*FIELDS)
        owner.items = {"left": Item("Int")} | {key: one for key, one in owner.items.items() if key != name}
        return where

    def remove_argument(self) -> str:
        item, where, name, _ = self._argument()
        del item.arguments[name]
        return where

    def remove_input(self) -> str:
        owner, where, name, _ = self._item("input")
        owner.items = {"left": Item("Int")} | {key: one for key, one in owner.items.items() if key != name}
        return where

    def remove_value(self) -> str:
        owner, where, name, _ = self._item("enum")
        owner.items = {"LEFT": Item()} | {key: one for key, one in owner.items.items() if key != name}
        return where

    def remove_member(self) -> str:
        name = self._type(lambda one: one.keyword == "union" and len(one.items) > 1)
        del self.types[name].items[self.random.choice(list(self.types[name].items))]
        return name

    def remove_interface(self) -> str:
        name = self._type(lambda one: bool(one.interfaces))
        self.types[name].interfaces.pop()
        return name

    def allow_null(self) -> str:
        _, where, _, item = self._item(*FIELDS, accepts=lambda one: not one.may_be_null)
        item.type = item.type[:-1]
        return where

    def change_output(self) -> str:
        _, where, _, item = self._item(*FIELDS)
        item.retype()
        return where

    def require_argument(self) -> str:
        _, where, _, given = self._argument(lambda one: one.may_be_null)
        given.require()
        return where

    def require_input(self) -> str:
        _, where, _, item = self._item("input", accepts=lambda one: one.may_be_null)
        item.require()
        return where

    def change_argument(self) -> str:
        _, where, _, given = self._argument()
        given.retype()
        return where

    def add_required_argument(self) -> str:
        _, where, _, item = self._item(*FIELDS)
        item.arguments["addedItem"] = Item("Int!")
        return f"{where}(addedItem:)"

    def add_required_input(self) -> str:
        name = self._type(lambda one: one.keyword == "input" and not one.one_of)
        self.types[name].items["addedItem"] = Item("[String!]!")
        return f"{name}.addedItem"

    def take_exactly_one(self) -> str:
        name = self._type(lambda one: one.keyword == "input" and not one.one_of)
        self.types[name].one_of = True
        for item in self.types[name].items.values():
            item.type, item.default = item.type.rstrip("!"), ""
        return name

    def change_kind(self) -> str:
        name = self._type(lambda one: one.keyword == "enum")
        self.types[name] = Type("scalar")
        for one in _all_items(self.types):
            one.default = "" if one.type.strip("[]!") == name else one.default
        return name

    def rename_type(self) -> str:
        name = self._type(lambda one: one.keyword in {"enum", "input"})
        self.types[f"{name}Renamed"] = self.types.pop(name)
        for one in _all_items(self.types):
            one.type = re.sub(rf"\b{name}\b", f"{name}Renamed", one.type)
        return name

    # Edits that break no client.

    def add_field(self) -> str:
        name = self._type(lambda one: one.keyword == "type")
        self.types[name].items["addedItem"] = Item("Int!")
        return f"{name}.addedItem"

    def add_optional_argument(self) -> str:
        _, where, _, item = self._item(*FIELDS)
        item.arguments["addedItem"] = Item("[ID!]")
        return f"{where}(addedItem:)"

    def add_optional_input(self) -> str:
        name = self._type(lambda one: one.keyword == "input")
        self.types[name].items["addedItem"] = Item("Float")
        return f"{name}.addedItem"

    def add_value(self) -> str:
        name = self._type(lambda one: one.keyword == "enum")
        self.types[name].items["EXTRA"] = Item()
        return f"{name}.EXTRA"

    def promise_value(self) -> str:
        _, where, _, item = self._item("type", accepts=lambda one: one.may_be_null)
        item.type += "!"
        return where

    def take_null(self) -> str:
        _, where, _, given = self._argument(lambda one: not one.may_be_null)
        given.type = given.type[:-1]
        return where

    def deprecate(self) -> str:
        _, where, _, item = self._item("type", "enum", accepts=lambda one: not one.deprecated)
        item.deprecated = True
        return where


FIELDS = ("type", "interface")
BREAKING: list[Callable[[Edited], str]] = [
    Edited.remove_field, Edited.remove_argument, Edited.remove_input, Edited.remove_value, Edited.remove_member,
    Edited.remove_interface, Edited.allow_null, Edited.change_output, Edited.require_argument, Edited.require_input,
    Edited.change_argument, Edited.add_required_argument, Edited.add_required_input, Edited.take_exactly_one,
    Edited.change_kind, Edited.rename_type,
]  # fmt: skip
COMPATIBLE: list[Callable[[Edited], str]] = [
    Edited.add_field, Edited.add_optional_argument, Edited.add_optional_input, Edited.add_value, Edited.promise_value,
    Edited.take_null, Edited.deprecate,
]  # fmt: skip


def _all_items(types: dict[str, Type]) -> Iterator[Item]:
    for one in types.values():
        for item in one.items.values():
            yield item
            yield from item.arguments.values()
