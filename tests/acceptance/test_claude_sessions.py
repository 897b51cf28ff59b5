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

from stratagraph_client import AsyncMemory, InvalidInput
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


async def test_sessions_whose_names_run_together_are_two(memory: AsyncMemory) -> None:
    store = StratagraphSessionStore(memory, scope="colons")
    keys: list[Any] = [
        {"project_key": "kk:b", "session_id": "c"},
        {"project_key": "kk", "session_id": "b:c"},
        {"project_key": "kk%3Ab", "session_id": "c"},
        {"project_key": "kk", "session_id": "b:agent-c"},
    ]
    for number, key in enumerate(keys):
        await store.append(key, [turn(f"Told in conversation {number}")])
    threads = [f"claude:{name}" for name in ("kk%3Ab:c", "kk:b%3Ac", "kk%253Ab:c", "kk:b%3Aagent-c")]
    for number, name in enumerate(threads):
        assert await said(memory, name) == [f"Told in conversation {number}"]
    await store.delete(keys[0])
    assert [await said(memory, name) for name in threads] == [[], *([f"Told in conversation {n}"] for n in (1, 2, 3))]
    assert await store.load(keys[1]) == [turn("Told in conversation 1")]


async def test_what_is_no_entry_and_what_is_no_key_is_refused(memory: AsyncMemory) -> None:
    store, key = StratagraphSessionStore(memory, scope="refused"), {"project_key": "kk", "session_id": "s"}
    await store.append(key, [turn("Kept")])  # type: ignore[arg-type]
    refused: list[Any] = [[5], [None], ["x"], [[1]], [turn("Not kept"), 5], 5, None, [{"x": object()}], {}]
    for entries in refused:
        with pytest.raises(InvalidInput):
            await store.append(key, entries)  # type: ignore[arg-type]
    assert await store.load(key) == [turn("Kept")]  # type: ignore[arg-type]
    for wrong in ({**key, "session_id": "\ud800"}, {**key, "project_key": "\udfff"}, {**key, "subpath": "\ud800"}):
        for asked in (store.append(wrong, [turn("x")]), store.load(wrong), store.delete(wrong)):  # type: ignore[arg-type]
            with pytest.raises(InvalidInput, match="surrogate"):
                await asked
    with pytest.raises(InvalidInput, match="surrogate"):
        await store.list_sessions("\ud800")
    with pytest.raises(InvalidInput, match="surrogate"):
        await store.append(key, [turn("x") | {"sessionId": "\ud800"}])  # type: ignore[arg-type]
    await store.append(key, [turn("After all")])  # type: ignore[arg-type]
    assert await said(memory, "claude:kk:s") == ["After all", "Kept"]


def turn(text: str) -> Any:
    return {"type": "user", "message": {"role": "user", "content": text}}


async def said(memory: AsyncMemory, thread: str) -> list[str]:
    found = await memory.operations.thread(id=thread, first=50)
    return [] if found is None else sorted((node.text or "").removeprefix("user: ") for node in found.turns.nodes)


async def add(store: StratagraphSessionStore, key: Any, of: int) -> None:
    for n in range(5):
        await store.append(key, [{"type": "mark", "of": of, "n": n}])  # type: ignore[typeddict-unknown-key]
