"""The access log, request ids, and the answer to a request whose handling failed.

Each HTTP request is logged as one event: its id, method, route, operation name, status, duration, and cost. Nothing
else that a client sends is logged: the path only as the route that matched it, the operation's name only where it is
that of an operation in a valid document.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import MutableMapping
from typing import Any

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stratagraph.graphql.failure import failure
from stratagraph.graphql.masking import internal_error

HEADER = "X-Request-Id"  # of the response
MAX_OPERATION_NAME = 64  # characters of it that are logged
OPERATION = "operation"  # key of the operation's name in the request's state, put there by `log_operation`
COST = "cost"  # key of the operation's cost, a number, in the request's state
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PROBES = frozenset({"/healthz", "/readyz"})  # asked every few seconds, so logged at the level debug
_CLIENT_CLOSED = 499  # status in the log where the client disconnected before the answer
_log = structlog.get_logger(__name__)


def log_operation(state: MutableMapping[str, Any], name: str | None) -> None:
    """Have the access log show the operation's name. `name` must come from a parsed document."""
    if name is not None:
        state[OPERATION] = name[:MAX_OPERATION_NAME]


class AccessLog:
    """Gives each HTTP request an id, returned as the header X-Request-Id, and logs it when it has been answered.

    An exception of the application is logged by its type, and answered with status 500 and a reference.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        state = scope.setdefault("state", {})
        status: int | None = None

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, counted)
            except ClientDisconnect:
                status = status or _CLIENT_CLOSED
            except Exception as error:
                # An answer that has begun cannot be replaced; the server closes its connection.
                _, message = internal_error(error, place=_route(scope))
                if status is not None:
                    raise
                await failure(message, "INTERNAL", 500)(scope, receive, counted)
            finally:
                route = _route(scope)
                _log.log(
                    logging.DEBUG if route in _PROBES else logging.INFO,
                    "request",
                    method=scope["method"] if scope["method"] in _METHODS else "other",
                    route=route,
                    operation=state.get(OPERATION),
                    status=status or _CLIENT_CLOSED,
                    duration_ms=round(1_000 * (time.perf_counter() - started), 1),
                    cost=state.get(COST),
                )


def _route(scope: Scope) -> str | None:
    """Return the path of the route that matched, which is ours, not the client's; None where none matched."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    return path if isinstance(path, str) else None
