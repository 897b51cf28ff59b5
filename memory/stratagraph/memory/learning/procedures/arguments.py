"""Schemas of arguments, inferred from the arguments that calls had. No I/O.

The values of an argument are the leaves of its JSON: `payment_methods[].amount` names the amounts in a list of objects.
In a key, the characters that paths are made of are written `%` and their code: `%2E` is a dot that belongs to a name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

from stratagraph.memory.learning.procedures.witnesses import ShownValues, Witness

MAX_VALUES = 6  # different values of one argument that are kept; more of them are no enumeration
MAX_LENGTH = 120  # characters of a text that may be a value of an enumeration
MAX_LEAVES = 64  # of the arguments of one call; further ones are left out
MAX_DEPTH = 6  # objects and lists within each other
MAX_ORIGINS = 12  # different origins of one argument that are kept, the newest
ENUM_EVIDENCE = 2.0  # times that each value was seen, on average, before a few values count as all there are
_PATH_CHARACTER = re.compile(r"[%.\[\]]")
_NO_NAME = "%"  # stands for an empty key
COMPOSED, SAID = "composed", "said"  # origins: made up by the agent; in the user's words. Others name a result


def leaves(args: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each scalar within a JSON value, objects in the order of their keys."""
    if isinstance(args, Mapping) and depth < MAX_DEPTH:
        for key in sorted(args):
            yield from leaves(args[key], joined(path, key), depth + 1)
    elif isinstance(args, list) and depth < MAX_DEPTH:
        for item in args:
            yield from leaves(item, f"{path}[]", depth + 1)
    elif not isinstance(args, Mapping | list):
        yield path, args


def joined(path: str, key: str) -> str:
    """Return the path of a value of the object at `path`.

    >>> joined("user", "name"), joined("", "a.b"), joined("", "")
    ('user.name', 'a%2Eb', '%')
    """
    name = _PATH_CHARACTER.sub(lambda found: f"%{ord(found[0]):02X}", key) or _NO_NAME
    return f"{path}.{name}" if path else name


def origin_in_result(tool: str, path: str) -> str:
    """Return the origin of a value that the result of `tool` has at `path`; "" is a result that is a text.

    A tool that is called as one of the other origins differs from it by the colon.

    >>> origin_in_result("find", "user"), origin_in_result("find", ""), origin_in_result("said", "")
    ('find: user', 'find', 'said:')
    """
    if path:
        return f"{tool}: {path}"
    return f"{tool}:" if tool in (COMPOSED, SAID) else tool


@dataclass(frozen=True, slots=True)
class Argument:
    """What was seen of one argument, by its path.

    `calls` is the number of calls that had it. `types` are the JSON types of its values, `values` the values that may
    be an enumeration, and `origins` where they came from: COMPOSED, SAID, or `<tool>: <path>` for the result of an
    earlier call.
    """

    calls: int = 0
    types: ShownValues = field(default_factory=ShownValues)
    values: ShownValues = field(default_factory=ShownValues)
    origins: ShownValues = field(default_factory=ShownValues)

    def merged(self, other: Argument) -> Argument:
        """Return what was seen of both."""
        return Argument(
            self.calls + other.calls,
            self.types.newest_merged(other.types, most=MAX_ORIGINS),
            self.values.merged(other.values, most=MAX_VALUES),
            self.origins.newest_merged(other.origins, most=MAX_ORIGINS),
        )

    def forgetting(self, episodes: Collection[str]) -> Argument | None:
        """Return what others than `episodes` showed; None if that is nothing."""
        types = self.types.forgetting(episodes)
        if not types.values:
            return None
        return Argument(self.calls, types, self.values.forgetting(episodes), self.origins.forgetting(episodes))

    def as_json(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the argument as JSON, which `of_json` reads."""
        return {
            "calls": self.calls,
            "types": self.types.as_json(episodes),
            "values": self.values.as_json(episodes),
            "origins": self.origins.as_json(episodes),
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], episodes: Sequence[Witness]) -> Self:
        """Return the argument of `as_json`."""
        types, values, origins = (
            ShownValues.of_json(stored[name], episodes) for name in ("types", "values", "origins")
        )
        return cls(int(stored["calls"]), types, values, origins)


def arguments_of(
    calls: Sequence[Mapping[str, Any]], origins: Sequence[Mapping[str, str]], witness: Witness
) -> dict[str, Argument]:
    """Return what one episode shows of the arguments of a step, given those of its calls and where each came from."""
    found: dict[str, Argument] = {}
    for args, from_ in zip(calls, origins, strict=True):
        seen: dict[str, Argument] = {}
        for path, value in list(leaves(args))[:MAX_LEAVES]:
            is_short = not isinstance(value, str) or len(value) <= MAX_LENGTH
            one = Argument(
                1,
                ShownValues.one(_type_of(value), witness),
                ShownValues.one(value, witness) if is_short else ShownValues(overflows=True),
                ShownValues.one(from_.get(path, COMPOSED), witness),
            )
            # Several entries of a list are one argument of the call.
            seen[path] = one if path not in seen else _within_call(seen[path], one)
        for path, one in seen.items():
            found[path] = found[path].merged(one) if path in found else one
    return found


def _within_call(one: Argument, other: Argument) -> Argument:
    both = one.merged(other)
    return Argument(1, both.types, both.values, both.origins)


def _type_of(value: Any) -> str:
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def schema_of(arguments: Mapping[str, Argument], *, calls: int, episodes: int) -> dict[str, Any]:
    """Return a JSON Schema of the arguments of a step, from what `calls` of it in `episodes` episodes had.

    An argument that every call had is required. One with a single value in several episodes has a `const`, one with few
    values, each of them seen repeatedly, an `enum`; arguments that come from elsewhere have neither, but `source` says
    where most of their values came from.
    """
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for path, one in sorted(arguments.items()):
        _place(schema, path.split("."), _leaf(one, episodes))
    required = sorted({_split(path.split(".")[0])[0] for path, one in arguments.items() if one.calls >= calls})
    return {**schema, **({"required": required} if required else {})}


def _leaf(one: Argument, episodes: int) -> dict[str, Any]:
    types = sorted({shown.value for shown in one.types.values})
    if "number" in types and "integer" in types:
        types.remove("integer")
    leaf: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    origin = main_origin(one)
    if origin is not None and origin != COMPOSED:
        return leaf | {"source": origin}
    values = [shown.value for shown in one.values.values]
    if one.values.overflows or not values:
        return leaf
    if len(values) == 1 and episodes > 1 and one.values.total > 1:
        return leaf | {"const": values[0]}
    if len(values) > 1 and one.values.total >= ENUM_EVIDENCE * len(values):
        return leaf | {"enum": values}
    return leaf


def main_origin(one: Argument) -> str | None:
    """Return where at least half of the values came from; None where nothing is known of it, or they came from many."""
    by_count = one.origins.by_count()
    if not by_count or 2 * by_count[0].count < one.origins.total:
        return None
    origin: str = by_count[0].value
    return origin


def _place(schema: dict[str, Any], names: Sequence[str], leaf: dict[str, Any]) -> None:
    """Put the schema of a leaf into that of its arguments, which an earlier leaf may have given another shape."""
    name, depth = _split(names[0])
    properties = schema.setdefault("properties", {})
    inner = leaf
    if len(names) > 1:
        inner = _innermost(properties.get(name, {}))
        inner = inner if "properties" in inner else {"type": "object"}
        _place(inner, names[1:], leaf)
    for _ in range(depth):
        inner = {"type": "array", "items": inner}
    properties[name] = inner


def _split(part: str) -> tuple[str, int]:
    """Return the key that a part of a path names, and how many lists its value is in."""
    name, *lists = part.split("[]")
    return "" if name == _NO_NAME else unquote(name), len(lists)


def _innermost(schema: dict[str, Any]) -> dict[str, Any]:
    while "items" in schema:
        schema = schema["items"]
    return schema
