"""Checks the arguments of a call before anything is asked: each refusal names the argument and says what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import orjson

from stratagraph.service.mcp.definitions import MAX_ITEMS, Argument, Definition, Kind
from stratagraph.service.mcp.refusals import Refused
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.visible_text import is_blank

MAX_BYTES = 512 << 10  # of all arguments of a call, as JSON
_TYPES: Mapping[Kind, type[Any]] = {
    Kind.TEXT: str,
    Kind.ID: str,
    Kind.TEXTS: list,
    Kind.IDS: list,
    Kind.FLAG: bool,
    Kind.OBJECT: dict,
}


def checked(definition: Definition, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a call; null is as if left out. Raises Refused for the first that is wrong."""
    given = _as_json(given or {})
    refuse_unknown(given, definition.arguments, of=definition.name)
    found = {}
    for name, argument in definition.arguments.items():
        value = given.get(name)
        if value is not None:
            _check(name, argument, value)
            found[name] = value
        elif argument.is_required:
            raise Refused(f"{name} is missing; give {argument.kind.value}{_hint(argument)}.", argument=name)
    return found


def refuse_unknown(given: Iterable[str], known: Iterable[str], *, of: str) -> None:
    """Raise Refused for a name that is not known, with the nearest one and all that are."""
    known = list(known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name[:60], known, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise Refused(
                f"{of} has no argument {shown(name)}.{meant} It has {', '.join(known) or 'none'}.", argument=name[:60]
            )


def _as_json(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the API will read them. Raises Refused for what JSON cannot carry, or for too much."""
    try:
        written = orjson.dumps(given)
    except (TypeError, ValueError, RecursionError):
        raise Refused(
            "The arguments cannot be sent: give Unicode without halves of surrogate pairs, numbers of 64 bits, and"
            " objects at most 200 deep."
        ) from None
    if len(written) > MAX_BYTES:
        raise Refused(
            f"The arguments have {len(written):,} bytes, and at most {MAX_BYTES:,} are taken; give a summary, or"
            " several calls."
        )
    found: dict[str, Any] = orjson.loads(written)
    return found


def _check(name: str, argument: Argument, value: Any) -> None:
    kind = argument.kind
    if kind is Kind.INTEGER:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # some clients send 5.0
        if not isinstance(value, int) or isinstance(value, bool) or not argument.least <= value <= argument.most:
            raise Refused(
                f"{name} must be an integer from {argument.least} to {argument.most:,}, not {_said(value)}.",
                argument=name,
            )
        return
    if not isinstance(value, _TYPES[kind]):
        raise Refused(f"{name} must be {kind.value}, not {_said(value)}{_hint(argument)}.", argument=name)
    if isinstance(value, list):
        if len(value) > MAX_ITEMS:
            raise Refused(f"{name} has {len(value):,} items; give at most {MAX_ITEMS}.", argument=name)
        for one in value:
            if not isinstance(one, str):
                raise Refused(f"{name} must be {kind.value}; one of its items is {_said(one)}.", argument=name)
            _check_text(name, argument, one, is_id=kind is Kind.IDS)
    elif isinstance(value, str):
        _check_text(name, argument, value, is_id=kind is Kind.ID)


def _check_text(name: str, argument: Argument, value: str, *, is_id: bool) -> None:
    if is_id:
        if not _is_uuid(value):
            raise Refused(
                f"{name}: {shown(value)} is no id; take it from the answer of an earlier call, such as recall.",
                argument=name,
            )
    elif argument.choices:
        if value not in argument.choices:
            raise Refused(f"{name} must be one of {', '.join(argument.choices)}, not {shown(value)}.", argument=name)
    elif is_blank(value):
        raise Refused(f"{name} is blank; give some text, or leave it out if you can.", argument=name)
    elif "\0" in value:
        raise Refused(f"{name} contains the character U+0000, which cannot be stored; leave it out.", argument=name)
    elif len(value) > argument.most:
        raise Refused(
            f"{name} has {len(value):,} characters; give at most {argument.most:,}: shorten it, or split it.",
            argument=name,
        )


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


def _said(value: Any) -> str:
    return shown(value) if isinstance(value, str | int | float) else json_type(value)


def _hint(argument: Argument) -> str:
    return f" ({argument.says})" if argument.says else ""
