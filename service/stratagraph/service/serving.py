"""The long-lived service: API, mirror worker and background jobs in one process, or each in its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import structlog
import uvicorn
from starlette.applications import Starlette

from stratagraph.graphql.app import build_app
from stratagraph.graphql.authentication import Authenticate, Authentication
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.budgets import Budgets
from stratagraph.graphql.oidc.issuer_keys import IssuerKeys
from stratagraph.graphql.oidc.tokens import OidcTokens
from stratagraph.service.connections import bounded_protocol
from stratagraph.service.holder import hold, tell
from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.settings import Part, Settings
from stratagraph.store.keys.rate_buckets import RateBuckets
from stratagraph.store.model.errors import Misconfigured

GRACE_S = 20  # requests under way may take this long to finish after a stop is asked for
_log = structlog.get_logger(__name__)


async def serve(
    settings: Settings, parts: tuple[Part, ...], *, on_ready: Callable[[Runtime, str | None], None]
) -> None:
    """Run the parts until SIGTERM or SIGINT; then finish requests, release leases and stop the embedded database.

    `on_ready` is called once requests are answered, with the address of the API or None.
    """
    with _held(settings) as told:
        async with open_runtime(settings) as runtime:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, stop.set)
            listener = listen(settings) if "api" in parts else None
            url = _address(settings, listener) if listener is not None else None
            if told is not None:
                tell(told, url)
            async with asyncio.TaskGroup() as group:
                background = []
                if "jobs" in parts:
                    background.append(group.create_task(runtime.jobs.run(), name="jobs"))
                worker = runtime.sync_worker() if "sync" in parts else None
                if worker is not None:
                    background.append(group.create_task(worker.run(), name="sync"))
                if listener is not None:
                    group.create_task(_api(runtime, listener, stop, lambda: on_ready(runtime, url)), name="api")
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


def listen(settings: Settings) -> socket.socket:
    """Return a socket bound to the address of the API. Raises Misconfigured if it cannot be."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol given, asyncio sets TCP_NODELAY on accepted connections. Without it, each request but the first
    # of a kept connection takes 40 ms longer: the client's delayed acknowledgement waits for Nagle's algorithm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise Misconfigured(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}. Free it, or set STRATAGRAPH_PORT"
            " (0 picks a free port)."
        ) from error
    return listener


def _address(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}"


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


async def _api(runtime: Runtime, listener: socket.socket, stop: asyncio.Event, on_started: Callable[[], None]) -> None:
    limits = runtime.settings.connection_limits
    config = uvicorn.Config(
        application(runtime),
        http=bounded_protocol(limits),
        ws="none",  # no subscription protocol is offered
        timeout_keep_alive=math.ceil(limits.idle_s),
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


def application(runtime: Runtime) -> Starlette:
    """Return the ASGI application of the API over the services of `runtime`."""
    settings = runtime.settings
    return build_app(
        runtime.services(),
        Authentication(runtime.credentials.authenticate, oidc=_oidc(settings), single_user=settings.is_single_user),
        runtime.artifacts,
        Admission(settings.fair_use, Budgets(RateBuckets(runtime.database, uuid4()))),
        ready=runtime.health.ready,
        loopback_only=settings.is_single_user,
    )


def _oidc(settings: Settings) -> Authenticate | None:
    if settings.oidc_issuer is None or settings.oidc_audience is None:
        return None
    keys = IssuerKeys(settings.oidc_issuer)
    return OidcTokens(keys, audience=settings.oidc_audience, names=settings.oidc_claims).authenticate
