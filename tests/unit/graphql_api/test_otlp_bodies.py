"""Bodies of OTLP requests: both encodings are read alike, and no bytes are read without bounds."""

from __future__ import annotations

import base64
import gzip
import json
from contextlib import suppress
from typing import Any

import pytest
from fix_spans import MadeSpan, as_otlp, runs, spans_of
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.datastructures import QueryParams

from stratagraph.graphql.traces.bodies import (
    MAX_UNPACKED_BYTES,
    Encoding,
    UnsupportedBody,
    encoding_of,
    read_batch,
    unpacked,
)
from stratagraph.graphql.traces.endpoint import scope_of
from stratagraph.graphql.traces.protobuf_bounds import GROUP_FIELDS, MAX_FIELDS, check_fields
from stratagraph.memory.imports.conversation import Said, Step
from stratagraph.store.model.errors import InvalidInput, LimitExceeded

RUN: list[Step] = [Said(role="user", text="Is a berth free?"), Said(role="assistant", text="Berth 3 is.")]
TRACE = "5b8efff798038103d269b633813fc60c"


def request_of(spans: list[MadeSpan]) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [as_otlp(one, TRACE) for one in spans]}]}]}


def in_protobuf(request: dict[str, object]) -> bytes:
    """Return the request in protobuf, whose JSON in general has base64 where OTLP has hexadecimal digits."""
    text = json.dumps(request)
    value = json.loads(text)
    for resource in value["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = _base64(bytes.fromhex(span[name]))
    body: bytes = ParseDict(value, ExportTraceServiceRequest()).SerializeToString()
    return body


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


@given(steps=runs(), style=st.sampled_from(["current", "events", "openllmetry"]))
def test_both_encodings_have_the_same_spans(steps: list[Step], style: str) -> None:
    request = request_of(spans_of(steps, conversation="x", style=style))
    first = read_batch(json.dumps(request).encode(), Encoding.JSON)
    second = read_batch(in_protobuf(request), Encoding.PROTOBUF)
    assert first == second
    assert first.refused == []
    assert len(first.spans) > 1


@given(st.binary(max_size=200))
def test_any_bytes_are_spans_or_an_error_that_says_what_is_wrong(body: bytes) -> None:
    for encoding in Encoding:
        with suppress(InvalidInput, LimitExceeded):
            read_batch(body, encoding)
    for compression in ("gzip", "deflate"):
        with suppress(InvalidInput, LimitExceeded):
            unpacked(body, compression)


@given(steps=runs(), data=st.data())
def test_a_damaged_request_is_read_or_refused(steps: list[Step], data: st.DataObject) -> None:
    body = bytearray(in_protobuf(request_of(spans_of(steps, conversation="x"))))
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=5)):
        body[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    with suppress(InvalidInput, LimitExceeded):
        read_batch(bytes(body[:cut]), Encoding.PROTOBUF)


def test_the_fields_of_a_request_are_bounded_before_it_is_parsed() -> None:
    empty_spans = b"\x12\x00" * (MAX_FIELDS + 1)
    scope = b"\x12" + _length(len(empty_spans)) + empty_spans
    body = b"\x0a" + _length(len(scope)) + scope
    with pytest.raises(LimitExceeded):
        check_fields(body)
    check_fields(in_protobuf(request_of([])))


def test_resources_and_scopes_are_bounded_before_they_are_made() -> None:
    most = MAX_FIELDS // (GROUP_FIELDS + 1)
    check_fields(b"\x0a\x00" * most)
    for body in (b"\x0a\x00" * (most + 2), b"\x0a\x02\x12\x00" * most):
        with pytest.raises(LimitExceeded):
            check_fields(body)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("traceId", "zz" * 16),
        ("traceId", "ab" * 15),
        ("traceId", "ab" * 1_000_000),
        ("spanId", "ab" * 9),
        ("parentSpanId", "ab" * 3),
        ("startTimeUnixNano", str(2**64 - 1)),
        ("endTimeUnixNano", str(2**64 - 1)),
    ],
)
def test_ids_and_times_that_are_none_are_rejected_and_other_spans_read(name: str, value: str) -> None:
    request: Any = request_of(spans_of(RUN, conversation="x"))
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[0][name] = value
    bodies = {Encoding.JSON: json.dumps(request).encode()}
    if "zz" not in value:
        bodies[Encoding.PROTOBUF] = in_protobuf(request)
    for encoding, body in bodies.items():
        batch = read_batch(body, encoding)
        assert len(batch.spans) == len(spans) - 1
        (reason,) = batch.refused
        assert reason.startswith("resourceSpans.0.scopeSpans.0.spans.0")
        assert len(reason) < 200


def test_a_body_without_a_media_type_is_not_taken_for_protobuf() -> None:
    for media in ("", "text/plain", "application/x-www-form-urlencoded"):
        with pytest.raises(UnsupportedBody, match="use application/x-protobuf or application/json"):
            encoding_of(media)


@pytest.mark.parametrize(
    "query",
    ["scope=%00", f"scope={'x' * 300}", "scope=%ED%A0%80", "scop=project:a", "sensitivity=low", "scope=a&scope=b"],
)
def test_a_query_string_that_names_no_one_scope_is_refused(query: str) -> None:
    parameters = QueryParams(query)
    if "%ED" in query:
        parameters = QueryParams([("scope", "\ud800")])
    with pytest.raises(InvalidInput) as refused:
        scope_of(parameters)
    assert "scop" in refused.value.message or "parameter" in refused.value.message


def test_a_query_string_names_a_scope_or_none() -> None:
    assert scope_of(QueryParams("scope=project:a")) == "project:a"
    assert scope_of(QueryParams("")) is None


def _length(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80, *_length(value >> 7)]) if value > 0x7F else bytes([value])


def test_no_more_is_unpacked_than_the_limit() -> None:
    assert unpacked(gzip.compress(b"spans"), "gzip") == b"spans"
    assert len(unpacked(gzip.compress(bytes(MAX_UNPACKED_BYTES)), "gzip")) == MAX_UNPACKED_BYTES
    with pytest.raises(LimitExceeded):
        unpacked(gzip.compress(bytes(MAX_UNPACKED_BYTES + 1)), "gzip")
