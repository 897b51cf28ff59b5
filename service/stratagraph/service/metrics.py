"""The metrics of a service in Prometheus' text format.

Labels hold names that the code fixes: routes, root fields, error codes, jobs, queues, pools. They never hold a tenant,
an actor, a scope, the name of a client's operation, or anything of a record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.memory.changes.following import Following
from stratagraph.memory.embedding.embedder import Embedder
from stratagraph.service.connections import OpenConnections
from stratagraph.service.measuring import Measured, Measurements
from stratagraph.service.memory_metrics import memory_metrics
from stratagraph.service.postgres_supervisor import PostgresSupervisor
from stratagraph.service.processes.board import SILENT_S, Member
from stratagraph.service.processes.metrics_exchange import LABEL, fetch_metrics, merge_by_process
from stratagraph.service.readiness_metrics import database_metrics, ready, up
from stratagraph.store.feed.consumer import Lag
from stratagraph.store.jobs.leases import JobState
from stratagraph.store.mirror.status import MirrorStatus
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.fair_slots import FairSlots
from stratagraph.store.postgres.probing import Probe
from stratagraph.store.records.census import Census
from stratagraph.store.search.outcomes import RetrievalUse

T = TypeVar("T")
SUBSCRIPTION = "subscription"  # the kind of an operation
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics(Telemetry):
    """Counts the requests of this process, and measures the service as a whole when it is asked for.

    Counters are of a process. Jobs, queues and the mirror are of the database, so that every process shows the same.
    Where this process is a `member` of several, the answer has the counters of all, each with the process as a label.
    """

    def __init__(
        self,
        database: Database,
        measurements: Measurements,
        supervisor: PostgresSupervisor | None,
        is_ready: Callable[[], bool],
        member: Member | None = None,
    ) -> None:
        self._measurements = measurements
        self._member = member
        self._registry = CollectorRegistry()  # of what belongs to this process
        self._requests = Counter(
            "stratagraph_requests",
            "HTTP requests by route, method and status.",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self._request_seconds = Histogram(
            "stratagraph_request_duration_seconds",
            "Time from the head of an HTTP request to the end of its response.",
            ["route"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._operation_seconds = Histogram(
            "stratagraph_operation_duration_seconds",
            "Time of the HTTP requests with a valid GraphQL operation, by its kind and root field.",
            ["kind", "operation"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._errors = Counter("stratagraph_errors", "Errors in answers, by code.", ["code"], registry=self._registry)
        self._process = _ProcessState(database, supervisor, is_ready)
        self._process.slots.append(database.slots)
        self._registry.register(self._process)
        self._service = _ServiceState()
        ProcessCollector(registry=self._registry)  # process_resident_memory_bytes, process_cpu_seconds_total …
        GCCollector(registry=self._registry)

    def follow(self, *slots: FairSlots) -> None:
        """Show the use of `slots` too."""
        self._process.slots += slots

    def follow_connections(self, connections: OpenConnections) -> None:
        """Show the number of `connections` too."""
        self._process.connections = connections

    def follow_changes(self, following: Following) -> None:
        """Show the number of streams of changes too."""
        self._process.following = following

    def follow_embedder(self, embedder: Embedder) -> None:
        """Show the use of `embedder` too."""
        self._process.embedder = embedder

    @contextmanager
    def observing(self, record: RequestRecord, headers: Mapping[str, str]) -> Iterator[None]:
        try:
            yield
        finally:
            self._requests.labels(record.route, record.method, str(record.status)).inc()
            if record.kind != SUBSCRIPTION:  # a stream takes as long as its client likes
                self._request_seconds.labels(record.route).observe(record.seconds)
            if record.kind not in (None, SUBSCRIPTION) and record.operation is not None:
                self._operation_seconds.labels(record.kind, record.operation).observe(record.seconds)
            for code in record.codes:
                self._errors.labels(code).inc()

    def of_process(self) -> list[Metric]:
        """Return the metrics of this process alone."""
        return list(self._registry.collect())

    async def measure(self) -> CollectorRegistry:
        """Measure the service, and return all metrics. What cannot be measured at present is left out."""
        gauges, state = self._measurements, self._service
        # At the same time, so that parts that do not answer delay the answer only once.
        state.database, state.jobs, state.lags, state.queues, state.use, others = await asyncio.gather(
            gauges.database.current(),
            gauges.jobs.current(),
            gauges.lags.current(),
            gauges.queues.current(),
            gauges.use.current(),
            _fetch_metrics(self._member),
        )
        state.census = await gauges.census.current()
        if gauges.unembedded is not None:
            state.unembedded = await gauges.unembedded.current()
        if gauges.is_mirrored() and gauges.mirror is not None and gauges.neo4j is not None:
            state.mirror, state.neo4j = await asyncio.gather(gauges.mirror.current(), gauges.neo4j.current())
        families = [*state.collect()]
        if self._member is None:
            families += self.of_process()
        else:
            families += merge_by_process({self._member.name: self.of_process(), **others})
            families += _processes(self._member)
        registry = CollectorRegistry()
        registry.register(_Collected(families))
        return registry

    def route(self) -> Route:
        """Return the route /metrics."""

        async def metrics(request: Request) -> Response:
            encode, content_type = choose_encoder(request.headers.get("accept", ""))
            return Response(encode(await self.measure()), headers={"Content-Type": content_type})

        return Route("/metrics", metrics)


class _Collected(Collector):
    """Metrics that have been collected."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


class _ProcessState(Collector):
    """Turns the use of what a process shares among its requests into metrics."""

    def __init__(self, database: Database, supervisor: PostgresSupervisor | None, is_ready: Callable[[], bool]) -> None:
        self._database = database
        self._supervisor = supervisor
        self._is_ready = is_ready
        self.slots: list[FairSlots] = []
        self.connections: OpenConnections | None = None
        self.following: Following | None = None
        self.embedder: Embedder | None = None

    def describe(self) -> Iterable[Metric]:
        return ()  # otherwise the registry would collect once, to learn the names

    def collect(self) -> Iterator[Metric]:
        yield ready(is_ready=self._is_ready())
        yield from self._pools()
        yield from self._fair_use()
        if self.embedder is not None:
            yield from _embedder(self.embedder)
        if self._supervisor is not None:
            restarts = CounterMetricFamily(
                "stratagraph_embedded_postgres_restarts", "Starts of an embedded Postgres that had ended."
            )
            restarts.add_metric([], self._supervisor.restarts)
            yield restarts

    def _pools(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily(
            "stratagraph_pool_connections",
            "Database connections of a pool: allowed (size), in use, and waited for.",
            labels=["pool", "state"],
        )
        for pool in self._database.pools():
            gauge.add_metric([pool.name, "size"], pool.size)
            gauge.add_metric([pool.name, "in_use"], pool.in_use)
            gauge.add_metric([pool.name, "waiting"], pool.waiting)
        yield gauge

    def _fair_use(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily(
            "stratagraph_slots",
            "Slots that credentials share: allowed (size), in use, and waited for.",
            labels=["slots", "state"],
        )
        for slots in self.slots:
            gauge.add_metric([slots.what, "size"], slots.total)
            gauge.add_metric([slots.what, "in_use"], slots.held)
            gauge.add_metric([slots.what, "waiting"], slots.queued)
        yield gauge
        if self.connections is not None:
            yield GaugeMetricFamily(
                "stratagraph_open_connections", "Open client connections.", value=self.connections.total
            )
        if self.following is not None:
            yield GaugeMetricFamily(
                "stratagraph_open_subscriptions", "Open streams of changes.", value=self.following.followers
            )


class _ServiceState:
    """Turns the last measurements of the service into metrics."""

    def __init__(self) -> None:
        self.database: Measured[Probe] | None = None
        self.jobs: Measured[list[JobState]] | None = None
        self.lags: Measured[dict[str, Lag]] | None = None
        self.queues: Measured[Mapping[str, int]] | None = None
        self.use: Measured[RetrievalUse] | None = None
        self.census: Measured[Census] | None = None
        self.mirror: Measured[MirrorStatus] | None = None
        self.neo4j: Measured[None] | None = None
        self.unembedded: Measured[int] | None = None

    def collect(self) -> Iterator[Metric]:
        yield from self._parts()
        yield from _jobs(_current(self.jobs) or ())
        yield from _lags(_current(self.lags) or {})
        if (queues := _current(self.queues)) is not None:
            depth = GaugeMetricFamily("stratagraph_queue_depth", "Waiting rows, counted to 10000.", labels=["queue"])
            for queue, count in queues.items():
                depth.add_metric([queue], count)
            yield depth
        if (use := _current(self.use)) is not None:
            yield from _use(use)
        if (census := _current(self.census)) is not None:
            yield from memory_metrics(census)
        if (status := _current(self.mirror)) is not None:
            yield from _mirror(status)
        if (unembedded := _current(self.unembedded)) is not None:
            yield GaugeMetricFamily(
                "stratagraph_records_to_embed", "Records that wait for a vector, counted to 10000.", value=unembedded
            )

    def _parts(self) -> Iterator[Metric]:
        yield from database_metrics(_current(self.database))
        answers = {}
        age = GaugeMetricFamily(
            "stratagraph_measured_age_seconds", "Age of the measurement behind stratagraph_up.", labels=["part"]
        )
        for name, measured in (("database", self.database), ("mirror", self.neo4j)):
            if measured is not None:
                answers[name] = measured.problem is None and not measured.is_stale
                if isinstance(measured.value, Probe):
                    answers[name] &= measured.value.serves
                age.add_metric([name], measured.age_s)
        yield up(answers)
        yield age


def _current(measured: Measured[T] | None) -> T | None:
    """Return the measured value; None if there is none, or only one that is too old to be shown as that of now."""
    return None if measured is None or measured.is_stale else measured.value


def _embedder(embedder: Embedder) -> Iterator[Metric]:
    texts = CounterMetricFamily("stratagraph_embedder_texts", "Texts embedded.", labels=["use"])
    failures = CounterMetricFamily("stratagraph_embedder_failures", "Failed calls of the embedder.", labels=["use"])
    seconds = CounterMetricFamily("stratagraph_embedder_seconds", "Time of the calls of the embedder.", labels=["use"])
    for use, number in embedder.usage.texts.items():
        texts.add_metric([use], number)
        failures.add_metric([use], embedder.usage.failures[use])
        seconds.add_metric([use], embedder.usage.seconds[use])
    yield from (texts, failures, seconds)


async def _fetch_metrics(member: Member | None) -> dict[str, list[Metric]]:
    return {} if member is None else await fetch_metrics(member)


def _processes(member: Member) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "stratagraph_process_up", "1 if the process runs, has started and does not hang.", labels=[LABEL]
    )
    starts = CounterMetricFamily("stratagraph_process_starts", "Starts of the process.", labels=[LABEL])
    hangs = CounterMetricFamily(
        "stratagraph_process_hangs", "Times that the process was killed because it hung.", labels=[LABEL]
    )
    pids = GaugeMetricFamily("stratagraph_process_pid", "Process id, 0 while it does not run.", labels=[LABEL])
    for one in member.board.states():
        up.add_metric([one.name], float(one.is_ready and one.silent_s <= SILENT_S))
        starts.add_metric([one.name], one.starts)
        hangs.add_metric([one.name], one.hangs)
        pids.add_metric([one.name], one.pid)
    yield from (up, starts, hangs, pids)


def _jobs(states: Iterable[JobState]) -> Iterator[Metric]:
    runs = CounterMetricFamily("stratagraph_job_runs", "Finished runs of a job.", labels=["job"])
    failed = CounterMetricFamily("stratagraph_job_failed_runs", "Failed runs of a job.", labels=["job"])
    in_a_row = GaugeMetricFamily("stratagraph_job_failures", "Failed runs since the last success.", labels=["job"])
    last = GaugeMetricFamily("stratagraph_job_last_run_timestamp_seconds", "End of the last run.", labels=["job"])
    took = GaugeMetricFamily("stratagraph_job_last_run_duration_seconds", "Time of the last run.", labels=["job"])
    overdue = GaugeMetricFamily("stratagraph_job_overdue_seconds", "For how long it was due, 0 if not.", labels=["job"])
    running = GaugeMetricFamily("stratagraph_job_running", "1 while a server runs it.", labels=["job"])
    set_aside = GaugeMetricFamily("stratagraph_job_set_aside", "Rows that it could not process.", labels=["job"])
    for one in states:
        runs.add_metric([one.name], one.runs)
        failed.add_metric([one.name], one.failed_runs)
        in_a_row.add_metric([one.name], one.failures)
        if one.finished_at is not None:
            last.add_metric([one.name], one.finished_at.timestamp())
        if one.took_s is not None:
            took.add_metric([one.name], one.took_s)
        overdue.add_metric([one.name], max(0.0, one.overdue_s))
        running.add_metric([one.name], float(one.is_running))
        set_aside.add_metric([one.name], one.set_aside)
    yield from (runs, failed, in_a_row, last, took, overdue, running, set_aside)


def _lags(lags: Mapping[str, Lag]) -> Iterator[Metric]:
    labels = ["consumer"]
    changes = GaugeMetricFamily("stratagraph_feed_lag_changes", "Unread changes, counted to 10000.", labels=labels)
    seconds = GaugeMetricFamily("stratagraph_feed_lag_seconds", "Age of the oldest unread snapshot.", labels=labels)
    refused = GaugeMetricFamily("stratagraph_feed_dead_letters", "Changes that the target refused.", labels=labels)
    for consumer, lag in lags.items():
        changes.add_metric([consumer], lag.changes)
        seconds.add_metric([consumer], lag.seconds)
        refused.add_metric([consumer], lag.dead_letters)
    yield from (changes, seconds, refused)


def _use(use: RetrievalUse) -> Iterator[Metric]:
    outcomes = CounterMetricFamily(
        "stratagraph_reported_outcomes", "Retrievals whose outcome was reported, by outcome.", labels=["outcome"]
    )
    for name, count in (("success", use.successes), ("failure", use.failures), ("partial", use.partials)):
        outcomes.add_metric([name], count)
    yield outcomes
    records = CounterMetricFamily(
        "stratagraph_reported_records", "Records of these retrievals: returned, and used.", labels=["records"]
    )
    records.add_metric(["returned"], use.returned)
    records.add_metric(["used"], use.used)
    yield records
    if use.usefulness is not None:
        yield GaugeMetricFamily(
            "stratagraph_retrieval_usefulness", "Share of the returned records that were used.", value=use.usefulness
        )


def _mirror(status: MirrorStatus) -> Iterator[Metric]:
    values = {
        "stratagraph_mirror_followed_age_seconds": (status.followed_s, "Time since a worker completed a pass."),
        "stratagraph_mirror_maintained_age_seconds": (status.maintained_s, "Time since a leader completed a pass."),
        "stratagraph_mirror_compared_age_seconds": (status.checked_s, "Time since a comparison in full was completed."),
        "stratagraph_mirror_workers": (float(status.live_workers), "Workers whose heartbeat is fresh."),
        "stratagraph_mirror_building": (float(status.is_building), "1 while the mirror is being filled."),
    }
    for name, (value, help_) in values.items():
        if value is not None:
            yield GaugeMetricFamily(name, help_, value=value)
