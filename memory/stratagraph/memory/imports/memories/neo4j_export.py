"""Rows of a JSON export of Neo4j (APOC): nodes and relationships with their properties."""

from __future__ import annotations

import re
from typing import Any

_ZONE = re.compile(r"\[[^\]]*\]$")  # of a time with a named zone, after its offset
_ENDS = (("start", "source_node_uuid"), ("end", "target_node_uuid"))


def is_exported(value: Any) -> bool:
    """Return whether a value is a row of an export."""
    return (
        isinstance(value, dict)
        and value.get("type") in ("node", "relationship")
        and isinstance(value.get("properties"), dict)
    )


def properties_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a row, with the labels of a node, and the uuids of the ends of a relationship."""
    found = {name: _time(value) for name, value in row["properties"].items()}
    if row["type"] == "node":
        return found | ({"labels": row["labels"]} if isinstance(row.get("labels"), list) else {})
    for name, own in _ENDS:
        end = row.get(name)
        inner = end.get("properties") if isinstance(end, dict) else None
        if own not in found and isinstance(inner, dict) and isinstance(inner.get("uuid"), str):
            found[own] = inner["uuid"]
    return found


def _time(value: Any) -> Any:
    return _ZONE.sub("", value) if isinstance(value, str) and len(value) < 80 and value[:4].isdigit() else value
