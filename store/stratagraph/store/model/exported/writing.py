"""The JSON of a line of an export: keys in order, defaults left out, times in UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType, Outcome, RecordState, Sensitivity
from stratagraph.store.model.exported import lines
from stratagraph.store.model.exported.lines import Form, Line

_FORMAT = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_ALWAYS = ("kind", "format", "version")
_ABSENT = object()  # equal to no value: the default of a field that is always written


def line_bytes(line: Line) -> bytes:
    """Return a line of an export, with its line feed. Equal lines give equal bytes."""
    return orjson.dumps(as_json(line), option=_FORMAT)


def as_json(form: Form) -> dict[str, Any]:
    """Return a form as plain JSON, without what has its default."""
    made = {}
    for name, default in _DEFAULTS[type(form)]:
        value = getattr(form, name)
        if value is not default and value != default:
            plain = _PLAIN.get(type(value))
            made[name] = value if plain is None else plain(value)
    return made


def _items(values: tuple[Any, ...]) -> list[Any]:
    return [value if (plain := _PLAIN.get(type(value))) is None else plain(value) for value in values]


def _label(member: Any) -> str:
    label: str = member.label
    return label


_FORMS = [one for one in vars(lines).values() if isinstance(one, type) and issubclass(one, Form)]
_DEFAULTS = {
    form: tuple(
        (field.name, _ABSENT if field.default is MISSING or field.name in _ALWAYS else field.default)
        for field in fields(form)
    )
    for form in _FORMS
}
# How a value of a type is written; what is not listed is JSON already.
_PLAIN: dict[type[Any], Callable[[Any], Any]] = {
    **dict.fromkeys(_FORMS, as_json),
    **dict.fromkeys((Curve, DeletionPolicy, MemoryType, Outcome, RecordState, Sensitivity), _label),
    datetime: rfc3339,
    UUID: str,
    tuple: _items,
}
