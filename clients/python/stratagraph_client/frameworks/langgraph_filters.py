"""Filters of a search in a LangGraph store, compared as JSON values are: a truth value is no number. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Return whether a value has all that a filter asks for. A field that is missing is null.

    Only numbers, and only texts, are less or greater than each other; nothing else is.
    Raises ValueError for an unknown operator.
    """
    return all(_matches(value.get(name), condition) for name, condition in (wanted or {}).items())


def _matches(value: object, condition: object) -> bool:
    if isinstance(condition, Mapping):
        if any(isinstance(name, str) and name.startswith("$") for name in condition):
            compared = [_compares(value, name, other) for name, other in condition.items()]  # unknown ones are told of
            return all(compared)
        return isinstance(value, Mapping) and fits(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(_matches(one, other) for one, other in zip(value, condition, strict=True))
        )
    return _equal(value, condition)


def _compares(value: object, name: str, other: object) -> bool:
    if name == "$eq":
        return _equal(value, other)
    if name == "$ne":
        return not _equal(value, other)
    compare = _ORDERS.get(name)
    if compare is None:
        raise ValueError(f"Unknown operator {name!r} in a filter; use $eq, $ne, $gt, $gte, $lt or $lte.")
    if (_is_number(value) and _is_number(other)) or (isinstance(value, str) and isinstance(other, str)):
        return compare(value, other)
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
