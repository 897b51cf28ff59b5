"""The long-lived service: API, mirror worker and background jobs in one process, or each in its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from stratagraph.graphql.app import LoopbackHosts, build_app
from stratagraph.graphql.authentication import Authenticate, Authentication
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.oidc.issuer_keys import IssuerKeys
from stratagraph.graphql.oidc.tokens import OidcTokens
from stratagraph.graphql.oidc.urls import is_loopback
from stratagraph.graphql.probes import probes
from stratagraph.service.connections import OpenConnections, bounded_protocol
from stratagraph.service.holder import hold, tell
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Part, Settings
from stratagraph.service.telemetry import ServiceTelemetry, open_telemetry
from stratagraph.store.keys.rate_buckets import RateBuckets
from stratagraph.store.model.errors import Misconfigured

# Long computations run in threads beside the event loop. Between two steps of a request, the loop waits for the
# interpreter's lock for this long, by default ten times as long.
SWITCH_S = 0.0005  # seconds
GRACE_S = 20  # requests under way may take this long to finish after a stop is asked for
_log = structlog.get_logger(__name__)


async def serve(
    settings: Settings, parts: tuple[Part, ...], *, on_ready: Callable[[Runtime, str | None], None]
) -> None:
    """Run the parts until SIGTERM or SIGINT; then finish requests, release leases and stop the embedded database.

    `on_ready` is called once requests are answered, with the address of the API or None.
    """
    sys.setswitchinterval(SWITCH_S)
    with _held(settings) as told:
        async with open_runtime(settings) as runtime, open_telemetry(runtime) as telemetry:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, stop.set)
            listener = listen(settings.host, settings.port, "PORT") if "api" in parts else None
            metrics_listener = (
                listen(settings.metrics_host, settings.metrics_port, "METRICS_PORT")
                if settings.metrics_port is not None
                else None
            )
            url = _address(settings.host, listener) if listener is not None else None
            if told is not None:
                tell(told, url)
            async with asyncio.TaskGroup() as group:
                background = []
                if runtime.supervisor is not None:
                    background.append(group.create_task(runtime.supervisor.run(), name="postgres"))
                if "jobs" in parts:
                    background.append(group.create_task(runtime.jobs.run(), name="jobs"))
                if "sync" in parts:
                    background.append(group.create_task(runtime.sync_worker().run(), name="sync"))
                limits = settings.connection_limits
                if metrics_listener is not None:
                    metrics_listener.listen()  # at once: without the API, the process is ready before the server is
                    _log.info("metrics are served", url=_address(settings.metrics_host, metrics_listener) + "/metrics")
                    metrics = _metrics_application(runtime, telemetry)
                    scrapers = OpenConnections(limits)
                    group.create_task(_serve(metrics, metrics_listener, scrapers, stop, lambda: None), name="metrics")
                if listener is not None:
                    app = application(runtime, telemetry)
                    clients = OpenConnections(limits)
                    telemetry.metrics.follow_connections(clients)
                    group.create_task(_serve(app, listener, clients, stop, lambda: on_ready(runtime, url)), name="api")
                else:
                    on_ready(runtime, None)
                await stop.wait()
                _log.info("stopping")
                for task in background:
                    task.cancel()


@contextlib.contextmanager
def _held(settings: Settings) -> Iterator[Path | None]:
    """With the embedded database, one service per directory; servers of a shared database are many by design."""
    if settings.database_url is not None:
        yield None
        return
    with hold(settings.data_dir) as told:
        yield told


def listen(host: str, port: int, setting: str) -> socket.socket:
    """Return a socket bound to an address. Raises Misconfigured, naming the port's `setting`, if it cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol given, asyncio sets TCP_NODELAY on accepted connections. Without it, each request but the first
    # of a kept connection takes 40 ms longer: the client's delayed acknowledgement waits for Nagle's algorithm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Misconfigured(
            f"{host}:{port} cannot be listened on: {error.strerror}. Free it, or set STRATAGRAPH_{setting}"
            " (0 picks a free port)."
        ) from error
    return listener


def _address(host: str, listener: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: the process has one place where it is told to stop."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What has been loaded so far stays for good. Without this, each full collection of the garbage collector walks
        # it and stops all requests for a tenth of a second or two.
        gc.collect()
        gc.freeze()
        self._on_started()


async def _serve(
    application: Starlette,
    listener: socket.socket,
    connections: OpenConnections,
    stop: asyncio.Event,
    on_started: Callable[[], None],
) -> None:
    config = uvicorn.Config(
        application,
        http=bounded_protocol(connections),
        ws="none",  # no subscription protocol is offered
        timeout_keep_alive=math.ceil(connections.limits.idle_s),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        lifespan="off",
    )
    server = _Server(config, on_started)

    async def end() -> None:
        await stop.wait()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        await server.serve(sockets=[listener])
    finally:
        ending.cancel()
        stop.set()  # a server that ends by itself takes the service with it


def application(runtime: Runtime, telemetry: ServiceTelemetry) -> Starlette:
    """Return the ASGI application of the API over the services of `runtime`.

    It has /metrics only in single-user mode, where every caller is the operator, and if they have no own listener.
    """
    settings = runtime.settings
    has_metrics = settings.is_single_user and settings.metrics_port is None
    admission = Admission(settings.fair_use, Budgets(RateBuckets(runtime.database, uuid4())))
    telemetry.metrics.follow(admission.heavy, admission.running, admission.transfers)
    return build_app(
        runtime.services(),
        Authentication(runtime.credentials.authenticate, oidc=_oidc(settings), single_user=settings.is_single_user),
        runtime.artifacts,
        admission,
        failing=runtime.health.failing,
        loopback_only=settings.is_single_user,
        telemetry=telemetry,
        metrics=telemetry.metrics.route() if has_metrics else None,
    )


def _metrics_application(runtime: Runtime, telemetry: ServiceTelemetry) -> Starlette:
    """Return the ASGI application of the metrics' own listener, which also has the probes."""
    version = runtime.services().version
    middleware = [Middleware(LoopbackHosts)] if is_loopback(runtime.settings.metrics_host) else []
    routes = [telemetry.metrics.route(), *probes(version, runtime.health.failing)]
    return Starlette(routes=routes, middleware=middleware)


def _oidc(settings: Settings) -> Authenticate | None:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        return None
    keys = IssuerKeys(settings.oidc_issuer)
    return OidcTokens(keys, audience=settings.oidc_audience, names=settings.oidc_claims).authenticate
