"""The MCP server in this process, over the application of a real service, and requests to it as on the wire."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fix_service import MASTER_KEY
from mcp.shared.inbound import encode_header_value

from stratagraph.service.runtime import Runtime, open_runtime
from stratagraph.service.serving import application
from stratagraph.service.settings import Settings
from stratagraph.service.telemetry import open_telemetry

MODERN, LEGACY = "2026-07-28", "2025-11-25"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_KEY = "io.modelcontextprotocol/"


@dataclass(slots=True)
class Wire:
    """Sends JSON-RPC requests to /mcp in one revision, with one credential."""

    http: httpx.AsyncClient
    revision: str = MODERN
    token: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    ids: Any = field(default_factory=lambda: itertools.count(1))

    async def post(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> httpx.Response:
        """Return the response to a request."""
        given = dict(params or {})
        sent = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.revision,
            **({"authorization": f"Bearer {self.token}"} if self.token else {}),
            **self.headers,
        }
        if self.revision == MODERN:
            given["_meta"] = {f"{_KEY}protocolVersion": MODERN, f"{_KEY}clientCapabilities": {}}
            sent["mcp-method"] = encode_header_value(_sendable(method))
            if method in _NAMED:
                sent["mcp-name"] = encode_header_value(_sendable(str(given.get(_NAMED[method], ""))))
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": given}
        return await self.http.post("/mcp", content=json.dumps(body).encode(), headers=sent | headers)

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a request, without what is of the revision only."""
        answer = (await self.post(method, params)).json()
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return {
            name: value for name, value in result.items() if name not in ("_meta", "resultType", "ttlMs", "cacheScope")
        }

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool answers."""
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        answer: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == answer
        return answer

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Return what a tool answers to a call that it refuses."""
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"] is True, result
        assert "structuredContent" not in result
        text: str = result["content"][0]["text"]
        return text


def _sendable(text: str) -> str:
    """Return a text whose halves of surrogate pairs are replaced, and whose length a header has room for."""
    return text.encode(errors="replace").decode()[:1_000]


@dataclass(slots=True)
class Served:
    """A service in this process."""

    runtime: Runtime
    http: httpx.AsyncClient

    def wire(self, token: str | None = None, revision: str = MODERN, **headers: str) -> Wire:
        return Wire(self.http, revision, token, headers)


@asynccontextmanager
async def serving_mcp(database_url: str, directory: Path, **settings: str) -> AsyncIterator[Served]:
    """Serve the API and /mcp in this process during the block, by default to the single user."""
    given = {"single_user": "on", "embedder": "off", "log_level": "warning"} | settings
    chosen = Settings.model_validate(
        {"database_url": database_url, "data_dir": directory / "data", "master_key": MASTER_KEY} | given
    )
    async with open_runtime(chosen) as runtime, open_telemetry(runtime) as telemetry:
        app = application(runtime, telemetry)
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as http,
        ):
            yield Served(runtime, http)
