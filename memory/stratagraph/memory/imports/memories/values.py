"""Values of memories that have no place of their own: they become tags, or are kept as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stratagraph.memory.imports.fields import Fields

MAX_TAG = 256  # characters


def scalar_tags(fields: Fields, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield `key:value` for each text, number and truth value, and for those of a list; others count as unread."""
    for name, value in values.items():
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(one, str | int | float) for one in listed):
            continue
        tags = [f"{name}:{_shown(one)}" for one in listed]
        if all(len(tag) <= MAX_TAG and "\x00" not in tag for tag in tags):
            fields.take(name)
            yield from tags


def _shown(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
