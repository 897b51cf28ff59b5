"""Cross-origin requests: pages of the origins that an operator names may call the API; browsers refuse all others.

No answer ever allows credentials that a browser adds by itself, nor any origin at large: who calls sends a token.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = {"/graphql": "GET, POST", "/artifacts": "GET, HEAD, PUT", "/export": "GET", "/mcp": "POST"}
_REQUEST_HEADERS = (
    "Accept, Authorization, Content-Type, Digest, If-None-Match, If-Range, Last-Event-ID, Mcp-Method, Mcp-Name,"
    " Mcp-Protocol-Version, Range, Traceparent, Tracestate, X-Content-SHA256, X-Request-Id"
)
_RESPONSE_HEADERS = (
    "Accept-Ranges, Content-Range, ETag, Location, Retry-After, Traceresponse, WWW-Authenticate, X-Export-Snapshot,"
    " X-Request-Id"
)
MAX_AGE_S = 600  # seconds for which a browser remembers the answer to its question


class Cors:
    """Tells browsers that pages of `origins` may call /graphql, /artifacts, /export and /mcp.

    A browser asks before it sends what a form could not send, by OPTIONS. For another origin the application answers,
    without the headers by which the browser would give the page the answer.
    """

    def __init__(self, app: ASGIApp, *, origins: Collection[str]) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        methods = _methods_of(scope["path"]) if scope["type"] == "http" else None
        if methods is None:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        is_allowed = origin is not None and origin in self._origins
        if is_allowed and scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            answer = Response(
                status_code=204,
                headers={
                    "Access-Control-Allow-Origin": str(origin),
                    "Access-Control-Allow-Methods": methods,
                    "Access-Control-Allow-Headers": _REQUEST_HEADERS,
                    "Access-Control-Max-Age": str(MAX_AGE_S),
                    "Vary": "Origin",
                },
            )
            await answer(scope, receive, send)
            return

        async def allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                made = MutableHeaders(scope=message)
                made.add_vary_header("Origin")  # of every answer, so that no cache gives one origin that of another
                if is_allowed:
                    made["Access-Control-Allow-Origin"] = str(origin)
                    made["Access-Control-Expose-Headers"] = _RESPONSE_HEADERS
            await send(message)

        await self._app(scope, receive, allowed)


def _methods_of(path: str) -> str | None:
    return _METHODS.get(path) or (_METHODS["/artifacts"] if path.startswith("/artifacts/") else None)
