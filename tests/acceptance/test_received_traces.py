"""Spans of an instrumented agent, sent by OpenTelemetry's own SDK to a running service over OTLP/HTTP."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from fix_memory import until, with_database
from fix_service import Client, Service, run_command, running
from fix_spans import START_NS, MadeSpan, as_chat, as_otlp, messages_of, spans_of
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context

from stratagraph.memory.imports.conversation import Called, Returned, Said, Step

INTAKE = "stratagraph.memory.imports.span_intake"
SOON = json.dumps({f"{INTAKE}:QUIET_S": 0.5})  # seconds without a further span
TRACE = "5b8efff798038103d269b633813fc60c"
EPISODES = """{ records(filter: {types: [EPISODIC]}, first: 100) { nodes { payload } } }"""
PROTOBUF = {"Content-Type": "application/x-protobuf"}
RUN: list[Step] = [
    Said(role="user", text="Is a berth free at Penhale?"),
    Called(tool="find_berths", arguments={"port": "Penhale"}, turn=1, id="call_1"),
    Called(tool="tide_table", arguments={"port": "Penhale"}, turn=1, id="call_2"),
    Returned(text="There is no such port.", id="call_1", failed=True),
    Returned(text='{"high": "14:20"}', id="call_2"),
    Called(tool="find_berths", arguments={"port": "Penhale Quay"}, turn=2, id="call_3"),
    Returned(text='{"berth": 3}', id="call_3"),
    Said(role="assistant", text="Berth 3 is free at 14:20."),
]


def sdk_spans(spans: Sequence[MadeSpan]) -> list[ReadableSpan]:
    """Make the spans with the SDK, in their order."""
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("harbour")
    for one in spans:
        parent = SpanContext(int(TRACE, 16), one.parent or 1, is_remote=True, trace_flags=TraceFlags(1))
        context = set_span_in_context(NonRecordingSpan(parent))
        span = tracer.start_span(
            one.name, context, attributes=dict(one.attributes), start_time=START_NS + one.began * 10**9
        )
        for name, attributes in one.events:
            span.add_event(name, dict(attributes))
        if one.failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(START_NS + one.ended * 10**9)
    return list(memory.get_finished_spans())


def exporter(url: str | None, token: str | None = None, *, compression: Compression | None = None) -> OTLPSpanExporter:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return OTLPSpanExporter(endpoint=f"{url}/v1/traces", headers=headers, compression=compression, timeout=10)


async def export(service: Service, spans: Sequence[ReadableSpan], token: str | None = None, **how: Any) -> bool:
    sent = await asyncio.to_thread(exporter(service.url, token, **how).export, spans)
    return sent is SpanExportResult.SUCCESS


async def key_of(service: Service, name: str, access: str, scope: str) -> str:
    status, out, err = await run_command(
        "token", "create", name, "--access", access, "--scope", scope, "--json", env=service.environment
    )
    assert status == 0, err
    token: str = json.loads(out)["token"]
    return token


async def episodes(client: Client, token: str | None = None) -> dict[str, Any]:
    """What episodes tell, by thread, without times and ids of the store."""
    found = {}
    for node in (await client.data(EPISODES, token))["records"]["nodes"]:
        payload = node["payload"]
        if "thread_id" in payload:
            events = [(event["event_kind"], event["summary"]) for event in payload["timeline"]]
            nodes = [{k: v for k, v in one.items() if k != "timestamp"} for one in payload.get("tool_graph", ())]
            found[payload["thread_id"]] = (events, nodes)
    return found


async def count(database_url: str, table: str) -> int:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        row = await (await connection.execute(f"SELECT count(*) FROM {table}")).fetchone()  # noqa: S608 - our own names
    assert row is not None
    return int(row[0])


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {"database_url": database_url, "data_dir": str(tmp_path / "data"), "constants": SOON}


@pytest.fixture
def single(settings: dict[str, str]) -> Iterator[Service]:
    with running(**settings, single_user="on") as service:
        yield service


async def test_a_run_that_the_sdk_sends_is_what_its_chat_is_though_the_service_is_killed_between_batches(
    settings: dict[str, str], tmp_path: Path
) -> None:
    spans = sdk_spans(sorted(spans_of(RUN, conversation="berths"), key=lambda one: one.ended))
    with running(**settings, single_user="on") as service:
        assert await export(service, spans[:2])
        service.kill()
    with running(**settings, single_user="on") as service:
        assert await export(service, spans[1:4], compression=Compression.Gzip)
        service.kill()
    with running(**settings, single_user="on") as service:
        assert await export(service, spans[3:])
        assert await export(service, spans[:3])  # as after an answer that was lost
        assert service.url is not None
        messages = []
        for message in messages_of(RUN):
            chat, first = as_chat(message), message[0]
            messages.append({**chat, "is_error": True} if isinstance(first, Returned) and first.failed else chat)
        file = tmp_path / "chat.jsonl"
        file.write_text(json.dumps({"id": "chat", "messages": messages}) + "\n")
        status, _, err = await run_command("import", "traces", str(file), env=service.environment)
        assert status == 0, err
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)

            async def both_are_whole() -> bool:
                found = await episodes(client)
                return len(found) == 2 and len(found["trace:berths"][0]) == len(found["trace:chat"][0])

            await until(both_are_whole)
            found = await episodes(client)
            assert found["trace:berths"] == found["trace:chat"]
            assert found["trace:berths"][0][1] == ("tool_error", "find_berths failed")  # as its span alone says
        # The same spans in a file add nothing.
        lines = [
            {"resourceSpans": [{"scopeSpans": [{"spans": [as_otlp(one, TRACE)]}]}]}
            for one in spans_of(RUN, conversation="berths")
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        status, out, err = await run_command("import", "traces", str(file), "--json", env=service.environment)
        assert status == 0, err
        summary = json.loads(out)
        assert (summary["captured"], summary["edited"]) == (0, [])


async def test_only_a_credential_with_write_access_stores_spans(settings: dict[str, str], database_url: str) -> None:
    spans = sdk_spans(spans_of(RUN, conversation="berths"))
    with running(**settings) as service:
        writer = await key_of(service, "writer", "write", "project:a")
        reader = await key_of(service, "reader", "read", "project:a")
        other = await key_of(service, "other", "write", "project:b")
        assert service.url is not None
        body = ExportTraceServiceRequest().SerializeToString()
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)
            for token, status in ((None, 401), ("sg_wrong", 401), (reader, 403), (writer, 200)):
                headers = PROTOBUF | ({"Authorization": f"Bearer {token}"} if token else {})
                answer = await http.post(f"{service.url}/v1/traces", content=body, headers=headers)
                assert answer.status_code == status
                assert answer.headers["content-type"] == "application/x-protobuf"
            for token in (None, reader):
                assert not await export(service, spans, token)
            assert await count(database_url, "received_span") == 0
            headers = PROTOBUF | {"Authorization": f"Bearer {writer}"}
            refused = await http.post(f"{service.url}/v1/traces?scope=project:b", content=body, headers=headers)
            assert refused.status_code == 403
            different: list[Step] = [Said(role="user", text="Hello."), Said(role="assistant", text="Good day.")]
            assert await export(service, sdk_spans(spans_of(different, conversation="berths")), other)
            assert await export(service, spans, writer)

            async def is_whole() -> bool:
                return len((await episodes(client, writer)).get("trace:berths", ((), ()))[0]) == 5

            await until(is_whole)
            assert len((await episodes(client, other))["trace:berths"][0]) == 2
            assert (await episodes(client, writer)).keys() == {"trace:berths"}


def nested(levels: int) -> bytes:
    """A request in protobuf whose attribute is a list in a list, and so on."""
    value = b""
    for _ in range(levels):
        inner = b"\x0a" + _varint(len(value)) + value
        value = b"\x2a" + _varint(len(inner)) + inner
    for tag in (b"\x12", b"\x4a", b"\x12", b"\x12", b"\x0a"):  # value, attributes, spans, scope_spans, resource_spans
        value = tag + _varint(len(value)) + value
    return value


def _varint(value: int) -> bytes:
    return bytes([*([value & 0x7F | 0x80, *_varint(value >> 7)] if value > 0x7F else [value])])


def resource_spans(spans: bytes) -> bytes:
    scope = b"\x12" + _varint(len(spans)) + spans
    return b"\x0a" + _varint(len(scope)) + scope


HOSTILE: list[tuple[str, bytes, dict[str, str], int]] = [
    ("garbage", b"\xff\xfe\xfd garbage", PROTOBUF, 400),
    ("cut off", ExportTraceServiceRequest().SerializeToString() + b"\x0a\x7f", PROTOBUF, 400),
    ("deep protobuf", nested(5_000), PROTOBUF, 413),
    ("a million empty spans", resource_spans(b"\x12\x00" * 1_000_000), PROTOBUF, 413),
    ("gzip bomb", gzip.compress(bytes(64 << 20)), PROTOBUF | {"Content-Encoding": "gzip"}, 413),
    ("deflate bomb", zlib.compress(bytes(64 << 20)), PROTOBUF | {"Content-Encoding": "deflate"}, 413),
    ("no gzip", b"plain", PROTOBUF | {"Content-Encoding": "gzip"}, 400),
    ("half of a gzip", gzip.compress(bytes(9_999))[:20], PROTOBUF | {"Content-Encoding": "gzip"}, 400),
    ("unknown compression", b"x", PROTOBUF | {"Content-Encoding": "zstd"}, 415),
    ("no JSON", b"{", {"Content-Type": "application/json"}, 400),
    ("deep JSON", b'{"resourceSpans": ' + b"[" * 90_000, {"Content-Type": "application/json"}, 413),
    ("another JSON", b'{"query": "{ health }"}', {"Content-Type": "application/json"}, 400),
    ("spans that are no list", b'{"resourceSpans": 7}', {"Content-Type": "application/json"}, 400),
    ("text", b"x", {"Content-Type": "text/plain"}, 415),
]


async def test_hostile_bodies_are_refused_with_a_status_in_their_encoding(single: Service, database_url: str) -> None:
    async with httpx.AsyncClient(timeout=30) as http:
        for what, body, headers, status in HOSTILE:
            answer = await http.post(f"{single.url}/v1/traces", content=body, headers=headers)
            assert answer.status_code == status, what
            if headers["Content-Type"] == "application/json":
                said = answer.json()
                assert said["code"] == 3, what
                assert said["message"], what
            else:
                assert answer.headers["content-type"] == "application/x-protobuf", what
                assert answer.content[:3] == b"\x08\x03\x12", what  # the code INVALID_ARGUMENT, then the message
        over = await http.post(f"{single.url}/v1/traces", content=bytes(17 << 20), headers=PROTOBUF)
        assert over.status_code == 413
        assert (await http.get(f"{single.url}/v1/traces")).status_code == 405
        assert (await http.get(f"{single.url}/readyz")).status_code == 200
    assert await count(database_url, "received_span") == 0


async def test_a_page_of_another_site_stores_nothing_in_single_user_mode(single: Service, database_url: str) -> None:
    span = as_otlp(spans_of(RUN, conversation="berths")[0], TRACE)
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    page = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    typed = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(timeout=30) as http:
        for headers, status in (
            (page, 415),
            ({}, 415),
            (page | typed, 403),
            ({"Origin": "http://evil.example"} | typed, 403),
            ({"Sec-Fetch-Site": "same-site"} | typed, 403),
        ):
            answer = await http.post(f"{single.url}/v1/traces", content=body, headers=headers)
            assert answer.status_code == status, headers
        for query in ("scope=%00", "scop=project:a"):
            answer = await http.post(f"{single.url}/v1/traces?{query}", content=body, headers=typed)
            assert (answer.status_code, answer.json()["code"]) == (400, 3)
        assert await count(database_url, "received_span") == 0
        answer = await http.post(f"{single.url}/v1/traces", content=body, headers=typed)
        assert answer.status_code == 200
    assert await count(database_url, "received_span") == 1


async def test_spans_that_cannot_be_read_are_rejected_and_the_others_stored(single: Service, database_url: str) -> None:
    good = [as_otlp(one, TRACE) for one in spans_of(RUN, conversation="berths")]
    attributes = [{"key": "gen_ai.input.messages", "value": {"stringValue": "7"}}]
    bad = {"traceId": TRACE, "spanId": "00000000000000fe", "name": "chat", "attributes": attributes}
    http_span = {"traceId": TRACE, "spanId": "00000000000000fd", "name": "GET /", "attributes": []}
    lost = {"traceId": TRACE, "name": "chat"}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [*good, bad, http_span, lost]}]}]}
    async with httpx.AsyncClient(timeout=30) as http:
        answer = await http.post(f"{single.url}/v1/traces", json=body)
        assert answer.status_code == 200
        partial = answer.json()["partialSuccess"]
        assert partial["rejectedSpans"] == "2"
        assert "gen_ai.input.messages: must be a list" in partial["errorMessage"]
        assert "spanId: is missing" in partial["errorMessage"]
        whole = await http.post(f"{single.url}/v1/traces", content=b"", headers=PROTOBUF)
        assert whole.status_code == 200
        assert not ExportTraceServiceResponse.FromString(whole.content).HasField("partial_success")
    assert await count(database_url, "received_span") == len(good)


async def test_who_sends_more_than_fair_use_allows_is_told_when_to_come_back(
    settings: dict[str, str], database_url: str
) -> None:
    with running(**settings, burst="100", rate="0.01") as service:
        writer = await key_of(service, "writer", "write", "project:a")
        headers = PROTOBUF | {"Authorization": f"Bearer {writer}"}
        async with httpx.AsyncClient(timeout=30) as http:
            answers = [await http.post(f"{service.url}/v1/traces", content=b"", headers=headers) for _ in range(30)]
        statuses = [one.status_code for one in answers]
        assert statuses[0] == 200
        assert statuses[-1] == 429
        assert int(answers[-1].headers["Retry-After"]) >= 1
        assert answers[-1].content[:3] == b"\x08\x08\x12"  # RESOURCE_EXHAUSTED


async def test_spans_are_to_be_sent_again_while_the_database_is_away(single: Service, database_url: str) -> None:
    name = urlsplit(database_url).path.removeprefix("/")
    administrator = with_database(database_url, "postgres")
    spans = [as_otlp(one, TRACE) for one in spans_of(RUN, conversation="b")]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    async with httpx.AsyncClient(timeout=30) as http:
        with psycopg.connect(administrator, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            try:
                away = await http.post(f"{single.url}/v1/traces", json=body)
            finally:
                connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        assert away.status_code == 503
        assert int(away.headers["Retry-After"]) >= 1
        assert away.json()["code"] == 14  # UNAVAILABLE

        async def is_stored() -> bool:
            return (await http.post(f"{single.url}/v1/traces", json=body)).status_code == 200

        await until(is_stored)
    assert await count(database_url, "received_span") == len(spans)
