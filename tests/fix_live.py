"""Clients of subscriptions: over WebSocket and server-sent events, plain, so that each message can be looked at."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_service import Client
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

Json = dict[str, Any]
CHANGED = """subscription($after: String, $filter: ChangeFilter) { changed(after: $after, filter: $filter) {
  position kind recordId record { name tags } } }"""
POSITION = "{ changes { pageInfo { endCursor } } }"
PAGE = """query($after: String, $first: Int!, $filter: ChangeFilter) {
  changes(after: $after, first: $first, filter: $filter) {
    nodes { position kind recordId record { name tags } } pageInfo { hasNextPage endCursor } } }"""
CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { code message } } }"""
PROTOCOL = Subprotocol("graphql-transport-ws")
PEERS = Path(__file__).parent / "data" / "graphql_peers"


async def position_of(client: Client, token: str | None = None) -> str:
    """Return the present position."""
    found: str = (await client.data(POSITION, token))["changes"]["pageInfo"]["endCursor"]
    return found


async def note(client: Client, name: str, token: str | None = None, **more: Any) -> str:
    """Capture an event with this name, and return its id."""
    given = {"source": "test", "sourceKind": "EVENT", "content": {"event_kind": "note", "text": name}, "summary": name}
    captured = (await client.data(CAPTURE, token, input=given | more))["captureMemory"]
    assert captured["__typename"] == "CaptureMemorySuccess", captured
    id_: str = captured["primaryRecord"]["id"]
    return id_


@dataclass
class Socket:
    """A connection by graphql-transport-ws."""

    connection: ClientConnection

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def receive(self) -> Json:
        """Return the next message that is no ping; a ping is answered."""
        while True:
            async with asyncio.timeout(30):
                text = await self.connection.recv()
            assert isinstance(text, str)  # text frames, which clients in browsers parse
            message: Json = json.loads(text)
            if message["type"] != "ping":
                return message
            await self.send(type="pong")

    async def begin(self, **payload: Any) -> None:
        await self.send(type="connection_init", payload=payload)
        assert await self.receive() == {"type": "connection_ack"}

    async def subscribe(self, id_: str = "1", document: str = CHANGED, **variables: Any) -> None:
        await self.send(type="subscribe", id=id_, payload={"query": document, "variables": variables})

    async def change(self, id_: str = "1") -> Json:
        """Return the next change of a subscription."""
        message = await self.receive()
        assert (message["type"], message["id"]) == ("next", id_), message
        assert "errors" not in message["payload"], message
        change: Json = message["payload"]["data"]["changed"]
        return change

    async def closed(self) -> tuple[int, str]:
        """Wait until the service closes the connection, and return its code and reason."""
        async with asyncio.timeout(30):
            await self.connection.wait_closed()
        return self.connection.close_code or 0, self.connection.close_reason or ""


@asynccontextmanager
async def socket(url: str, token: str | None = None, **options: Any) -> AsyncIterator[Socket]:
    """Open a connection; with a `token`, by the Authorization header."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    given = {"subprotocols": [PROTOCOL], "additional_headers": headers} | options
    async with connect(url.replace("http", "ws", 1) + "/graphql", **given) as connection:
        yield Socket(connection)


@dataclass
class Event:
    """A server-sent event; `name` is empty for a comment."""

    name: str
    data: Json | None
    id: str | None


@dataclass
class Stream:
    """A response of server-sent events."""

    response: httpx.Response
    lines: AsyncIterator[str]

    async def event(self) -> Event | None:
        """Return the next event or comment; None at the end of the response."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(30):
            async for line in self.lines:
                if not line:
                    data = fields.get("data")
                    return Event(fields.get("event", ""), json.loads(data) if data else None, fields.get("id"))
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
        return None

    async def change(self) -> Json:
        """Return the next change."""
        while True:
            event = await self.event()
            assert event is not None
            if event.name == "next":
                assert event.data is not None
                change: Json = event.data["data"]["changed"]
                assert event.id == change.get("position", event.id)
                return change
            assert event.name == "", event


@asynccontextmanager
async def stream(
    url: str, token: str | None = None, *, last: str | None = None, document: str = CHANGED, **variables: Any
) -> AsyncIterator[Stream]:
    """Ask for server-sent events. `last` is sent as Last-Event-ID."""
    headers = {"Accept": "text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Last-Event-ID": last} if last else {}
    async with (
        httpx.AsyncClient(timeout=30) as http,
        http.stream(
            "POST", f"{url}/graphql", json={"query": document, "variables": variables}, headers=headers
        ) as response,
    ):
        yield Stream(response, response.aiter_lines())


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a script that follows changes by the npm packages graphql-ws and graphql-sse."""
    directory = tmp_path_factory.mktemp("peers")
    why = "Node and npm are not installed"
    if shutil.which("npm") is not None and shutil.which("node") is not None:
        shutil.copytree(PEERS, directory, dirs_exist_ok=True)
        done = subprocess.run(
            ["npm", "ci", "--no-audit", "--no-fund"], cwd=directory, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return directory
        why = f"npm cannot install the clients: {done.stderr[-300:]}"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
