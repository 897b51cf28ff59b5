"""The SDK's server for /mcp; imported at the first request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from stratagraph.service.mcp.endpoint import MAX_BODY_BYTES, TIMEOUT_S
from stratagraph.service.mcp.in_process import SameApplication
from stratagraph.service.mcp.server import build_server
from stratagraph.service.mcp.tools import SOURCE, Caller, Session
from stratagraph_client import AsyncMemory


def session_manager(version: str) -> StreamableHTTPSessionManager:
    """Return what answers requests, without sessions and streams. It must be run."""
    return StreamableHTTPSessionManager(
        build_server(_Senders(), version=version),
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY_BYTES,
    )


class _Senders:
    """The senders of the requests, each with the credential of the request."""

    def writes(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        writes: bool = _request(ctx).scope["state"]["writes"]
        return writes

    @asynccontextmanager
    async def caller(self, ctx: ServerRequestContext[Any, Any]) -> AsyncIterator[Caller]:
        async with AsyncMemory(
            "http://127.0.0.1",
            api_key="that of the request takes its place",
            source=SOURCE,
            timeout_s=TIMEOUT_S,
            transport=SameApplication(_request(ctx)),
        ) as memory:
            yield Caller(memory=memory, session=Session())


def _request(ctx: ServerRequestContext[Any, Any]) -> Request:
    request = ctx.request
    assert isinstance(request, Request)
    return request
