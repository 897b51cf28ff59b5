"""The ASGI application: /graphql, /artifacts, the GraphiQL page, and two probes for whoever runs the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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
from stratagraph.graphql.failure import failure
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.services import Services
from stratagraph.memory.artifacts import Artifacts
from stratagraph.store.model.errors import StratagraphError

MAX_BODY_BYTES = 16 << 20  # a full batch of captures; refused before it is parsed
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"
)
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class GraphQLEndpoint(GraphQL[Context, None]):
    """Strawberry's endpoint with our credentials, errors in JSON, and quick encoding."""

    def __init__(self, services: Services, authentication: Authentication) -> None:
        super().__init__(build_schema(), graphql_ide=None, allow_queries_via_get=False, subscription_protocols=())
        self._services = services
        self._authentication = authentication

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        assert isinstance(request, Request)  # no subscription protocol is offered
        return Context(trust=await self._authentication.trust_of(request), services=self._services)

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        data: GraphQLHTTPResponse = {"data": result.data}
        if result.errors:
            data["errors"] = [coded(error).formatted for error in result.errors]
        if result.extensions:
            data["extensions"] = result.extensions
        return data

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Errors before execution (credential, body) answer in GraphQL's own form, never as plain text."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        try:
            await super().__call__(scope, receive, _as_json(send))
        except StratagraphError as error:
            status = {"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "UNAVAILABLE": 503}.get(error.code, 400)
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await failure(error.message, error.code, status, headers)(scope, receive, send)


def _as_json(send: Send) -> Send:
    """Strawberry refuses malformed requests in plain text; a client of JSON gets JSON."""
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
            said = message.get("body", b"").decode(errors="replace")
            response = failure(said or "The request could not be read.", "INVALID_INPUT", status)
            await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
            await send({"type": "http.response.body", "body": response.body})
            return
        await send(message)

    return wrapped


class BodyLimit:
    """Refuses bodies that are too large, by their announced length or while they arrive. Artifacts have their own."""

    def __init__(self, app: ASGIApp, *, limit: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == ARTIFACTS:
            await self._app(scope, receive, send)
            return
        refusal = failure(
            f"The request body is over {self._limit} bytes; send captures in smaller batches.", "LIMIT_EXCEEDED", 413
        )
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limit:
            await refusal(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise _BodyTooLarge
            return message

        try:
            await self._app(scope, counted, send)
        except _BodyTooLarge:
            await refusal(scope, receive, send)


class LoopbackHosts:
    """Answers only requests that name a loopback host.

    A web page whose name was made to point at this machine (DNS rebinding) reaches the port, but not under that name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if _host_name(host) not in _LOOPBACK_HOSTS:
                said = "In single-user mode requests must name a loopback host, such as 127.0.0.1."
                await failure(said, "FORBIDDEN", 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


class _BodyTooLarge(Exception):
    """More came than was announced."""


def build_app(
    services: Services,
    authentication: Authentication,
    artifacts: Artifacts,
    *,
    ready: Callable[[], Awaitable[bool]],
    loopback_only: bool,
) -> Starlette:
    """The application. `ready` says whether requests can be answered now.

    With `loopback_only`, the one user is whoever reaches the port, so requests must name a loopback host.
    """
    endpoint = GraphQLEndpoint(services, authentication)

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
                *artifact_routes(artifacts, authentication),
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


def sdl() -> str:
    """The schema in its definition language, as committed in `schema.graphql`."""
    return build_schema().as_str() + "\n"
