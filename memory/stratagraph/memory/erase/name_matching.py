"""Finding the names of entities in texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from stratagraph.store.model.canonical import normalised_name


def names_in(content: Mapping[str, Any]) -> set[str]:
    """Return the canonical name, the aliases and the identifiers in the content of an entity."""
    payload = content["payload"]
    aliases = [alias["value"] for alias in payload.get("aliases") or ()]
    identifiers = [entry["value"] for entry in payload.get("identifiers") or ()]
    return {payload["canonical_name"], *aliases, *identifiers}


def name_matcher(names: Collection[str]) -> Callable[[str], bool]:
    """Return a function that returns whether a text contains one of `names`, comparing both as normalised names."""
    wanted = [normalised_name(name) for name in names if normalised_name(name)]

    def contains_name(text: str) -> bool:
        normalised = normalised_name(text)
        return any(name in normalised for name in wanted)

    return contains_name


def strings_in(value: object) -> list[str]:
    """Return all strings in a JSON value, including the keys of objects."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, item in value.items() for text in (str(key), *strings_in(item))]
    if isinstance(value, list | tuple):
        return [text for item in value for text in strings_in(item)]
    return []
