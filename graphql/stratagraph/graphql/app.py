"""The ASGI application: /graphql, /artifacts, the GraphiQL page, and the probes /healthz and /readyz."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.resources import as_file, files
from urllib.parse import urlsplit

import orjson
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse
from strawberry.types import ExecutionResult

from stratagraph.graphql.artifacts import PATH as ARTIFACTS
from stratagraph.graphql.artifacts import artifact_routes
from stratagraph.graphql.authentication import Authentication
from stratagraph.graphql.context import Context
from stratagraph.graphql.failure import failure, refusal
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.extension import Ticket
from stratagraph.graphql.limits.refusals import is_large, refused_operation, with_refusal_status
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.services import Services
from stratagraph.memory.artifacts import Artifacts
from stratagraph.store.model.errors import StratagraphError

MAX_BODY_BYTES = 16 << 20  # bytes; room for a full batch of captures, refused before it is parsed
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"
)
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class GraphQLEndpoint(GraphQL[Context, None]):
    """The endpoint /graphql: Strawberry's, with authentication, error codes, and every error as JSON."""

    def __init__(self, services: Services, authentication: Authentication, admission: Admission) -> None:
        super().__init__(build_schema(), graphql_ide=None, allow_queries_via_get=False, subscription_protocols=())
        self._services = services
        self._authentication = authentication
        self._admission = admission

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        assert isinstance(request, Request)  # no subscription protocol is offered
        state = request.scope.setdefault("state", {})
        credential = await self._authentication.credential_of(request)
        if is_large(request):  # before the body is read
            await state["held"].enter_async_context(self._admission.transfer(credential.party))
        ticket = Ticket(party=credential.party, admission=self._admission, state=state)
        return Context(trust=credential.trust, services=self._services, ticket=ticket)

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        refused = refused_operation(result)
        if refused is not None:
            request.scope["state"]["refused"] = refused
        data: GraphQLHTTPResponse = {"data": result.data}
        if result.errors:
            data["errors"] = [coded(error).formatted for error in result.errors]
        if result.extensions:
            data["extensions"] = result.extensions
        return data

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Errors before execution (credential, body) are answered in the form of GraphQL errors."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        try:
            await self._admission.enter(Request(scope))
            async with AsyncExitStack() as held:
                state["held"] = held
                await super().__call__(scope, receive, with_refusal_status(_as_json(send), state))
        except StratagraphError as error:
            await refusal(error)(scope, receive, send)


def _as_json(send: Send) -> Send:
    """Return a `send` that turns Strawberry's plain-text refusals into GraphQL errors in JSON."""
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
            response = failure(text or "The request is malformed.", "INVALID_INPUT", status)
            await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
            await send({"type": "http.response.body", "body": response.body})
            return
        await send(message)

    return wrapped


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
        refusal = failure(f"The request body is over {self._limit} bytes; send smaller batches.", "LIMIT_EXCEEDED", 413)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limit:
            await refusal(scope, receive, send)
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
            await refusal(scope, receive, send)


class LoopbackHosts:
    """Refuses requests whose Host header names no loopback host.

    This stops DNS rebinding: a web page whose domain resolves to this machine reaches the port, but its requests name
    the page's own domain.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if _host_name(host) not in _LOOPBACK_HOSTS:
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
    admission: Admission,
    *,
    ready: Callable[[], Awaitable[bool]],
    loopback_only: bool,
) -> Starlette:
    """Return the ASGI application with its routes, limits and probes.

    `ready` reports whether requests can be answered at present; /readyz answers 200 or 503 accordingly. With
    `loopback_only`, for single-user mode, requests must name a loopback host.
    """
    endpoint = GraphQLEndpoint(services, authentication, admission)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "alive", "version": services.version})

    async def readyz(_: Request) -> Response:
        is_ready = await ready()
        return JSONResponse({"status": "ready" if is_ready else "not ready"}, status_code=200 if is_ready else 503)

    async def home(_: Request) -> Response:
        return RedirectResponse("/graphiql")

    static = files("stratagraph.graphql").joinpath("static")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield

    with as_file(static) as directory:
        page = directory / "graphiql" / "index.html"

        async def graphiql(_: Request) -> Response:
            return FileResponse(page, headers={"Content-Security-Policy": _PAGE_POLICY})

        return Starlette(
            routes=[
                Route("/graphql", endpoint, methods=["GET", "POST"]),
                *artifact_routes(artifacts, authentication, admission),
                Route("/graphiql", graphiql),
                Route("/healthz", healthz),
                Route("/readyz", readyz),
                Route("/", home),
                Mount("/static", StaticFiles(directory=directory)),
            ],
            middleware=[
                *([Middleware(LoopbackHosts)] if loopback_only else []),
                Middleware(BodyLimit),
            ],
            lifespan=lifespan,
        )
