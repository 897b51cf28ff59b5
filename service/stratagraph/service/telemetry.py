"""The metrics and traces of a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext

from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.service.metrics import Metrics
from stratagraph.service.processes.board import Member
from stratagraph.service.processes.metrics_exchange import serve_metrics
from stratagraph.service.runtime import Runtime


class ServiceTelemetry(Telemetry):
    """Passes what is recorded of requests on to the metrics and, where they are on, the traces."""

    def __init__(self, metrics: Metrics, *others: Telemetry) -> None:
        self.metrics = metrics
        self._all = (metrics, *others)

    @contextmanager
    def observing(self, record: RequestRecord, headers: Mapping[str, str]) -> Iterator[None]:
        with ExitStack() as stack:
            for one in self._all:
                stack.enter_context(one.observing(record, headers))
            yield


@asynccontextmanager
async def open_telemetry(runtime: Runtime, member: Member | None = None) -> AsyncIterator[ServiceTelemetry]:
    """Yield the telemetry of a process, which may be a `member` of several; at the end send the spans that wait.

    Raises Misconfigured if traces are on and their packages are not installed.
    """
    metrics = Metrics(
        runtime.database, runtime.measurements, runtime.supervisor, lambda: runtime.health.is_ready, member
    )
    if runtime.embedder is not None:
        metrics.follow_embedder(runtime.embedder)
    answered = serve_metrics(member, metrics.of_process) if member is not None else nullcontext()
    async with answered, _traced(runtime, metrics) as telemetry:
        yield telemetry


@asynccontextmanager
async def _traced(runtime: Runtime, metrics: Metrics) -> AsyncIterator[ServiceTelemetry]:
    endpoint = runtime.settings.traces_endpoint
    if endpoint is None:
        yield ServiceTelemetry(metrics)
        return
    from stratagraph.service.tracing import Tracing

    tracing = Tracing(endpoint)
    runtime.database.observe = tracing.transaction
    try:
        yield ServiceTelemetry(metrics, tracing)
    finally:
        await asyncio.to_thread(tracing.close)
