"""JSON merge patches (RFC 7396): a change of a document in the form of the document. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def patched(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the members of the patch: null removes one, objects are patched member by member.

    Any other value, a list too, takes the place of the whole member.

    >>> patched({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}, "e": [{"f": None}]})
    {'b': {'c': 4, 'd': 3}, 'e': [{'f': None}]}
    """
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping):
            before = merged.get(name)
            merged[name] = patched(before if isinstance(before, Mapping) else {}, value)
        else:
            merged[name] = value
    return merged
