"""Bodies at /mcp: large ones are paid for before they are parsed, and one key holds two of the slots for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fix_mcp import MODERN, Served, serving_mcp

from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

MANY_KEYS = {f"key{number:07}": 1 for number in range(55_000)}


async def token(served: Served, tenant: str = "default") -> str:
    trust = Trust(tenant=tenant, actor=tenant, access=Access.WRITE, ceiling=Sensitivity.LOW, scopes=None)
    return (await served.runtime.credentials.create(trust))[1]


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
async def test_a_large_body_is_paid_for_before_it_is_parsed(database_url: str, tmp_path: Path, method: str) -> None:
    settings = {"single_user": "off", "rate": "0.01", "burst": "100"}
    params = {"name": "recall", "arguments": MANY_KEYS} if method == "tools/call" else MANY_KEYS
    async with serving_mcp(database_url, tmp_path, **settings) as served:
        greedy, other = served.wire(await token(served)), served.wire(await token(served, "other"))
        assert (await greedy.post(method, params)).status_code < 429
        refused = await greedy.post(method, params)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        assert refused.json()["error"]["message"]
        assert refused.json()["id"] is None
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {greedy.token}",
            "mcp-protocol-version": MODERN,
        }
        malformed = await served.http.post("/mcp", content=b"[" + b"," * 100_000, headers=headers)
        assert malformed.status_code == 429  # what is not parsed is not found to be malformed
        await other.call("remember", text="The parrot eats nuts")


async def test_a_key_uploads_two_large_bodies_at_a_time(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        wire = served.wire(await token(served))
        uploading, most = 0, 0

        async def parts(body: bytes) -> AsyncIterator[bytes]:
            nonlocal uploading, most
            uploading += 1
            most = max(most, uploading)
            await wire.ask("tools/list")  # meanwhile all others could begin
            uploading -= 1
            yield body

        async def upload() -> httpx.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"text": "x" * 100_000}}
            headers = {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "authorization": f"Bearer {wire.token}",
                "mcp-protocol-version": "2025-11-25",
            }
            return await served.http.post("/mcp", content=parts(json.dumps(body).encode()), headers=headers)

        answers = await asyncio.gather(*(upload() for _ in range(6)))
        assert {answer.status_code for answer in answers} == {200}, answers[0].text
        assert most == 2


async def test_large_calls_at_once_do_not_wait_for_each_others_slots(database_url: str, tmp_path: Path) -> None:
    async with serving_mcp(database_url, tmp_path, single_user="off") as served:
        wire = served.wire(await token(served))
        async with asyncio.timeout(20):  # less than the deadline of a request that waits for a slot
            logged = await asyncio.gather(
                *(wire.call("log_step", text=f"{number} " + "x" * 90_000) for number in range(4))
            )
        assert len({step["id"] for step in logged}) == 4
