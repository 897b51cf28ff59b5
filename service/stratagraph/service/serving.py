"""The long-lived service: API, mirror worker and background jobs, in one process or in several."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvloop
from prometheus_client import disable_created_metrics
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from stratagraph.graphql.app import LoopbackHosts, build_app
from stratagraph.graphql.authentication import Authenticate, Authentication
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.oidc.issuer_keys import IssuerKeys
from stratagraph.graphql.oidc.tokens import OidcTokens
from stratagraph.graphql.oidc.urls import is_loopback
from stratagraph.graphql.probes import probes
from stratagraph.graphql.schema import Schema, build_schema
from stratagraph.graphql.web.options import WebOptions
from stratagraph.graphql.web.persisted_documents import PersistedDocuments
from stratagraph.memory.embedding.embedder import Embedder, EmbedderUnavailable
from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.garbage import keep_loaded
from stratagraph.service.holder import hold, publish_address
from stratagraph.service.http_server import serve_http
from stratagraph.service.listening import NO_LISTENERS, Listeners, address_of, open_listeners
from stratagraph.service.local_application import local_application
from stratagraph.service.logs import set_up_logs
from stratagraph.service.mcp.endpoint import McpEndpoint
from stratagraph.service.mcp.protected_resource import ProtectedResource
from stratagraph.service.processes.board import Member
from stratagraph.service.processes.group import HANG_S, Group
from stratagraph.service.processes.shares import check_connections, settings_of_worker
from stratagraph.service.runtime import Runtime
from stratagraph.service.settings import Part, Settings
from stratagraph.service.stopping import Stop
from stratagraph.service.telemetry import ServiceTelemetry, open_telemetry
from stratagraph.service.waiting import runtime_when_possible
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.rate_buckets import RateBuckets
from stratagraph.store.model.errors import StratagraphError

# Long computations run in threads beside the event loop. Between two steps of a request, the loop waits for the
# interpreter's lock for this long, by default ten times as long.
SWITCH_S = 0.0005  # seconds
LOCAL_LIMITS = ConnectionLimits(per_address=ConnectionLimits().connections)  # all programs there have one address
_log = get_logger(__name__)

OnReady = Callable[[str | None, str | None], None]


def serve(
    settings: Settings,
    parts: tuple[Part, ...],
    *,
    on_ready: OnReady,
    on_error: Callable[[StratagraphError], None],
) -> int:
    """Run the parts until SIGTERM or SIGINT; then finish requests, release leases and stop the embedded database.

    A database of the settings that cannot be used at the start is waited for. With more than one worker, the API is
    answered by as many processes, and the other parts run in a further one. `on_ready` is called once requests are
    answered, with the addresses of the API and of the mirror, or None. Returns the exit status. Raises Misconfigured,
    or StoreUnavailable where the embedded database does not start; in a forked process, `on_error` reports it.
    """
    workers = settings.worker_count if "api" in parts else 1
    check_connections(settings, workers)
    with _held(settings, parts) as holder_file:
        listeners = open_listeners(settings, parts, local=holder_file is not None)
        url = address_of(settings.host, listeners.api) if listeners.api is not None else None
        if holder_file is not None:
            publish_address(holder_file, url)

        def ready(mirror: str | None) -> None:
            on_ready(url, mirror)

        if workers == 1:
            _run(run_parts(settings, parts, listeners, waiting_on=listeners, on_ready=ready))
            return 0

        def work(member: Member, own: tuple[Part, ...], on_own_ready: Callable[[str | None], None]) -> None:
            set_up_logs(settings.log_level, process=member.name)
            is_worker = "api" in own
            try:
                _run(
                    run_parts(
                        settings_of_worker(settings) if is_worker else settings,
                        own,
                        listeners if is_worker else NO_LISTENERS,
                        waiting_on=listeners,
                        on_ready=on_own_ready,
                        member=member,
                    )
                )
            except StratagraphError as error:
                on_error(error)
                sys.exit(1)
            except Exception:
                sys.excepthook(*sys.exc_info())  # as in a process that was not forked: without its message
                sys.exit(1)

        group = Group(
            parts,
            workers=workers,
            listeners=listeners,
            work=work,
            drain_s=settings.drain_s,
            hang_s=HANG_S,
        )
        return group.run(ready)


def _run(parts: Coroutine[Any, Any, None]) -> None:
    """Run the parts on uvloop: asyncio's own loop costs a capture a fifth more processor time."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(parts)


async def run_parts(
    settings: Settings,
    parts: tuple[Part, ...],
    listeners: Listeners,
    *,
    waiting_on: Listeners,
    on_ready: Callable[[str | None], None],
    member: Member | None = None,
) -> None:
    """Run the parts in this process until SIGTERM; alone, also until SIGINT; as a `member`, until the parent's end.

    Until the database can be used, the process says so on the sockets `waiting_on`. `on_ready` is called with the
    mirror's address, if there is one.
    """
    sys.setswitchinterval(SWITCH_S)
    disable_created_metrics()  # type: ignore[no-untyped-call] # one more series per label, which nobody asks for
    stop = Stop(settings.drain_s if "api" in parts else 0.0, member)  # no load balancer sends requests to the others
    async with (
        _beating(member),
        runtime_when_possible(settings, parts, waiting_on, stop, member) as runtime,
    ):
        if runtime is not None:
            await _run_opened(runtime, parts, listeners, stop, on_ready, member)


async def _run_opened(
    runtime: Runtime,
    parts: tuple[Part, ...],
    listeners: Listeners,
    stop: Stop,
    on_ready: Callable[[str | None], None],
    member: Member | None,
) -> None:
    """Run the parts over `runtime`."""
    settings = runtime.settings
    async with open_telemetry(runtime, member) as telemetry:
        if runtime.embedder is not None and "api" in parts:
            await prepare(runtime.embedder)
        answers = listeners.api is not None or listeners.local is not None
        schema = build_schema() if answers else None
        web = web_options(settings, schema) if schema is not None else None
        async with asyncio.TaskGroup() as group:
            tasks = start_background(group, runtime, parts)
            limits = settings.connection_limits

            def ready() -> None:
                keep_loaded()
                on_ready(runtime.mirror.uri if runtime.mirror.is_found else None)

            if listeners.metrics is not None:
                listeners.metrics.listen()  # at once: without the API, the process is ready before the server is
                _log.info("metrics are served", url=address_of(settings.metrics_host, listeners.metrics) + "/metrics")
                metrics = _metrics_application(runtime, telemetry)
                scrapers = OpenConnections(limits)
                group.create_task(
                    serve_http(metrics, listeners.metrics, scrapers, stop.now, lambda: None), name="metrics"
                )
            if listeners.local is not None:
                local = local_application(runtime, schema=schema, telemetry=telemetry, stopping=stop.now)
                group.create_task(serve_local(local, listeners.local, stop.now), name="local")
            if listeners.api is not None:
                app = application(runtime, telemetry, schema, web, stop.now)
                clients = OpenConnections(limits, member, stop.is_asked)
                telemetry.metrics.follow_connections(clients)
                group.create_task(_serve_api(app, listeners.api, clients, stop.now, ready), name="api")
            else:
                ready()
            await stop.now.wait()
            _log.info("stopping")
            for task in tasks:
                task.cancel()


async def _serve_api(
    app: Starlette,
    listener: socket.socket,
    clients: OpenConnections,
    stop: asyncio.Event,
    on_started: Callable[[], None],
) -> None:
    async with app.router.lifespan_context(app):  # until the last request has been answered
        await serve_http(app, listener, clients, stop, on_started)


def start_background(group: asyncio.TaskGroup, runtime: Runtime, parts: tuple[Part, ...]) -> list[asyncio.Task[None]]:
    """Start what runs beside requests, and return its tasks, which run until they are cancelled."""
    tasks = [group.create_task(runtime.health.watch(), name="watch")]
    if runtime.supervisor is not None:
        tasks.append(group.create_task(runtime.supervisor.run(), name="postgres"))
    if "jobs" in parts:
        tasks.append(group.create_task(runtime.jobs.run(), name="jobs"))
    if "sync" in parts:
        tasks.append(group.create_task(runtime.sync_worker().run(), name="sync"))
    return tasks


async def serve_local(
    application: ASGIApp, bound: socket.socket, stop: asyncio.Event, on_started: Callable[[], None] = lambda: None
) -> None:
    """Answer at the socket of the data directory until `stop` is set."""
    await serve_http(application, bound, OpenConnections(LOCAL_LIMITS), stop, on_started)


async def prepare(embedder: Embedder) -> None:
    """Load the model before requests are answered: else the first questions of a process would go without vectors."""
    try:
        await embedder.prepare()
    except EmbedderUnavailable as error:
        _log.warning("embedder is not available; words answer alone", reason=error.message)


@contextlib.asynccontextmanager
async def _beating(member: Member | None) -> AsyncIterator[None]:
    """Have the heartbeats of a member written during the block."""
    if member is None:
        yield
        return
    task = asyncio.create_task(member.beat(), name="heartbeat")
    try:
        yield
    finally:
        task.cancel()


@contextlib.contextmanager
def _held(settings: Settings, parts: tuple[Part, ...]) -> Iterator[Path | None]:
    """With the embedded database, one service per directory; servers of a shared database are many by design.

    The API alone runs beside a service too.
    """
    if settings.database_url is not None or parts == ("api",):
        yield None
        return
    with hold(settings.data_dir) as held:
        yield held.address_file


def application(
    runtime: Runtime,
    telemetry: ServiceTelemetry,
    schema: Schema | None = None,
    web: WebOptions | None = None,
    stopping: asyncio.Event | None = None,
) -> Starlette:
    """Return the ASGI application of the API over the services of `runtime`. Streams end when `stopping` is set.

    It has /metrics only in single-user mode, where every caller is the operator, and if they have no own listener.
    """
    settings, schema = runtime.settings, schema or build_schema()
    has_metrics = settings.is_single_user and settings.metrics_port is None
    web = web or web_options(settings, schema)
    authentication = Authentication(
        runtime.credentials.authenticate, oidc=_oidc(settings), single_user=settings.is_single_user
    )
    admission = Admission(settings.fair_use, Budgets(RateBuckets(runtime.database, uuid4())))
    mcp = McpEndpoint(
        authentication,
        admission,
        ProtectedResource(settings.oidc_issuer, settings.oidc_audience),
        origins=web.origins,
        version=runtime.services().version,
    )
    telemetry.metrics.follow(admission.heavy, admission.running, admission.transfers)
    telemetry.metrics.follow_changes(runtime.changes.following)
    return build_app(
        runtime.services(),
        authentication,
        runtime.artifacts,
        runtime.span_intake,
        admission,
        runtime.exports,
        unready=runtime.health.unready,
        health=runtime.health.report_to_operator,
        loopback_only=settings.is_single_user,
        stopping=stopping,
        schema=schema,
        telemetry=telemetry,
        metrics=telemetry.metrics.route() if has_metrics else None,
        web=web,
        routes=mcp.routes(),
        lifespan=lambda _: mcp.running(),
    )


def web_options(settings: Settings, schema: Schema) -> WebOptions:
    """Return what the settings say of the web. Raises Misconfigured for a persisted document that is not valid."""
    if settings.documents_dir is None:
        return WebOptions(origins=settings.cors_origins)
    documents = PersistedDocuments.load(settings.documents_dir, schema._schema, is_exclusive=settings.documents_only)
    return WebOptions(origins=settings.cors_origins, documents=documents)


def _metrics_application(runtime: Runtime, telemetry: ServiceTelemetry) -> Starlette:
    """Return the ASGI application of the metrics' own listener, which also has the probes."""
    version = runtime.services().version
    middleware = [Middleware(LoopbackHosts)] if is_loopback(runtime.settings.metrics_host) else []
    routes = [telemetry.metrics.route(), *probes(version, runtime.health.unready, runtime.health.report_to_operator)]
    return Starlette(routes=routes, middleware=middleware)


def _oidc(settings: Settings) -> Authenticate | None:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        return None
    keys = IssuerKeys(settings.oidc_issuer)
    return OidcTokens(keys, audience=settings.oidc_audience, names=settings.oidc_claims).authenticate
