"""Spans of OpenTelemetry in the forms in which they are written: OTLP as JSON, the Python SDK's, and plain objects."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from stratagraph.memory.imports.fields import read_time
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput

# Prefixes of the attributes that make a span one of an agent: of OpenTelemetry and OpenLLMetry, and of OpenInference.
GENAI = ("gen_ai.", "llm.", "openinference.", "traceloop.")
MAX_NESTED = 60  # levels of a value; the content of a record may have 64
_LARGEST = 2**63 - 1  # whole number of an attribute
_ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR")
_FINE = (1, "1", "STATUS_CODE_OK", "OK", "StatusCode.OK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of a span."""

    name: str
    attributes: Mapping[str, Any]
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span. `failed` is what its status says, None if that is not set; `path` is its place in the document."""

    trace: str
    id: str
    parent: str | None = None
    name: str = ""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    failed: bool | None = None
    path: str = ""

    @property
    def is_genai(self) -> bool:
        """Whether the span is one of an agent or a model."""
        return any(name.startswith(GENAI) for name in self.attributes) or any(
            event.name.startswith("gen_ai.") for event in self.events
        )


def span_lists(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield the spans of a JSON value with their paths: of an OTLP request, of a list, or the value as one span."""
    if isinstance(document, list):
        for place, item in enumerate(document):
            for path, span in span_lists(item):
                yield f"{place}.{path}" if path else str(place), span
        return
    resources = _first(document, "resourceSpans", "resource_spans")
    if resources is None:
        yield "", document
        return
    for r, resource in enumerate(_list(resources, "resourceSpans")):
        where = f"resourceSpans.{r}.scopeSpans"
        for s, scope in enumerate(_list(_first(resource, "scopeSpans", "scope_spans"), where)):
            where_spans = f"{where}.{s}.spans"
            for place, span in enumerate(_list(_first(scope, "spans"), where_spans)):
                yield f"{where_spans}.{place}", span


def read_span(value: Any, path: str) -> Span:
    """Return a span. Raises InvalidInput, with the path, for what is none."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{_at(path)}: must be a span, not {json_type(value)}")
    context = _first(value, "context", "spanContext", "span_context")
    ids = {**context, **value} if isinstance(context, dict) else value
    name = _first(value, "name", "spanName", "span_name")
    return Span(
        trace=_id(ids, _under(path, "traceId"), "traceId", "trace_id"),
        id=_id(ids, _under(path, "spanId"), "spanId", "span_id", "id"),
        parent=_parent(value),
        name=name if isinstance(name, str) else "",
        began_at=_time(value, path, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"),
        ended_at=_time(value, path, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
        attributes=read_attributes(value.get("attributes"), _under(path, "attributes")),
        events=tuple(
            _event(one, _under(path, f"events.{i}")) for i, one in enumerate(_list(value.get("events"), path))
        ),
        failed=_failed(value),
        path=path,
    )


def read_attributes(value: Any, path: str) -> dict[str, Any]:
    """Return attributes, which are an object, or a list of `{key, value: {stringValue}}`."""
    if value is None:
        return {}
    if isinstance(value, dict):
        check_value(value, path)
        return value
    found = {}
    for place, item in enumerate(_list(value, path)):
        if not isinstance(item, dict) or not isinstance(item.get("key"), str):
            raise InvalidInput(f"{path}.{place}: must be {{key, value}}")
        found[item["key"]] = _value(item.get("value"), f"{path}.{place}.value", 0)
    return found


def _value(value: Any, path: str, depth: int) -> Any:
    """Return an attribute's value in OTLP's form, such as `{"intValue": "7"}`."""
    if value is None or value == {}:
        return None
    if depth > MAX_NESTED:
        raise InvalidInput(f"{path}: is nested deeper than {MAX_NESTED} levels; send flatter values")
    if not isinstance(value, dict) or len(value) != 1:
        raise InvalidInput(f"{path}: must be an object with one of stringValue, intValue, arrayValue …")
    ((kind, inner),) = value.items()
    kind = kind.replace("_v", "V")
    if kind in ("stringValue", "boolValue", "doubleValue"):
        check_value(inner, f"{path}.{kind}")
        return inner
    if kind == "intValue":
        try:
            number = int(inner)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(f"{path}.intValue: must be a whole number, not {json_type(inner)}") from None
        check_value(number, f"{path}.intValue")
        return number
    if kind == "bytesValue" and isinstance(inner, str):
        return inner
    if kind in ("arrayValue", "kvlistValue") and isinstance(inner, dict):
        items = _list(inner.get("values"), f"{path}.{kind}.values")
        if kind == "arrayValue":
            return [_value(one, f"{path}.{kind}.values.{i}", depth + 1) for i, one in enumerate(items)]
        return {
            str(one.get("key")): _value(one.get("value"), f"{path}.{kind}.values.{i}", depth + 1)
            for i, one in enumerate(items)
            if isinstance(one, dict)
        }
    raise InvalidInput(f"{path}.{kind}: is no value of OTLP; use stringValue, intValue, boolValue, arrayValue …")


def check_value(value: Any, path: str) -> None:
    """Raise InvalidInput for a value that is nested too deeply, or has a whole number beyond 64 bits."""
    level = [value]
    for _ in range(MAX_NESTED):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, int) and abs(one) > _LARGEST:
                raise InvalidInput(f"{path}: has a whole number beyond 64 bits; send it as a string")
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        if not inner:
            return
        level = inner
    raise InvalidInput(f"{path}: is nested deeper than {MAX_NESTED} levels; send flatter values")


def _event(value: Any, path: str) -> Event:
    if not isinstance(value, dict):
        raise InvalidInput(f"{path}: must be an object, not {json_type(value)}")
    attributes = read_attributes(value.get("attributes"), f"{path}.attributes")
    name = _first(value, "name") or attributes.get("event.name")
    at = _time(value, path, "timeUnixNano", "time_unix_nano", "timestamp", "time")
    return Event(name=name if isinstance(name, str) else "", attributes=attributes, at=at)


def _failed(value: Mapping[str, Any]) -> bool | None:
    status = _first(value, "status", "status_code", "statusCode")
    if isinstance(status, dict):
        status = _first(status, "code", "status_code", "statusCode")
    if isinstance(status, str | int):
        return True if status in _ERRORS else False if status in _FINE else None
    return None


def _time(value: Mapping[str, Any], path: str, *names: str) -> datetime | None:
    name = next((name for name in names if value.get(name) not in (None, "", 0, "0")), None)
    if name is None:
        return None
    given = value[name]
    if isinstance(given, str) and "T" not in given and " " in given.strip():
        given = given.strip().replace(" ", "T", 1)
    return read_time(given, _under(path, name), UTC)  # SDKs write times without an offset in UTC


def _id(value: Mapping[str, Any], path: str, *names: str) -> str:
    found = _first(value, *names)
    if isinstance(found, str | int) and not isinstance(found, bool) and str(found).strip(" 0x"):
        return _hexadecimal(str(found).strip())
    raise InvalidInput(f"{path}: is missing; it must be the id in hexadecimal digits")


def _hexadecimal(id_: str) -> str:
    """Return an id in lower-case hexadecimal digits; one that is base64, as some programs write it, is decoded."""
    plain = id_.removeprefix("0x").lower()
    if len(id_) in (12, 24) and id_.endswith("="):
        try:
            return base64.b64decode(id_, validate=True).hex()
        except (binascii.Error, ValueError):
            return plain
    return plain


def _parent(value: Mapping[str, Any]) -> str | None:
    parent = _first(value, "parentSpanId", "parent_span_id", "parent_id", "parentId")
    return _hexadecimal(parent) if isinstance(parent, str) and parent.strip(" 0x") else None


def _first(value: Any, *names: str) -> Any:
    return next((value[n] for n in names if value.get(n) is not None), None) if isinstance(value, dict) else None


def _list(value: Any, path: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInput(f"{_at(path)}: must be a list, not {json_type(value)}")
    return value


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return path or "the document"
