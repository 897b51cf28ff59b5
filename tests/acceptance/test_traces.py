"""Traces of a running service, received by a small server that speaks OTLP over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from fix_service import Client, running
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

CANARY = "canarybird"
CAPTURE = """mutation canarybird($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id relations { predicate } } } ... on MemoryError { code } } }"""
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Collector:
    """An HTTP server for traces, which keeps the requests that it receives."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200 if self.path == "/v1/traces" else 404)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        thread.join()
        collector.server.server_close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}


async def test_each_operation_is_a_span_with_its_transactions_and_without_content(settings: dict[str, str]) -> None:
    with collecting() as collector, running(**settings, traces_endpoint=collector.url) as service:
        assert service.url is not None
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        async with httpx.AsyncClient(timeout=30, headers=headers) as http:
            client = Client(http, service.url)
            content = {"role": "user", "text": CANARY}
            item = {"source": CANARY, "sourceKind": "AGENT_TURN", "content": content, "tags": [CANARY]}
            await client.data(CAPTURE, input=item)
            await client(CAPTURE, input=item | {"content": {"text": CANARY}})
            await client(f"{{ {CANARY} }}")
            await http.get(f"{service.url}/readyz")
        assert service.stop() == 0  # sends the spans that wait
        spans = collector.spans
        assert not any(CANARY.encode() in body for body in collector.bodies)

    roots = [span for span in spans if span.parent_span_id.hex() == PARENT]
    assert [span.name for span in roots] == ["mutation captureMemory", "mutation captureMemory", "POST /graphql"]
    assert {span.trace_id.hex() for span in spans} == {TRACE}, "background work is not traced"
    attributes = [{one.key: one.value for one in span.attributes} for span in roots]
    assert [one["http.response.status_code"].int_value for one in attributes] == [200, 200, 200]
    assert [span.status.code for span in roots] == [
        *(Status.STATUS_CODE_UNSET, Status.STATUS_CODE_ERROR, Status.STATUS_CODE_ERROR)
    ]
    assert [value.string_value for value in attributes[1]["stratagraph.error_codes"].array_value.values] == [
        "INVALID_INPUT"
    ]
    memories = [span for span in spans if span.name == "upsert_memory"]
    assert [span.parent_span_id for span in memories] == [root.span_id for root in roots[:2]]
    shown = [{one.key: one.value for one in span.attributes} for span in memories]
    assert [one["gen_ai.operation.name"].string_value for one in shown] == ["upsert_memory"] * 2
    assert [one["gen_ai.memory.record.count"].int_value for one in shown] == [1, 1]
    assert ["error.type" in one for one in shown] == [False, True]
    assert shown[1]["error.type"].string_value == "INVALID_INPUT"
    transactions = [span for span in spans if span not in roots and span not in memories]
    of_first = [span for span in transactions if span.parent_span_id == memories[0].span_id]
    assert {"transaction write", "transaction read"} <= {span.name for span in of_first}
    for span in transactions:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert {one.key for one in span.attributes} <= {"db.system.name", "error.type"}


async def test_a_collector_that_is_away_changes_no_answer_and_the_service_stops(settings: dict[str, str]) -> None:
    with collecting() as collector:
        away = collector.url
    log = Path(settings["data_dir"]).parent / "log"
    with running(**settings, traces_endpoint=away, log=str(log)) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http:
            assert (await Client(http, service.url).data("{ health { ok } }"))["health"]["ok"]
        assert service.stop() == 0
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    outages = [entry for entry in entries if "traces are dropped" in entry["event"]]
    assert len(outages) == 1, "an outage of the collector is logged once, as JSON"
