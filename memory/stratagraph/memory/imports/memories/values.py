"""Values of memories: those that have no place of their own become tags; times may be days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from stratagraph.memory.imports.fields import Fields, read_time

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


def time_of(value: Any, path: str, zone: tzinfo | None) -> datetime | None:
    """Return a time. A day without a time of day is its beginning, in UTC without a zone."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value.strip())
        except ValueError:
            return read_time(value.strip(), path, zone)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), zone or UTC)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else read_time(value.isoformat(), path, zone)
    return read_time(value, path, zone)
