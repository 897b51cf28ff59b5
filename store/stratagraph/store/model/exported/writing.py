"""The JSON of a line of an export: keys in order, defaults left out, times in UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import orjson

from stratagraph.store.model.enums import (
    AuditAction,
    Curve,
    DeletionPolicy,
    MemoryType,
    Outcome,
    RecordState,
    Sensitivity,
)
from stratagraph.store.model.exported import lines
from stratagraph.store.model.exported.lines import Form, Line

# Times are in UTC already, as the store returns them, and as `parse_line` does.
_FORMAT = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
_ALWAYS = ("kind", "format", "version")
_ABSENT = object()  # equal to no value: the default of a field that is always written


def line_bytes(line: Line) -> bytes:
    """Return a line of an export, with its line feed. Equal lines give equal bytes."""
    return orjson.dumps(as_json(line), option=_FORMAT)


def as_json(form: Form) -> dict[str, Any]:
    """Return a form as JSON, without what has its default. Times and ids are left to orjson."""
    made = {}
    for name, default in _DEFAULTS[type(form)]:
        value = getattr(form, name)
        if value is default or (value.__class__ is default.__class__ and value == default):
            continue
        plain = _PLAIN.get(value.__class__)
        made[name] = value if plain is None else plain(value)
    return made


def _items(values: tuple[Any, ...]) -> Any:
    plain = _PLAIN.get(values[0].__class__) if values else None  # all are of one class
    return values if plain is None else [plain(value) for value in values]


def _label(member: Any) -> str:
    return _LABELS[member.__class__][member]


_LABELS = {
    kind: {member: member.label for member in kind}
    for kind in (Curve, DeletionPolicy, MemoryType, Outcome, RecordState, Sensitivity)
}
_FORMS = [one for one in vars(lines).values() if isinstance(one, type) and issubclass(one, Form)]
_DEFAULTS = {
    form: tuple(
        (field.name, _ABSENT if field.default is MISSING or field.name in _ALWAYS else field.default)
        for field in fields(form)
    )
    for form in _FORMS
}
# How a value of a class is written; what is not listed is left to orjson.
_PLAIN: dict[type[Any], Callable[[Any], Any]] = {
    **dict.fromkeys(_FORMS, as_json),
    **dict.fromkeys(_LABELS, _label),
    AuditAction: str,
    tuple: _items,
}
