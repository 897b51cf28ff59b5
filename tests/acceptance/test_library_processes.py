"""Several programs on one store: whichever of them is killed, the others go on, and what was acknowledged is stored."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path
from random import Random

import pytest
from fix_library import HOLDER, WRITER, Program, programs, runs_postgres, stops, texts
from fix_service import environment

import stratagraph
from stratagraph.service.embedded_postgres import EmbeddedPostgres

AGAIN_S = 30.0  # after which all others must work again, also on a busy machine

NOT_CLOSED = """
import sys, stratagraph
memory = stratagraph.open(sys.argv[1]).__enter__()
memory.remember("The parrot sings")
"""


async def test_programs_go_on_when_the_one_that_holds_the_store_is_killed(tmp_path: Path) -> None:
    path, stop = tmp_path / "data", tmp_path / "stop"
    arguments = [(str(path), name, str(stop)) for name in ("holder", "one", "two", "three")]
    with programs(WRITER, *arguments) as started:
        holder, *others = started
        for program in started:
            program.await_lines(6)
        holder.process.kill()
        began = time.monotonic()
        await asyncio.to_thread(holder.wait)
        before = [len(program.lines) for program in others]
        for program, number in zip(others, before, strict=True):
            program.await_lines(number + 5, AGAIN_S)
        assert time.monotonic() - began < AGAIN_S
        stop.touch()
        assert [program.wait() for program in others] == [0, 0, 0], [program.error for program in others]
        assert [program.error for program in others] == ["", "", ""]
        acknowledged = list(itertools.chain.from_iterable(program.lines[1:] for program in started))
    await check_stored_once(path, acknowledged, under_way=len(started))


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
async def test_a_program_opens_the_store_at_once_that_was_killed_with_or_without_its_postgres(
    tmp_path: Path, rounds: int
) -> None:
    path = tmp_path / "data"
    for number in range(rounds):
        with programs(HOLDER, (str(path),)) as (program,):
            postgres = EmbeddedPostgres(path).pid
            assert postgres is not None
            program.process.kill()
            if number % 2:
                os.kill(postgres, signal.SIGKILL)
            with programs(HOLDER, (str(path),)) as (another,):
                another.process.send_signal(signal.SIGINT)
                await asyncio.to_thread(another.wait)
            assert not runs_postgres(path)


@pytest.mark.soak
async def test_random_programs_are_killed_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    path, stop, random, rounds = tmp_path / "data", tmp_path / "stop", Random(33), 20
    names = (f"writer{number}" for number in itertools.count())
    with programs(WRITER, *((str(path), next(names), str(stop)) for _ in range(4))) as started:
        running = list(started)
        for _ in range(rounds):
            killed = running.pop(random.randrange(len(running)))
            killed.process.kill()
            before = [len(program.lines) for program in running]
            for program, number in zip(running, before, strict=True):
                program.await_lines(number + 3, AGAIN_S)
            started.append(Program(WRITER, str(path), next(names), str(stop)))
            running.append(started[-1])
            running[-1].await_lines(2)
        stop.touch()
        assert [program.wait() for program in running] == [0] * len(running)
        assert "".join(program.error for program in running) == ""
        for program in started:
            program.wait()
        acknowledged = list(itertools.chain.from_iterable(program.lines[1:] for program in started))
    await check_stored_once(path, acknowledged, under_way=len(started))


async def check_stored_once(path: Path, acknowledged: list[str], *, under_way: int) -> None:
    """Check that each acknowledged text is stored once; that of at most `under_way` writers may be stored besides."""
    await stops(path)
    async with stratagraph.open(path) as memory:
        stored = await texts(memory)
    told = {text.split(": ", 1)[-1] for text in stored}
    assert [text for text in acknowledged if text not in told] == []
    assert [text for text, times in stored.items() if times > 1] == []
    assert len(stored) <= len(acknowledged) + under_way


async def test_a_program_that_ends_without_closing_its_store_leaves_no_postgres(tmp_path: Path) -> None:
    path = tmp_path / "data"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", NOT_CLOSED, str(path)), env=environment(), stdout=PIPE, stderr=PIPE
    )
    assert (await process.communicate(), process.returncode) == ((b"", b""), 0)
    await stops(path)


async def test_postgres_ends_with_a_program_that_is_interrupted_or_killed_also_with_a_fork_of_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data"
    with programs(HOLDER, (str(path),)) as (program,):
        program.process.send_signal(signal.SIGINT)
        await asyncio.to_thread(program.wait)
        assert not runs_postgres(path)
    with programs(HOLDER, (str(path), "fork")) as (program,):
        child = int(program.await_lines(2)[1])
        try:
            program.process.kill()
            await stops(path)
            # The child still runs, and keeps neither the directory nor the connections.
            async with asyncio.timeout(AGAIN_S), stratagraph.open(path) as memory:
                assert "parrot" in (await memory.recall("parrot")).text
        finally:
            os.kill(child, signal.SIGKILL)


async def test_a_program_goes_on_with_whoever_holds_the_store(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with programs(HOLDER, (str(path),)) as (first,):
        async with stratagraph.open(path) as memory:
            reads = [asyncio.create_task(memory.recall("parrot")) for _ in range(8)]
            first.process.send_signal(signal.SIGINT)
            assert all("parrot" in one.text for one in await asyncio.gather(*reads))
            await asyncio.to_thread(first.wait)
            await memory.remember("The owl listens")
            with programs(HOLDER, (str(path),)) as (second,):  # joins us
                second.process.send_signal(signal.SIGINT)
                await asyncio.to_thread(second.wait)
            assert "owl" in (await memory.recall("owl")).text
    assert not runs_postgres(path)
