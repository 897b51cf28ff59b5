"""A bound on the parts of a protobuf message, checked before it is parsed: two bytes can make an object of hundreds."""

from __future__ import annotations

from typing import TypeAlias

from stratagraph.store.model.errors import InvalidInput, LimitExceeded

MAX_FIELDS = 300_000  # of a request; a batch of 512 spans with 40 attributes each has about 100,000
GROUP_FIELDS = 14  # for which a resource or scope of spans counts besides; of two bytes, it takes longest to make
MAX_DEPTH = 64  # levels of messages within messages

_VARINT, _I64, _BYTES, _I32 = 0, 1, 2, 5
Shape: TypeAlias = "dict[int, Shape]"

_KEY_VALUE: Shape = {}
_ANY: Shape = {5: {}, 6: {}}  # ArrayValue, KeyValueList
_ANY[5][1] = _ANY
_ANY[6][1] = _KEY_VALUE
_KEY_VALUE[2] = _ANY
_SPAN: Shape = {9: _KEY_VALUE, 11: {3: _KEY_VALUE}, 13: {4: _KEY_VALUE}, 15: {}}  # attributes, events, links, status
_SCOPE_SPANS: Shape = {1: {3: _KEY_VALUE}, 2: _SPAN}
_RESOURCE_SPANS: Shape = {1: {1: _KEY_VALUE}, 2: _SCOPE_SPANS}
_REQUEST: Shape = {1: _RESOURCE_SPANS}


def check_fields(body: bytes) -> None:
    """Check the number and nesting of the fields of an ExportTraceServiceRequest.

    Raises LimitExceeded for too many, and InvalidInput for bytes that are no protobuf message.
    """
    fields = 0
    waiting: list[tuple[int, int, Shape, int]] = [(0, len(body), _REQUEST, 0)]
    while waiting:
        at, end, shape, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise LimitExceeded(
                f"A value of the request is nested deeper than {MAX_DEPTH} levels; send flatter values."
            )
        while at < end:
            fields += 1
            if fields > MAX_FIELDS:
                raise LimitExceeded(f"The request has over {MAX_FIELDS:,} fields; send smaller batches.")
            tag, at = _varint(body, at, end)
            kind = tag & 7
            if kind == _VARINT:
                _, at = _varint(body, at, end)
            elif kind == _BYTES:
                length, at = _varint(body, at, end)
                if length > end - at:
                    raise _malformed(at)
                inner = shape.get(tag >> 3)
                if inner is _RESOURCE_SPANS or inner is _SCOPE_SPANS:
                    fields += GROUP_FIELDS
                if inner is not None:
                    waiting.append((at, at + length, inner, depth + 1))
                at += length
            elif kind in (_I64, _I32):
                at += 8 if kind == _I64 else 4
            else:
                raise _malformed(at)
        if at > end:
            raise _malformed(at)


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise _malformed(at)


def _malformed(at: int) -> InvalidInput:
    return InvalidInput(
        f"The body is no ExportTraceServiceRequest in protobuf (byte {at:,}); send what an OTLP/HTTP exporter of traces"
        " sends, or JSON with Content-Type: application/json."
    )
