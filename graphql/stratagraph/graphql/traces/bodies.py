"""Reading the body of an OTLP/HTTP request: its encodings, and the spans in it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from stratagraph.graphql.json_input import decode_json
from stratagraph.graphql.traces.protobuf_bounds import check_fields
from stratagraph.memory.imports.formats.otel_spans import Event, Span, read_span, span_lists
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, LimitExceeded

MAX_UNPACKED_BYTES = 16 << 20  # of a body that was compressed
TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = _EPOCH + timedelta(microseconds=2**63 // 1_000)
_DIGITS = frozenset("0123456789abcdef")
_WINDOW = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Encoding(Enum):
    """An encoding of OTLP/HTTP, by its media type."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


class UnsupportedBody(InvalidInput):
    """The body has a media type or a compression that OTLP/HTTP does not have."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """The spans of a request, and why others are not read."""

    spans: list[Span]
    refused: list[str]


def encoding_of(content_type: str) -> Encoding:
    """Return the encoding that a Content-Type names. Raises UnsupportedBody for another one."""
    media = content_type.partition(";")[0].strip().lower()
    for encoding in Encoding:
        if media == encoding.value:
            return encoding
    given = f"{shown(media)} is not accepted" if media else "is missing"
    raise UnsupportedBody(f"Content-Type: {given}; use {Encoding.PROTOBUF.value} or {Encoding.JSON.value}.")


def unpacked(body: bytes, content_encoding: str) -> bytes:
    """Return a body without its compression.

    Raises UnsupportedBody for an unknown one, InvalidInput for damaged data, LimitExceeded for a body that would have
    more than MAX_UNPACKED_BYTES, of which no more are unpacked.
    """
    name = content_encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in _WINDOW:
        raise UnsupportedBody(f"Content-Encoding: {shown(name)} is not accepted; use gzip, deflate or none.")
    try:
        unpacking = zlib.decompressobj(_WINDOW[name])
        found = unpacking.decompress(body, MAX_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise InvalidInput(f"The body is not {name} ({error}); send it whole, or uncompressed.") from None
    if len(found) > MAX_UNPACKED_BYTES:
        raise LimitExceeded(f"The unpacked body has over {MAX_UNPACKED_BYTES:,} bytes; send smaller batches.")
    if not unpacking.eof:
        raise InvalidInput(f"The body ends before its {name} data does; send it whole.")
    return found


def read_batch(body: bytes, encoding: Encoding) -> Batch:
    """Return the spans of a body. Raises InvalidInput or LimitExceeded if the body as a whole cannot be read."""
    if encoding is Encoding.PROTOBUF:
        return _read_protobuf(body)
    value = decode_json(body)
    if not isinstance(value, dict) or not value.keys() <= {"resourceSpans", "resource_spans"}:
        raise InvalidInput("The body must be {resourceSpans: [{scopeSpans: [{spans: […]}]}]}, as OTLP/JSON has it.")
    batch = Batch(spans=[], refused=[])
    for path, span in span_lists(value) if value else ():
        try:
            read = read_span(span, path)
            _check_hexadecimal(read)
            _check_times(read)
            batch.spans.append(read)
        except InvalidInput as error:
            batch.refused.append(error.message)
    return batch


def _read_protobuf(body: bytes) -> Batch:
    check_fields(body)
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise InvalidInput(
            "The body is no ExportTraceServiceRequest in protobuf; send what an OTLP/HTTP exporter of traces sends."
        ) from None
    batch = Batch(spans=[], refused=[])
    for path, span in _spans(request):
        try:
            read = _span(span, path)
            _check_times(read)
            batch.spans.append(read)
        except InvalidInput as error:
            batch.refused.append(error.message)
    return batch


def _spans(request: ExportTraceServiceRequest) -> Iterator[tuple[str, ProtoSpan]]:
    for r, resource in enumerate(request.resource_spans):
        for s, scope in enumerate(resource.scope_spans):
            for place, span in enumerate(scope.spans):
                yield f"resourceSpans.{r}.scopeSpans.{s}.spans.{place}", span


def _span(span: ProtoSpan, path: str) -> Span:
    """Return a span. Raises InvalidInput, with the path, for ids that are none."""
    for name, id_, size in (("traceId", span.trace_id, TRACE_ID_BYTES), ("spanId", span.span_id, SPAN_ID_BYTES)):
        if not any(id_):
            raise InvalidInput(f"{path}.{name}: is missing; it must have {size} bytes")
        if len(id_) != size:
            raise InvalidInput(f"{path}.{name}: has {len(id_):,} bytes; it must have {size}")
    if len(span.parent_span_id) not in (0, SPAN_ID_BYTES):
        raise _bad_parent(path)
    code = span.status.code
    return Span(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex() if any(span.parent_span_id) else None,
        name=span.name,
        began_at=_time(span.start_time_unix_nano),
        ended_at=_time(span.end_time_unix_nano),
        attributes=_attributes(span.attributes),
        events=tuple(
            Event(name=one.name, attributes=_attributes(one.attributes), at=_time(one.time_unix_nano))
            for one in span.events
        ),
        failed=True if code == Status.STATUS_CODE_ERROR else False if code == Status.STATUS_CODE_OK else None,
        path=path,
    )


def _check_hexadecimal(span: Span) -> None:
    """Raise InvalidInput for ids that are not those of OTLP, in hexadecimal digits."""
    for name, id_, size in (("traceId", span.trace, TRACE_ID_BYTES), ("spanId", span.id, SPAN_ID_BYTES)):
        if not _is_hexadecimal(id_, size):
            raise InvalidInput(f"{span.path}.{name}: must have {2 * size} hexadecimal digits")
    if span.parent is not None and not _is_hexadecimal(span.parent, SPAN_ID_BYTES):
        raise _bad_parent(span.path)


def _is_hexadecimal(id_: str, size: int) -> bool:
    return len(id_) == 2 * size and _DIGITS.issuperset(id_)


def _bad_parent(path: str) -> InvalidInput:
    return InvalidInput(f"{path}.parentSpanId: must be the id of a span, of {SPAN_ID_BYTES} bytes, or be left out")


def _check_times(span: Span) -> None:
    """Raise InvalidInput for a time beyond 2^63 nanoseconds, such as 2^64-1, which stands for none."""
    for at in (span.began_at, span.ended_at, *(one.at for one in span.events)):
        if at is not None and at > _LATEST:
            raise InvalidInput(f"{span.path}: has a time after {_LATEST:%Y-%m-%d}; correct the clock of the agent")


def _time(nanoseconds: int) -> datetime | None:
    return _EPOCH + timedelta(microseconds=nanoseconds // 1_000) if nanoseconds else None


def _attributes(given: Sequence[KeyValue]) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in given}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _value(one.value) for one in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return None if kind is None else getattr(value, kind)
