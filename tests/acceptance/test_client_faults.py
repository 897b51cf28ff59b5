"""The Python client over a network that loses, refuses, delays and cuts, and over a service that is killed."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from fix_memory import until
from fix_service import Service, running
from unreliable_proxy import UnreliableProxy, unreliable

from stratagraph_client import AsyncMemory, Memory, Unavailable
from stratagraph_client._async import streams as async_streams
from stratagraph_client._sync import streams
from stratagraph_client.operations.enums import ChangeKind, MemoryType
from stratagraph_client.operations.input_types import (
    ChangeFilter,
    EventInput,
    MemoryInput,
    RecordFilter,
    RememberAllInput,
    RememberInput,
)
from stratagraph_client.timing import Timing

WRITES = 40
WRITERS = 4
EVENTS = RecordFilter(types=[MemoryType.EPISODIC])


def event(text: str) -> RememberInput:
    """Return an event, which is stored again each time that it is captured without a key."""
    return RememberInput(source="test", memory=MemoryInput(event=EventInput(text=text, eventKind="note")), summary=text)


def batches(seed: int) -> list[list[str]]:
    """Return the texts of writes: single ones, and some in batches."""
    chance = random.Random(seed)
    return [[f"{n}.{i} of {seed}" for i in range(chance.choice([1, 1, 1, 3]))] for n in range(WRITES)]


def stored(url: str) -> Counter[str]:
    with Memory(url) as memory:
        return Counter(record.name or "" for record in memory.records(EVENTS, page_size=100))


async def write(memory: AsyncMemory, texts: Sequence[str]) -> bool:
    """Store events; return whether that was acknowledged."""
    items = [event(text) for text in texts]
    try:
        if len(items) == 1:
            await memory.operations.remember(items[0])
        else:
            await memory.operations.remember_all(RememberAllInput(items=items))
    except Unavailable:
        return False
    return True


def write_all(memory: Memory, texts: Sequence[str]) -> bool:
    items = [event(text) for text in texts]
    try:
        if len(items) == 1:
            memory.operations.remember(items[0])
        else:
            memory.operations.remember_all(RememberAllInput(items=items))
    except Unavailable:
        return False
    return True


def met_all(proxy: UnreliableProxy) -> bool:
    return {"drop", "lose", "cut", "refuse", "throttle"} <= set(proxy.met)


@pytest.mark.parametrize("is_async", [True, False])
async def test_every_acknowledged_write_is_stored_exactly_once(service_url: str, is_async: bool) -> None:
    writes = batches(int(is_async))
    acknowledged: list[str] = []

    async with unreliable(service_url, seed=7, share=0.5) as proxy:
        left = iter(writes)

        async def work(memory: AsyncMemory) -> None:
            for texts in left:
                if await write(memory, texts):
                    acknowledged.extend(texts)

        def work_in_turn() -> None:
            with Memory(proxy.url, timeout_s=20) as memory:
                memory.operations.timing = Timing(sleep=lambda seconds: time.sleep(seconds / 20))
                for texts in left:
                    if write_all(memory, texts):
                        acknowledged.extend(texts)

        if is_async:
            async with AsyncMemory(proxy.url, timeout_s=20) as memory, asyncio.TaskGroup() as group:
                memory.operations.timing = Timing(async_sleep=lambda seconds: asyncio.sleep(seconds / 20))
                for _ in range(WRITERS):
                    group.create_task(work(memory))
        else:
            await asyncio.to_thread(work_in_turn)
        assert met_all(proxy), proxy.met
    found = await asyncio.to_thread(stored, service_url)
    assert set(found.values()) == {1}
    assert set(acknowledged) <= set(found)
    assert len(acknowledged) > 0.9 * sum(map(len, writes))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Restarted:
    """A service that is killed, and started again at the same port and on the same database."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._settings = {
            "database_url": database_url,
            "single_user": "on",
            "data_dir": str(folder / "data"),
            "port": str(free_port()),
        }
        self._running = ExitStack()
        self.service = self._start()

    def _start(self) -> Service:
        return self._running.enter_context(running(**self._settings))

    def start(self) -> None:
        self.service = self._start()

    def close(self) -> None:
        self._running.close()


@pytest.fixture
def restarted(database_url: str, tmp_path: Path) -> Iterator[Restarted]:
    made = Restarted(database_url, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_follower_gets_every_change_once_while_the_service_is_killed_and_streams_are_cut(
    restarted: Restarted, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    for module in (async_streams, streams):
        monkeypatch.setattr(module, "SILENCE_S", 1.0)  # so that silence is taken for a lost connection, too
    url = restarted.service.url
    assert url is not None
    texts = [f"event {number}" for number in range(WRITES)]
    got: list[tuple[str, str]] = []
    only = ChangeFilter(kinds=[ChangeKind.CREATED], types=[MemoryType.EPISODIC])

    async with AsyncMemory(url, timeout_s=60) as memory, unreliable(url, seed=3, share=0.8) as proxy:
        position = await memory.position()

        async def follow() -> None:
            async with AsyncMemory(proxy.url) as reader:
                async for change in reader.changes(position, only):
                    got.append((change.position, change.record.name or "" if change.record else ""))
                    if len({name for _, name in got}) == len(texts):
                        return

        def follow_in_turn() -> None:
            with Memory(proxy.url) as reader:
                for change in reader.changes(position, only):
                    got.append((change.position, change.record.name or "" if change.record else ""))
                    if len({name for _, name in got}) == len(texts):
                        return

        async def has_some() -> bool:
            return len(got) >= len(texts) // 3

        left = iter(texts)
        killed = asyncio.Event()

        async def work() -> None:
            for number, text in enumerate(left):
                if number == len(texts) // 3:  # of the half that is each writer's
                    await killed.wait()
                assert await write(memory, [text])

        async with asyncio.timeout(90), asyncio.TaskGroup() as group:
            group.create_task(follow() if is_async else asyncio.to_thread(follow_in_turn))
            for _ in range(2):
                group.create_task(work())
            await until(has_some)
            await asyncio.to_thread(restarted.service.kill)
            killed.set()
            await asyncio.to_thread(restarted.start)
        assert proxy.met["stream: cut"] > 2, proxy.met
        # what the last event was followed by is nothing: no change comes a second time
        page = await memory.operations.changes(after=got[-1][0], filter_=only)
        assert page.nodes == []
    assert Counter(name for _, name in got) == Counter(texts)
    assert set(stored(url).values()) == {1}
