"""Asks the API of the same application with the credential of the caller: nothing is checked twice in two ways."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

import httpx
from starlette.requests import Request

from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.web.request_ids import HEADER

_PASSED_ON = ("authorization", "host", "traceparent", "tracestate", "user-agent")
HOST = "127.0.0.1"  # of requests that come without one


class SameApplication(httpx.AsyncBaseTransport):
    """Sends the requests of a client to the application that is answering `request`, as its sender's own.

    The credential is that of `request`, or none, whatever the environment of this process has.
    """

    def __init__(self, request: Request) -> None:
        client = request.client
        self._api = httpx.ASGITransport(
            app=request.scope["app"],
            raise_app_exceptions=False,
            client=(client.host, client.port) if client is not None else ("", 0),
        )
        self._headers = _headers(request)
        self._held: AsyncExitStack = request.scope["state"]["held"]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # The body has been parsed, so its slot is free: who waits for a slot must not hold one.
        await self._held.aclose()
        own = {name: value for name, value in request.headers.items() if name in ("content-type", "content-length")}
        request.headers = httpx.Headers({**own, "accept": "application/json", **self._headers})
        return await self._api.handle_async_request(request)

    async def aclose(self) -> None:
        await self._api.aclose()


def _headers(request: Request) -> Mapping[str, str]:
    found = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    record: RequestRecord | None = request.scope.get("state", {}).get("record")
    return {"host": HOST} | found | ({HEADER: record.id} if record is not None else {})
