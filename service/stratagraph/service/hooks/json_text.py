"""Changing the text of a JSON file in one place: everything else, also spaces and comments, stays as it is.

Comments and commas after the last element are read, since settings of editors and agents have them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from stratagraph.store.model.errors import InvalidInput

MOST_DEPTH = 200
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')


@dataclass(slots=True)
class Node:
    """A value of a JSON text and its place: `begin` is its first character, `end` the one after its last.

    `value` is that of a scalar; `members` are those of an object, `elements` those of an array, each of which begins
    at its key or its value (`starts`).
    """

    begin: int
    end: int
    value: Any = None
    kind: str = "scalar"
    members: dict[str, Node] = field(default_factory=dict)
    elements: list[Node] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    @property
    def children(self) -> list[Node]:
        """The values of an object or an array, in their order."""
        return list(self.members.values()) if self.kind == "object" else self.elements

    def as_value(self) -> Any:
        """Return the value as Python has it."""
        if self.kind == "object":
            return {name: node.as_value() for name, node in self.members.items()}
        return [node.as_value() for node in self.elements] if self.kind == "array" else self.value


def read(text: str) -> Node:
    """Return the value of a JSON text. Raises InvalidInput naming the line for what is no JSON."""
    node, place = _value(text, _skip(text, 0), 0)
    place = _skip(text, place)
    if place != len(text):
        raise _fault(text, place, "nothing may follow the value")
    return node


def appended(text: str, container: Node, value: Any, *, key: str | None = None) -> str:
    """Return the text with a value added as the last one of an object, under `key`, or of an array.

    It is written with the line ends and the indentation of the text, on one line where the text has one line.
    """
    newline, indent = style(text)
    depth = _depth(text, container, indent)
    written = _written(value, newline, indent, depth + 1)
    if key is not None:
        written = f"{json.dumps(key, ensure_ascii=False)}: {written}"
    before = f"{newline}{indent * (depth + 1)}" if newline else ""
    children = container.children
    if children:
        place = children[-1].end
        return f"{text[:place]},{before or ' '}{written}{text[place:]}"
    place = container.begin + 1
    after = f"{newline}{indent * depth}" if newline else ""
    return f"{text[:place]}{before}{written}{after}{text[place:]}"


def removed(text: str, container: Node, position: int) -> str:
    """Return the text without the value at a position of an object or an array, as it was before `appended`."""
    children, start = container.children, container.starts[position]
    end = children[position].end
    if position > 0:
        begin = children[position - 1].end
        comma = text.index(",", _skip(text, begin))
        return text[:begin] + text[begin:comma] + text[end:]
    begin = container.begin + 1
    if len(children) > 1:
        comma = text.index(",", _skip(text, end))
        return text[:start] + text[_skip_space(text, comma + 1) :]
    newline, indent = style(text)
    after = f"{newline}{indent * _depth(text, container, indent)}" if newline else ""
    if after and text.startswith(after, end):
        end += len(after)
    rest = text[end : container.end - 1]
    comma = rest.find(",") if rest.lstrip().startswith(",") else -1
    return text[:begin] + rest[comma + 1 :] + text[container.end - 1 :]


def style(text: str) -> tuple[str, str]:
    """Return the line end of a text, empty for one line, and its indentation."""
    if "\n" not in text.strip():
        return "", ""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = re.search(r"\n([ \t]+)[\"\[{/]", text)
    return newline, found[1] if found is not None else "  "


def _depth(text: str, container: Node, indent: str) -> int:
    """Return how deep the line is indented on which a container begins."""
    if not indent:
        return 0
    line = text[text.rfind("\n", 0, container.begin) + 1 : container.begin]
    space = line[: len(line) - len(line.lstrip(" \t"))]
    return len(space) // len(indent)


def _written(value: Any, newline: str, indent: str, depth: int) -> str:
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return f"{newline}{indent * depth}".join(lines)


def _value(text: str, place: int, depth: int) -> tuple[Node, int]:
    if depth > MOST_DEPTH:
        raise _fault(text, place, f"it is nested more than {MOST_DEPTH} levels deep")
    first = text[place : place + 1]
    if first in ("{", "["):
        return _container(text, place, depth)
    if first == '"':
        value, end = _string(text, place)
        return Node(place, end, value), end
    found = _SCALAR.match(text, place)
    if found is None:
        raise _fault(text, place, "a value is missing")
    return Node(place, found.end(), json.loads(found[0])), found.end()


def _container(text: str, begin: int, depth: int) -> tuple[Node, int]:
    is_object = text[begin] == "{"
    closing = "}" if is_object else "]"
    node = Node(begin, begin, kind="object" if is_object else "array")
    place = _skip(text, begin + 1)
    while text[place : place + 1] != closing:
        node.starts.append(place)
        if is_object:
            if text[place : place + 1] != '"':
                raise _fault(text, place, "a name in double quotes is missing")
            key, place = _string(text, place)
            if key in node.members:
                raise _fault(text, place, f"the name {json.dumps(key, ensure_ascii=False)} is there twice")
            place = _skip(text, place)
            if text[place : place + 1] != ":":
                raise _fault(text, place, "a colon is missing")
            node.members[key], place = _value(text, _skip(text, place + 1), depth + 1)
        else:
            element, place = _value(text, place, depth + 1)
            node.elements.append(element)
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != closing:
            raise _fault(text, place, f"a comma or {closing} is missing")
    node.end = place + 1
    return node, node.end


def _string(text: str, place: int) -> tuple[str, int]:
    found = _STRING.match(text, place)
    if found is None:
        raise _fault(text, place, "a text does not end, or has a character that must be written as an escape")
    value: str = json.loads(found[0])
    return value, found.end()


def _skip(text: str, place: int) -> int:
    """Return the place after white space and comments."""
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place


def _skip_space(text: str, place: int) -> int:
    return place + len(text[place:]) - len(text[place:].lstrip(" \t\r\n"))


def _fault(text: str, place: int, reason: str) -> InvalidInput:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return InvalidInput(f"line {line}, column {column}: {reason}")
