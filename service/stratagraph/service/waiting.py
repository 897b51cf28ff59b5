"""Waiting for a database of the settings that cannot be used at the start; the probes say so until it can be."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from stratagraph.graphql.app import LoopbackHosts
from stratagraph.graphql.error_fields import extensions_of
from stratagraph.graphql.oidc.urls import is_loopback
from stratagraph.graphql.probes import probes
from stratagraph.graphql.services import HealthReport, Report
from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.http_server import serve_http
from stratagraph.service.listening import Listeners
from stratagraph.service.processes.board import Member
from stratagraph.service.processes.shares import background_connections
from stratagraph.service.readiness_metrics import waiting_metrics
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Part, Settings
from stratagraph.service.stopping import Stop
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import WORKER_POOL_SIZE

_log = get_logger(__name__)

PATHS = ("/graphql", "/artifacts", "/export", "/v1/traces", "/mcp")  # answered with UNAVAILABLE until then
RETRY_S = 1.0  # between two attempts to use the database
REASON = "The database cannot be used yet; the service waits for it, and its log says why. Try again shortly."


@asynccontextmanager
async def _answering(settings: Settings, listeners: Listeners, version: str) -> AsyncIterator[None]:
    """Answer on the listeners of the API and of the metrics during the block; they stay open after it."""
    has_metrics = settings.is_single_user and settings.metrics_port is None
    applications = (
        (listeners.api, _application(version, loopback=settings.is_single_user, metrics=has_metrics, api=True)),
        (listeners.metrics, _application(version, loopback=is_loopback(settings.metrics_host), metrics=True)),
    )
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        stack.callback(stop.set)
        for listener, application in applications:
            if listener is not None and listener.fileno() >= 0:  # closed where other processes answer on it
                # The server closes its socket at its end; the duplicate keeps ours open, with what waits on it.
                connections = OpenConnections(ConnectionLimits())
                group.create_task(serve_http(application, listener.dup(), connections, stop, lambda: None))
        yield


def _application(version: str, *, loopback: bool, metrics: bool, api: bool = False) -> Starlette:
    async def unready() -> list[str]:
        return ["database"]

    async def health() -> HealthReport:
        report = Report(
            name="database",
            ok=False,
            detail=REASON,
            fails=True,
            checked_at=datetime.now(UTC),
            age_s=0.0,
            is_stale=False,
        )
        return HealthReport(ok=False, checks=[report])

    async def show_metrics(_: Request) -> Response:
        return Response(waiting_metrics(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def unavailable(_: Request) -> Response:
        error = {"message": REASON, "extensions": extensions_of("UNAVAILABLE", retryable=True, retry_after=1.0)}
        return JSONResponse({"errors": [error]}, status_code=503, headers={"Retry-After": "1"})

    routes = probes(version, unready, health)
    if metrics:
        routes.append(Route("/metrics", show_metrics))
    if api:
        routes += [Route(path, unavailable, methods=["GET", "POST", "PUT"]) for path in PATHS]
        routes.append(Route("/artifacts/{path:path}", unavailable))
    return Starlette(routes=routes, middleware=[Middleware(LoopbackHosts)] if loopback else [])


@asynccontextmanager
async def runtime_when_possible(
    settings: Settings, parts: tuple[Part, ...], waiting_on: Listeners, stop: Stop, member: Member | None
) -> AsyncIterator[Runtime | None]:
    """Yield the runtime once the database can be used; None if the process is told to stop before."""
    background = background_connections(settings.worker_count) if member and "api" in parts else WORKER_POOL_SIZE
    processes = member.board.states if member is not None else list
    async with AsyncExitStack() as stack:

        async def attempt() -> Runtime:
            return await stack.enter_async_context(
                open_runtime(
                    settings, background_connections=background, processes=processes, is_stopping=stop.is_asked
                )
            )

        try:
            runtime: Runtime | None = await attempt()
        except StoreUnavailable as error:
            if settings.database_url is None:
                raise
            runtime = await _waited_for(attempt, error, settings, waiting_on, stop)
        if "api" not in parts and member is not None:
            waiting_on.close()
        yield runtime


async def _waited_for(
    attempt: Callable[[], Awaitable[Runtime]],
    error: StoreUnavailable,
    settings: Settings,
    waiting_on: Listeners,
    stop: Stop,
) -> Runtime | None:
    """Make further attempts until one succeeds or the process is told to stop."""
    reason = None
    async with _answering(settings, waiting_on, importlib.metadata.version("stratagraph")):
        while not stop.is_asked():
            if error.message != reason:
                reason = error.message
                _log.warning("waiting for the database", reason=reason)
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S):
                    await stop.now.wait()
                return None
            try:
                runtime = await attempt()
            except StoreUnavailable as again:
                error = again
                continue
            _log.info("the database can be used")
            return runtime
    return None
