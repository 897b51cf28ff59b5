"""/mcp: the MCP server over streamable HTTP, for both kinds of revisions, without sessions.

Each request is complete, so any worker answers any request, and an abandoned client leaves nothing behind. An answer is
one JSON document; nothing is streamed.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from stratagraph.graphql.authentication import Authentication, Credential
from stratagraph.graphql.failure import retry_headers, status_of
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.costs import body_cost
from stratagraph.graphql.limits.refusals import LARGE_BODY_BYTES, is_large
from stratagraph.graphql.web.get_requests import refuse_other_pages
from stratagraph.service.mcp.protected_resource import WELL_KNOWN, ProtectedResource
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import Forbidden, LimitExceeded, RateLimited, StratagraphError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
POINTS = 1.0  # of a request, beside those of what it asks the API
MAX_BODY_BYTES = 1 << 20
TIMEOUT_S = 10.0  # for one request to the API, with its retries


class McpEndpoint:
    """The routes of /mcp, and what answers them while `running` is entered.

    The protocol's implementation is loaded at the first request: most services never get one.
    """

    def __init__(
        self,
        authentication: Authentication,
        admission: Admission,
        resource: ProtectedResource,
        *,
        origins: Collection[str],
        version: str,
    ) -> None:
        self._authentication = authentication
        self._admission = admission
        self._resource = resource
        self._origins = origins
        self._version = version
        self._asked = asyncio.Event()
        self._ended = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None

    def routes(self) -> list[Route]:
        """Return the routes for the application whose API is asked."""
        mcp = Route(PATH, self)
        mcp.methods = {"POST"}  # without a session there is no stream to open by GET, and none to end by DELETE
        return [
            mcp,
            Route(WELL_KNOWN, self._resource.metadata, methods=["GET"]),
            Route(f"{WELL_KNOWN}/{{path:path}}", self._resource.metadata, methods=["GET"]),
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests during the block."""
        self._manager = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(self._manager), name="mcp")
        try:
            yield
        finally:
            self._ended.set()
            await task

    async def _run(self, made: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Make the protocol's server once it is asked for, and keep it until the end: its tasks are this task's."""
        asked, ended = asyncio.create_task(self._asked.wait()), asyncio.create_task(self._ended.wait())
        await asyncio.wait({asked, ended}, return_when=asyncio.FIRST_COMPLETED)
        if self._asked.is_set():
            try:
                module = await asyncio.to_thread(importlib.import_module, "stratagraph.service.mcp.http_server")
                manager: StreamableHTTPSessionManager = module.session_manager(self._version)
            except Exception as error:
                made.set_exception(error)
                raise
            async with manager.run():
                made.set_result(manager)
                await ended
        asked.cancel()
        ended.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as held:
            try:
                body = await self._admitted(request, held)
            except StratagraphError as error:
                await self._refusal(error, request)(scope, receive, send)
            except ClientDisconnect:
                await Response(status_code=400)(scope, receive, send)  # which is not read
            else:
                scope["state"]["held"] = held  # what is asked of the API takes a slot of its own
                await self._answer(scope, _with_body(body, receive), send)

    async def _admitted(self, request: Request, held: AsyncExitStack) -> bytes:
        """Return the body, which is paid for; `held` gets its slot. Nothing of it is parsed before."""
        await self._admission.enter(request)
        credential = await self._credential_of(request)
        await self._pay(credential.party, POINTS)
        length = request.headers.get("content-length", "0")
        _check_length(int(length) if length.isdecimal() else MAX_BODY_BYTES + 1)
        if is_large(request):
            await held.enter_async_context(self._admission.transfer(credential.party))
        body = bytearray()
        async for part in request.stream():
            body += part
            _check_length(len(body))
        if len(body) > LARGE_BODY_BYTES:
            await self._pay(credential.party, body_cost(bytes(body)))
        request.scope["state"]["writes"] = credential.trust.access >= Access.WRITE
        return bytes(body)

    async def _pay(self, party: str, points: float) -> None:
        try:
            await self._admission.pay(party, points)
        except RateLimited as error:
            raise await self._admission.gate.delayed(error) from None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        assert self._manager is not None  # the server enters `running` before it accepts connections
        manager = await asyncio.shield(self._manager)

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["status"] = int(message["status"])  # the SDK's is a member of an enumeration
            await send(message)

        await manager.handle_request(scope, receive, numbered)

    async def _credential_of(self, request: Request) -> Credential:
        """Return the credential of the request. A page of another site is refused, even with a credential."""
        origin = request.headers.get("origin")
        if "authorization" not in request.headers:
            credential = await self._authentication.credential_of(request)
            refuse_other_pages(request.headers, self._origins)
            return credential
        if origin is not None and origin not in self._origins and not _is_own(origin, request):
            raise Forbidden(
                "The Origin of the request is not allowed: send it from a program, or from an origin in"
                " STRATAGRAPH_CORS_ORIGINS."
            )
        return await self._authentication.credential_of(request)

    def _refusal(self, error: StratagraphError, request: Request) -> Response:
        status = status_of(error)
        headers = {"WWW-Authenticate": self._resource.challenge(request)} if status == 401 else {}
        if isinstance(error, RateLimited):
            headers |= retry_headers(error)
        return _error(error.message, status, headers)


def _is_own(origin: str, request: Request) -> bool:
    return origin.partition("://")[2] == request.headers.get("host")


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` whose first message is the body that was read of `receive`."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def _check_length(length: int) -> None:
    """Refuse a body that is too large, by the length that it announces or that has been read."""
    if length > MAX_BODY_BYTES:
        raise LimitExceeded(f"The request body is over {MAX_BODY_BYTES:,} bytes; give shorter texts.")


def _error(message: str, status: int, headers: dict[str, str]) -> Response:
    """Return a refusal in the protocol's form of an error, for a request whose id is not known."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return JSONResponse(body, status_code=status, headers=headers)
