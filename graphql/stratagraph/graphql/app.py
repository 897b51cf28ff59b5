"""The ASGI application: /graphql, /artifacts, /export, /v1/traces, /schemas, GraphiQL, and the probes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from importlib.resources import as_file, files
from typing import Any
from urllib.parse import urlsplit

import orjson
from cross_web import AsyncHTTPRequestAdapter, StarletteRequestAdapter
from cross_web import HTTPException as UnwantedRequest
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.execution import PreExecutionError

from stratagraph.graphql.artifacts import PATH as ARTIFACTS
from stratagraph.graphql.artifacts import artifact_routes
from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.context import Context
from stratagraph.graphql.exports.endpoint import export_routes
from stratagraph.graphql.failure import (
    GRAPHQL_RESPONSE,
    JSON,
    failure,
    media_type,
    refusal,
    retry_headers,
    status_of,
)
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.extension import Ticket
from stratagraph.graphql.limits.refusals import is_large, refused_operation
from stratagraph.graphql.live.event_stream import EventStreams, asks_for_events
from stratagraph.graphql.live.parts import StreamParts
from stratagraph.graphql.live.sessions import OpenSubscriptions
from stratagraph.graphql.live.socket import Sockets
from stratagraph.graphql.masking import coded
from stratagraph.graphql.probes import probes
from stratagraph.graphql.request_body import UnsupportedBody, read_request
from stratagraph.graphql.request_log import RecordRequests
from stratagraph.graphql.schema import Schema, build_schema
from stratagraph.graphql.schemas import schema_routes
from stratagraph.graphql.services import HealthReport, Services
from stratagraph.graphql.telemetry import Telemetry
from stratagraph.graphql.traces.endpoint import trace_route
from stratagraph.graphql.web.compression import Compression
from stratagraph.graphql.web.cors import Cors
from stratagraph.graphql.web.entity_tags import NOT_MODIFIED, let_revalidate
from stratagraph.graphql.web.get_requests import QueryOnly, read_parameters, refuse_other_sites
from stratagraph.graphql.web.options import WebOptions
from stratagraph.memory.imports.span_intake import SpanIntake
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.exports import Exports
from stratagraph.store.model.errors import InvalidInput, LimitExceeded, RateLimited, StratagraphError

MAX_ANSWER_BYTES = 64 << 20  # bytes of the answer to a query, before compression
MAX_BODY_BYTES = 16 << 20  # bytes; room for a full batch of captures, refused before it is parsed
DRAIN_BYTES = 64 << 20  # of a body that is too large are read and dropped, so that its client can read the answer
DRAIN_S = 5.0  # seconds for which they are awaited
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"
)
_METHODS = ("GET", "HEAD", "POST", "PUT")  # of all routes
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class _SubResponse(Response):
    """What is known of a response before its body: its status, its media type, and whether it is that of a query."""

    is_of_query = False


class _RequestAdapter(StarletteRequestAdapter):
    """Strawberry's adapter, which keeps the request for `parse_http_body`."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.request = request


class GraphQLEndpoint(GraphQL[Context, None]):
    """The endpoint /graphql: Strawberry's, with authentication, error codes, and every error as JSON.

    It follows the GraphQL-over-HTTP specification, for both of its media types. A request that is refused before it is
    executed has no `data` and a status of 400 or more; under application/json, a request that is well-formed has status
    200, as that specification asks, unless fair use refuses it.
    """

    request_adapter_class = _RequestAdapter

    def __init__(
        self,
        services: Services,
        authentication: Authentication,
        admission: Admission,
        schema: Schema | None,
        web: WebOptions,
        stopping: asyncio.Event,
    ) -> None:
        super().__init__(
            schema or build_schema(), graphql_ide=None, allow_queries_via_get=True, subscription_protocols=()
        )
        self._web = web
        self._services = services
        self._authentication = authentication
        self._admission = admission
        assert isinstance(self.schema, Schema)
        parts = StreamParts(
            services=services,
            authentication=authentication,
            admission=admission,
            schema=self.schema,
            subscriptions=OpenSubscriptions(admission.options),
            stopping=stopping,
            web=web,
        )
        self._streams = EventStreams(parts)
        self._sockets = Sockets(parts)

    async def get_sub_response(self, request: Request | WebSocket) -> Response:
        """Return the response whose status and media type `create_response` takes; `process_result` sets them."""
        made = _SubResponse(status_code=200)
        made.media_type = media_type(request.headers.getlist("accept"))
        del made.headers["content-length"]
        request.state.sub_response = made
        return made

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        assert isinstance(request, Request)  # no subscription protocol is offered
        state = request.scope["state"]
        credential = await self._authentication.credential_of(request)
        if request.method == "GET" and "authorization" not in request.headers:
            refuse_other_sites(request.headers, self._web.origins)
        if is_large(request):  # before the body is read
            await state["held"].enter_async_context(self._admission.transfer(credential.party))

        async def hung_up() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass  # the body has been read, so nothing else is expected

        ticket = Ticket(party=credential.party, admission=self._admission, hung_up=hung_up)
        state["pay_for_body"] = ticket.pay_for_body
        return Context(trust=credential.trust, services=self._services, record=state["record"], ticket=ticket)

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        assert isinstance(request, _RequestAdapter)
        given = request.request
        if given.method == "GET":
            return read_parameters(given.query_params, self._web.documents)
        return await read_request(given, self._web.documents, given.scope["state"]["pay_for_body"])

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        return False  # a GET without `query` may have a `documentId`

    async def execute_single(self, request: Request, *args: Any, **kwargs: Any) -> ExecutionResult:
        try:
            return await super().execute_single(request, *args, **kwargs)
        except UnwantedRequest as error:
            if isinstance(error.__cause__, InvalidOperationTypeError) and request.method == "GET":
                raise QueryOnly from error
            if isinstance(error.__cause__, CannotGetOperationTypeError):
                reason = error.__cause__.as_http_error_reason()
                raise NoOperation(reason, path=["operationName" if "operationName" in reason else "query"]) from error
            raise

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        sub_response: _SubResponse = request.state.sub_response
        sub_response.is_of_query = request.state.record.kind == "query"
        data: GraphQLHTTPResponse = {}
        # Variables are coerced when execution begins: an error without a path is not that of a field.
        is_refused = isinstance(result, PreExecutionError) or (
            result.data is None and bool(result.errors) and all(error.path is None for error in result.errors or ())
        )
        if not is_refused:
            data["data"] = result.data
        elif sub_response.media_type == GRAPHQL_RESPONSE:
            sub_response.status_code = 400
        refused = refused_operation(result)
        if refused is not None:
            sub_response.status_code = status_of(refused)
            if isinstance(refused, RateLimited):
                sub_response.headers.update(retry_headers(refused))
        if result.errors:
            errors = [coded(error) for error in result.errors]
            data["errors"] = [error.formatted for error in errors]
            codes = [str((error.extensions or {}).get("code")) for error in errors]
            request.state.record.codes.extend(codes)
            if is_refused and "INTERNAL" in codes:
                sub_response.status_code = 500
        if result.extensions:
            data["extensions"] = result.extensions
        if request.method == "GET":
            is_whole = not result.errors and sub_response.status_code == 200
            # Without the extensions, in which the cost differs from answer to answer.
            let_revalidate(sub_response, request.headers, self.encode_json(result.data) if is_whole else None)
        return data

    def create_response(
        self, response_data: GraphQLHTTPResponse | list[GraphQLHTTPResponse], sub_response: Response
    ) -> Response:
        body = self.encode_json(response_data) if sub_response.status_code != NOT_MODIFIED else None
        # A slow client holds its answer in memory; what a mutation has done is told however large it is.
        if body is not None and len(body) > MAX_ANSWER_BYTES and getattr(sub_response, "is_of_query", False):
            return refusal(
                LimitExceeded(
                    f"The answer has {len(body):,} bytes, and at most {MAX_ANSWER_BYTES:,} are sent; ask for fewer"
                    " records or fields, or for each field once."
                ),
                media_type=sub_response.media_type or JSON,
            )
        return Response(
            body,
            status_code=sub_response.status_code,
            headers=sub_response.headers,
            media_type=sub_response.media_type,
        )

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Errors before execution (credential, body) are answered in the form of GraphQL errors."""
        if scope["type"] == "websocket":
            await self._sockets(scope, receive, send)
            return
        accepted = media_type(Headers(scope=scope).getlist("accept"))
        try:
            if asks_for_events(scope):
                await self._streams(scope, receive, send)
                return
            await self._admission.enter(Request(scope))
            async with AsyncExitStack() as held:
                scope["state"]["held"] = held
                await super().__call__(scope, receive, _as_json(send, accepted))
        except StratagraphError as error:
            answer = refusal(error, status=_status_of(error, accepted), media_type=accepted)
            if isinstance(error, QueryOnly):
                answer.headers["Allow"] = "POST"
            await answer(scope, receive, send)


class NoOperation(InvalidInput):
    """The document has no such operation; correct `operationName`."""


def _status_of(error: StratagraphError, accepted: str) -> int | None:
    """Return the status of a refused request; None for that of its code."""
    if isinstance(error, NoOperation):
        return 400 if accepted == GRAPHQL_RESPONSE else 200
    if isinstance(error, QueryOnly):
        return 405
    return 415 if isinstance(error, UnsupportedBody) else None


def _as_json(send: Send, accepted: str) -> Send:
    """Return a `send` that turns Strawberry's plain-text refusals into GraphQL errors, in the media type `accepted`."""
    status = 0
    plain = False

    async def wrapped(message: Message) -> None:
        nonlocal status, plain
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            plain = headers.get("content-type", "").startswith("text/plain")
            status = message["status"]
            if plain:
                return
            await send(message)
            return
        if plain:
            text = message.get("body", b"").decode(errors="replace")
            response = failure(text or "The request is malformed.", "INVALID_INPUT", status, media_type=accepted)
            await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
            await send({"type": "http.response.body", "body": response.body})
            return
        await send(message)

    return wrapped


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a request that no route takes."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        methods = (error.headers or {}).get("Allow", "POST").split(", ")
        allowed = ", ".join(sorted(methods, key=_METHODS.index))
        error.headers = {"Allow": allowed}
        message = f"The method is not allowed here; use {allowed}."
        return failure(message, "INVALID_INPUT", 405, error.headers)
    if error.status_code == 404:
        return failure("There is nothing at this path; the API is at /graphql.", "NOT_FOUND", 404)
    return failure(error.detail, "INVALID_INPUT", error.status_code, error.headers)


class BodyLimit:
    """Refuses request bodies over `limit` bytes with status 413, by Content-Length or while they are received.

    Artifacts have a limit of their own (see `artifacts`).
    """

    def __init__(self, app: ASGIApp, *, limit: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == ARTIFACTS:
            await self._app(scope, receive, send)
            return
        message = f"The request body is over {self._limit} bytes; send smaller batches."
        refusal = failure(message, "LIMIT_EXCEEDED", 413, {"Connection": "close"})
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limit:
            await refusal(scope, receive, _draining(receive, send))
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise _BodyTooLarge
            return message

        try:
            await self._app(scope, counted, send)
        except _BodyTooLarge:
            await refusal(scope, receive, _draining(receive, send))


def _draining(receive: Receive, send: Send) -> Send:
    """Return a `send` that reads on for a while before it ends the answer.

    Many clients read an answer only once they have sent their request; were the connection closed before, they would
    find it reset.
    """

    async def drained(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
            return
        await send({**message, "more_body": True})
        left = DRAIN_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while left > 0:
                    part = await receive()
                    left -= len(part.get("body", b""))
                    if not part.get("more_body"):
                        break
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return drained


class LoopbackHosts:
    """Refuses requests whose Host header names no loopback host.

    This stops DNS rebinding: a web page whose domain resolves to this machine reaches the port, but its requests name
    the page's own domain.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if _host_name(host) not in _LOOPBACK_HOSTS:
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008})  # answers the handshake with 403
                    return
                message = "The Host header must name a loopback host, such as 127.0.0.1, in single-user mode."
                await failure(message, "FORBIDDEN", 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


class _BodyTooLarge(Exception):
    """The body is over the limit, although Content-Length announced less."""


def build_app(
    services: Services,
    authentication: Authentication,
    artifacts: Artifacts,
    span_intake: SpanIntake,
    admission: Admission,
    exports: Exports,
    *,
    unready: Callable[[], Awaitable[list[str]]],
    health: Callable[[], Awaitable[HealthReport]],
    loopback_only: bool,
    stopping: asyncio.Event | None = None,
    schema: Schema | None = None,
    telemetry: Telemetry | None = None,
    metrics: Route | None = None,
    web: WebOptions | None = None,
    routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """Return the ASGI application with its routes, limits and probes.

    `unready` and `health` are those of `probes`. With `loopback_only`, for single-user mode, requests must name a
    loopback host. Streams end when `stopping` is set. Without a `schema`, one is built. `telemetry` receives what is
    recorded of requests. `metrics` is the route of the metrics; None where this application must not show them. `web`
    has the origins of pages that may call the API, by default none, and the persisted documents. `routes` are further
    ones, and `lifespan` is entered while the application is served.
    """
    web = web or WebOptions()
    stopping = stopping or asyncio.Event()
    endpoint = GraphQLEndpoint(services, authentication, admission, schema, web, stopping)
    graphql = Route("/graphql", endpoint, methods=["GET", "POST"])
    graphql.methods = {"GET", "POST"}  # Starlette adds HEAD, which would execute a query for nothing

    async def home(_: Request) -> Response:
        return RedirectResponse("/graphiql")

    static = files("stratagraph.graphql").joinpath("static")

    with as_file(static) as directory:
        page = directory / "graphiql" / "index.html"

        async def graphiql(_: Request) -> Response:
            return FileResponse(page, headers={"Content-Security-Policy": _PAGE_POLICY})

        app = Starlette(
            routes=[
                graphql,
                WebSocketRoute("/graphql", endpoint),
                *artifact_routes(artifacts, authentication, admission),
                trace_route(span_intake, authentication, admission, web.origins),
                *export_routes(exports, authentication, admission, stopping, web.origins),
                *schema_routes(),
                Route("/graphiql", graphiql),
                *probes(services.version, unready, health),
                *([metrics] if metrics is not None else []),
                *routes,
                Route("/", home),
                Mount("/static", StaticFiles(directory=directory)),
            ],
            middleware=[
                Middleware(RecordRequests, telemetry=telemetry or Telemetry()),
                *([Middleware(LoopbackHosts)] if loopback_only else []),
                *([Middleware(Cors, origins=web.origins)] if web.origins else []),
                Middleware(Compression),
                Middleware(BodyLimit),
            ],
            exception_handlers={HTTPException: _refused},
            lifespan=lifespan,
        )
    app.router.redirect_slashes = False  # whose redirections would name whatever host the request names
    return app
