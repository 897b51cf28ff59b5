"""A service gets the store that programs have open; they go on through it, and by themselves when it stops."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fix_library import HOLDER, WRITER, programs, stops, texts
from fix_memory import until
from fix_service import Forked, Service, command, environment, running
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import stratagraph
from stratagraph.service.holder import holder_of
from stratagraph_client import AsyncMemory

UP_S = 30.0  # within which a service must answer, and programs go on, also on a busy machine
PATIENCE_S = "stratagraph.service.holder:PATIENCE_S"


@asynccontextmanager
async def agent(path: Path) -> AsyncIterator[Client]:
    """Run `stratagraph mcp`."""
    whole = command("mcp")
    started = StdioServerParameters(command=whole[0], args=whole[1:], env=environment(data_dir=str(path)))
    with tempfile.TemporaryFile("w+") as log:
        async with Client(stdio_client(started, errlog=log)) as client:
            yield client


async def log_steps(client: Client, acknowledged: list[str], stop: asyncio.Event) -> None:
    """Capture messages by `stratagraph mcp` until the stop, and list those that are acknowledged."""
    for number in itertools.count():
        if stop.is_set():
            return
        answer = await client.call_tool("log_step", {"text": f"agent {number}"})
        if not answer.is_error:
            acknowledged.append(f"agent {number}")


async def follow(memory: AsyncMemory, seen: list[str]) -> None:
    """List the ids of the records that change, as they do."""
    async for change in memory.changes():
        seen += [str(change.recordId)]


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[Service]:
    """Run a service without blocking the event loop."""
    service = running(data_dir=str(path))
    started = await asyncio.to_thread(service.__enter__)
    try:
        yield started
    finally:
        await asyncio.to_thread(service.__exit__, None, None, None)


async def grows(*lists: list[str]) -> None:
    """Wait until each list has three more items."""
    before = [len(one) for one in lists]

    async def all_have() -> bool:
        return all(len(one) >= number + 3 for one, number in zip(lists, before, strict=True))

    await until(all_have, within_s=UP_S)


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.soak)])
async def test_a_service_gets_the_store_of_programs_that_write_and_nothing_is_lost_or_doubled(
    tmp_path: Path, rounds: int
) -> None:
    path, stop, stopped = tmp_path / "data", tmp_path / "stop", asyncio.Event()
    by_agent: list[str] = []
    seen: list[str] = []
    async with agent(path) as client:
        assert not (await client.call_tool("log_step", {"text": "the agent holds the store"})).is_error
        with programs(WRITER, (str(path), "writer", str(stop))) as (writer,):
            async with stratagraph.open(path) as memory, asyncio.TaskGroup() as group:
                following = group.create_task(follow(memory, seen))
                group.create_task(log_steps(client, by_agent, stopped))
                for _ in range(rounds):
                    await grows(writer.lines, by_agent, seen)
                    began = time.monotonic()
                    async with served(path) as service:
                        assert time.monotonic() - began < UP_S
                        holder = holder_of(path)
                        assert holder is not None
                        assert (holder.pid, holder.url) == (service.process.pid, service.url)
                        await grows(writer.lines, by_agent, seen)
                        assert await asyncio.to_thread(service.stop) == 0
                await grows(writer.lines, by_agent, seen)
                stop.touch()
                stopped.set()
                following.cancel()
            assert (await asyncio.to_thread(writer.wait), writer.error) == (0, "")
            acknowledged = {*writer.lines[1:], *by_agent}
    await stops(path)
    async with stratagraph.open(path) as memory:
        stored = await texts(memory)
    told = [text.split(": ", 1)[-1] for text in stored.elements()]
    assert sorted(set(told)) == sorted(told)
    assert acknowledged <= set(told)


async def test_a_service_says_which_program_does_not_hand_over(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with programs(HOLDER, (str(path),)) as (program,):
        program.process.send_signal(signal.SIGSTOP)
        with tempfile.TemporaryFile("w+") as log:
            env = environment(data_dir=str(path), port="0")
            refused = Forked(["serve"], env, log, json.dumps({PATIENCE_S: 1.0}))
            assert await asyncio.to_thread(refused.wait, 30) == 1
            refused.stdout.close()
            log.seek(0)
            told = " ".join(log.read().split())
        assert f"in use by process {program.process.pid}, which was asked to hand it over and has not" in told
        os.kill(program.process.pid, signal.SIGCONT)
        with stratagraph.open(path) as memory:  # it still holds the store, and answers
            assert "parrot" in memory.recall("parrot").text
