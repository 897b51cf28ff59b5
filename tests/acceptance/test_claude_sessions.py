"""A session store of the Claude Agent SDK: the SDK's conformance tests, and the conversations that clients recall."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from checkout import ROOT
from claude_agent_sdk import (
    InMemorySessionStore,
    delete_session_via_store,
    get_session_messages_from_store,
    list_sessions_from_store,
)
from claude_agent_sdk.testing import run_session_store_conformance

from stratagraph_client import AsyncMemory
from stratagraph_client.frameworks.claude_agent import StratagraphSessionStore

SAMPLE = ROOT / "tests" / "data" / "traces" / "claude_code.jsonl"
pytestmark = pytest.mark.xdist_group("claude_sessions")


@pytest.fixture
async def memory(service_url: str) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(service_url) as opened:
        yield opened


async def test_the_store_passes_the_conformance_tests_of_the_sdk(memory: AsyncMemory) -> None:
    stores = count()
    # A scope of its own for each store: one sees nothing of another.
    await run_session_store_conformance(lambda: StratagraphSessionStore(memory, scope=f"store:{next(stores)}"))
    assert next(stores) > 10


async def test_a_transcript_comes_back_exactly_and_is_an_episode(memory: AsyncMemory) -> None:
    lines: list[Any] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    session = next(line["sessionId"] for line in lines if "sessionId" in line)
    key: Any = {"project_key": "-w", "session_id": session}
    store, theirs = StratagraphSessionStore(memory), InMemorySessionStore()
    for place in range(0, len(lines), 3):
        for one in (store, theirs):
            await one.append(key, lines[place : place + 3])
        store = StratagraphSessionStore(memory) if place % 2 else store  # another program goes on
    await store.append(key, [line for line in lines[:9] if "uuid" in line])  # a batch that is sent again
    assert json.dumps(await store.load(key)) == json.dumps(lines)

    listed = await list_sessions_from_store(store, directory="/w")
    assert [one.session_id for one in listed] == [
        one.session_id for one in await list_sessions_from_store(theirs, directory="/w")
    ]
    assert [one.first_prompt for one in listed] == [
        one.first_prompt for one in await list_sessions_from_store(theirs, directory="/w")
    ]
    assert await get_session_messages_from_store(store, session, directory="/w") == (
        await get_session_messages_from_store(theirs, session, directory="/w")
    )
    (before,) = await store.list_sessions("-w")
    await store.append(key, [{"type": "custom-title", "customTitle": "Depots", "sessionId": session}])  # type: ignore[typeddict-unknown-key]
    (after,) = await store.list_sessions("-w")
    assert after["mtime"] > before["mtime"]
    assert await store.list_sessions("-W") == []  # names are compared exactly

    thread = await memory.operations.thread(id=f"claude:-w:{session}", first=50)
    assert thread is not None
    said = [node.text or "" for node in thread.turns.nodes]
    assert len(said) > 3
    recalled = await memory.recall("Which function does the tram share?")
    assert any(one.type == "EPISODIC" and "tram" in one.text for one in recalled.memories), recalled.text

    # Several programs append to one session at once.
    others: Any = [{"project_key": "-w", "session_id": "many"}] * 3
    await asyncio.gather(*(add(StratagraphSessionStore(memory), one, n) for n, one in enumerate(others)))
    entries: list[Any] = await store.load(others[0]) or []
    assert len(entries) == 3 * 5
    for n in range(3):
        assert [entry["n"] for entry in entries if entry["of"] == n] == list(range(5))

    await delete_session_via_store(store, session, directory="/w")
    assert await store.load(key) is None
    assert [one["session_id"] for one in await store.list_sessions("-w")] == ["many"]
    gone = await memory.operations.thread(id=f"claude:-w:{session}", first=50)
    assert gone is None or gone.turns.nodes == []


async def add(store: StratagraphSessionStore, key: Any, of: int) -> None:
    for n in range(5):
        await store.append(key, [{"type": "mark", "of": of, "n": n}])  # type: ignore[typeddict-unknown-key]
