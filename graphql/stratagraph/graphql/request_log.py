"""Records each HTTP request: its id, the access log, metrics and traces, and the answer where its handling failed.

The access log has one event for each request: its id, method, route, operation name, status, duration, cost and error
codes. Nothing else that a client sends is logged (see `request_record`).
"""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stratagraph.graphql.failure import failure
from stratagraph.graphql.masking import internal_error
from stratagraph.graphql.request_record import OTHER, RequestRecord, record_of
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.graphql.web.request_ids import HEADER
from stratagraph.graphql.web.trace_context import NAMES, RESPONSE, sending, trace_id, valid_context
from stratagraph.store.event_log import get_logger

CLIENT_CLOSED = 499  # status where the client disconnected before the answer
_PROBES = frozenset(
    {"/livez", "/readyz", "/healthz", "/metrics"}
)  # asked every few seconds, so logged at the level debug
_TRACE_HEADERS = {name.encode(): name for name in NAMES}
_UNTRACED = nullcontext()
_log = get_logger(__name__)


class RecordRequests:
    """Gives each HTTP request an id, returned as the header X-Request-Id, and a record, `scope["state"]["record"]`.

    The id is the client's, if it sends one. If the client says to which trace the request belongs, the log has the
    trace's id, and requests of the service to others carry it on.

    The record is logged and given to `telemetry` when the request has been answered. An exception of the application is
    logged by its type, and answered with status 500 and a reference.
    """

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = record_of(scope)
        scope.setdefault("state", {})["record"] = record
        began = time.perf_counter()

        async def recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[HEADER] = record.id
                if record.trace_response is not None:
                    headers[RESPONSE] = record.trace_response
            await send(message)

        trace = valid_context(_trace_headers(scope))
        ids = {"request_id": record.id} | ({"trace_id": trace_id(trace)} if trace else {})
        with (
            structlog.contextvars.bound_contextvars(**ids),
            sending(trace) if trace else _UNTRACED,
            self._telemetry.observing(record, trace),
        ):
            try:
                await self._app(scope, receive, recorded)
            except ClientDisconnect:
                record.status = record.status or CLIENT_CLOSED
            except Exception as error:
                _, message = internal_error(error, place=record.route)
                if record.status:  # an answer that has begun cannot be replaced; the server closes its connection
                    raise
                await failure(message, "INTERNAL", 500)(scope, receive, recorded)
            finally:
                record.status = record.status or CLIENT_CLOSED
                record.seconds = time.perf_counter() - began
                _write(record)


def _write(record: RequestRecord) -> None:
    """Write the line of the access log."""
    _log.log(
        logging.DEBUG if record.route in _PROBES else logging.INFO,
        "request",
        method=record.method,
        route=record.route if record.route != OTHER else None,
        operation=record.name,
        status=record.status,
        duration_ms=round(1_000 * record.seconds, 1),
        cost=record.cost,
        **({"codes": sorted(set(record.codes))} if record.codes else {}),
    )


def _trace_headers(scope: Scope) -> dict[str, str]:
    return {_TRACE_HEADERS[name]: value.decode("latin-1") for name, value in scope["headers"] if name in _TRACE_HEADERS}
