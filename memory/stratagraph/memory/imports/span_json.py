"""Spans as JSON, in which they are stored until their conversation is imported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.formats.otel_spans import Event, Span


def span_to_json(span: Span) -> dict[str, Any]:
    """Return a span as JSON."""
    return {
        "trace": span.trace,
        "id": span.id,
        "parent": span.parent,
        "name": span.name,
        "began_at": span.began_at,
        "ended_at": span.ended_at,
        "attributes": dict(span.attributes),
        "events": [{"name": one.name, "attributes": dict(one.attributes), "at": one.at} for one in span.events],
        "failed": span.failed,
    }


def span_from_json(value: Mapping[str, Any]) -> Span:
    """Return the span of its JSON."""
    return Span(
        trace=value["trace"],
        id=value["id"],
        parent=value["parent"],
        name=value["name"],
        began_at=_time(value["began_at"]),
        ended_at=_time(value["ended_at"]),
        attributes=value["attributes"],
        events=tuple(
            Event(name=one["name"], attributes=one["attributes"], at=_time(one["at"])) for one in value["events"]
        ),
        failed=value["failed"],
    )


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)
