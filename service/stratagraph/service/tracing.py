"""Traces by OpenTelemetry: one span per request, in it one per kind of memory operation, and one per transaction.

A span has the route, the root fields, the status and the error codes; that of a memory operation has what the semantic
conventions for generative AI ask for: its name, the number of records, and the id of a record that the request names.
None ever has a document, a variable, a statement, a parameter, a text of a memory or a question, a credential or a
tenant. The packages are those of the extra `tracing`.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from stratagraph.graphql.memory_operations import memory_operations
from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.graphql.web.trace_context import sending
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import Misconfigured, StratagraphError

try:
    from opentelemetry import context, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as error:
    raise Misconfigured(
        "STRATAGRAPH_TRACES_ENDPOINT needs the extra `tracing`: install stratagraph[tracing], or unset it."
    ) from error

_log = get_logger(__name__)
TRACED = ("/graphql", "/artifacts")  # the other routes are probes and pages
SERVER_ERROR = 500
EXPORT_TIMEOUT_S = 3  # for one batch with its retries; a stop of the service waits for the last one


class _LoggedOnce(SpanExporter):
    """Passes spans on to another exporter, and logs when that begins to fail and when it works again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        is_away = result is not SpanExportResult.SUCCESS
        if is_away and not self._is_away:
            _log.warning(
                "traces are dropped: STRATAGRAPH_TRACES_ENDPOINT does not accept them; check that the collector runs"
            )
        elif self._is_away and not is_away:
            _log.info("traces are sent again")
        self._is_away = is_away
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _context_of(span: trace.Span) -> dict[str, str]:
    """Return the headers by which others continue the trace of a span."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, context=trace.set_span_in_context(span))
    return carrier


class Tracing(Telemetry):
    """Sends spans to `endpoint` in the background. Spans that it does not take in time are dropped, up to 2,048 wait.

    The standard variables OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_RESOURCE_ATTRIBUTES apply.
    """

    def __init__(self, endpoint: str) -> None:
        resource = Resource.create(
            {"service.name": "stratagraph", "service.version": importlib.metadata.version("stratagraph")}
        )
        self._provider = TracerProvider(resource=resource)
        exporter = _LoggedOnce(OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_TIMEOUT_S))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        # It would log every attempt, with the URL. `_LoggedOnce` logs an outage.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._tracer = self._provider.get_tracer("stratagraph")
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def observing(self, record: RequestRecord, headers: Mapping[str, str]) -> Iterator[None]:
        if record.route not in TRACED:
            yield
            return
        span = self._tracer.start_span(
            f"{record.method} {record.route}",
            context=self._propagator.extract(headers),
            kind=trace.SpanKind.SERVER,
        )
        token = context.attach(trace.set_span_in_context(span))
        own = _context_of(span)
        record.trace_response = own["traceparent"]
        record.executing = lambda: self._memory_operations(record)
        try:
            with sending(own):
                yield
        finally:
            context.detach(token)
            if record.operation is not None:
                span.update_name(f"{record.kind} {record.operation}")
                span.set_attributes({"graphql.operation.type": str(record.kind), "stratagraph.fields": record.fields})
            span.set_attributes(
                {
                    "http.request.method": record.method,
                    "http.route": record.route,
                    "http.response.status_code": record.status,
                }
            )
            if record.codes:
                span.set_attribute("stratagraph.error_codes", sorted(set(record.codes)))
            if record.codes or record.status >= SERVER_ERROR:
                span.set_status(trace.StatusCode.ERROR)
            span.end()

    @contextmanager
    def _memory_operations(self, record: RequestRecord) -> Iterator[None]:
        """Observe an operation on the memory, by a span for each kind of what it does; the first is the current one."""
        names = memory_operations(str(record.kind), record.fields)
        spans = [
            self._tracer.start_span(name, kind=trace.SpanKind.INTERNAL, attributes={"gen_ai.operation.name": name})
            for name in names
        ]
        if not spans:
            yield
            return
        raised = None
        try:
            with (
                trace.use_span(spans[0], record_exception=False, set_status_on_exception=False),
                sending(_context_of(spans[0])),
            ):
                yield
        except BaseException as error:
            raised = error.code if isinstance(error, StratagraphError) else type(error).__name__
            raise
        finally:
            failure = raised or record.failure or next(iter(record.codes), None)
            for span in spans:
                if len(spans) == 1 and record.touched is not None:
                    span.set_attribute("gen_ai.memory.record.count", record.touched)
                    if record.touched_id is not None:
                        span.set_attribute("gen_ai.memory.record.id", str(record.touched_id))
                if failure is not None:
                    span.set_attribute("error.type", failure)
                    span.set_status(trace.StatusCode.ERROR)
                span.end()

    @contextmanager
    def transaction(self, role: str) -> Iterator[None]:
        """Observe a transaction of the database in the span of the current request. Without one, do nothing."""
        if not trace.get_current_span().get_span_context().is_valid:
            yield
            return
        # Not made the current span: the end of a transaction may run in another context than its beginning.
        span = self._tracer.start_span(f"transaction {role}", attributes={"db.system.name": "postgresql"})
        try:
            yield
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)  # not the message, which may quote a row
            span.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            span.end()

    def close(self) -> None:
        """Send the spans that wait, and stop. Blocks for EXPORT_TIMEOUT_S where the endpoint does not answer."""
        self._provider.shutdown()
