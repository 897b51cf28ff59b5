"""`stratagraph.open`: the store within the caller's own process, which leaves that process as it was."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path
from typing import Any

import prometheus_client
import psutil
import pytest
import structlog
from fix_library import runs_postgres
from fix_memory import until
from fix_service import run_command, running

import stratagraph
from stratagraph.consolidation.runner import Runner
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph_client import AsyncMemory, StratagraphError
from stratagraph_client.errors import InvalidInput


@pytest.fixture(autouse=True)
def only_these_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("STRATAGRAPH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("STRATAGRAPH_EMBEDDER", "off")


def settings_of_the_process() -> dict[str, Any]:
    """What a library must not change."""
    umask = os.umask(0o77)
    os.umask(umask)
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(-1),
        "switch": sys.getswitchinterval(),
        "collector": (gc.get_threshold(), gc.isenabled()),
        "policy": type(asyncio.get_event_loop_policy()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, warnings.showwarning),
        "logging": (logging.root.level, list(logging.root.handlers), logging.raiseExceptions),
        "libraries": {name: list(logging.getLogger(name).handlers) for name in ("neo4j", "sqlalchemy", "uvicorn")},
        "structlog": structlog.get_config(),
        "prometheus": vars(prometheus_client.metrics)["_use_created"],
        "umask": umask,
        "directory": Path.cwd(),
        "environment": dict(os.environ),
    }


def left_over() -> dict[str, Any]:
    """The threads, child processes and open files of this process."""
    gc.collect()
    children = psutil.Process().children(recursive=True)
    return {
        "threads": {one.name for one in threading.enumerate()},
        "children": {one.pid for one in children},
        "files": len(os.listdir("/proc/self/fd")),
    }


async def recalled(memory: AsyncMemory, question: str) -> str:
    return (await memory.recall(question)).text


async def test_a_store_is_opened_in_any_loop_of_a_process_and_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("a folder") / "of memories"
    async with stratagraph.open(path):  # whatever is loaded and opened once in a process stays
        pass
    before, kept, frozen = settings_of_the_process(), left_over(), gc.get_freeze_count()
    async with stratagraph.open(path, source="test") as memory:
        assert runs_postgres(tmp_path / path)
        assert (tmp_path / path / "service.sock").stat().st_mode & 0o777 == 0o600
        remembered = await memory.remember("Alice moved to Berlin in May", about="Alice")
        assert remembered.is_new

        def in_another_thread() -> str:
            with stratagraph.open(str(path)) as same:  # joins the first
                same.remember("Bob likes tea", about="Bob")
                return same.recall("Where does Alice live?").text

        async def in_another_loop() -> str:
            async with stratagraph.open(path) as same:
                return await recalled(same, "What does Bob like?")

        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            assert "Berlin" in await loop.run_in_executor(pool, in_another_thread)
            assert "Bob likes tea" in await loop.run_in_executor(pool, asyncio.run, in_another_loop())
        postgres = EmbeddedPostgres(tmp_path / path)
        assert postgres.pid is not None
        os.kill(postgres.pid, signal.SIGKILL)  # it is started again
        many = await asyncio.gather(*(memory.recall("Alice") for _ in range(100)))
        assert all("Berlin" in one.text for one in many)
        position = await memory.position()

        async def follow() -> str | None:
            async with aclosing(memory.changes(after=position)) as changes:
                async for change in changes:
                    if change.record is not None and "sings" in (change.record.name or ""):
                        return change.record.name
            return None

        following = asyncio.create_task(follow())
        await memory.remember("Carol sings", about="Carol")
        assert await following
        left_open = asyncio.create_task(anext(memory.changes()))
        await asyncio.sleep(0)
    left_open.cancel()
    assert not runs_postgres(tmp_path / path)
    assert left_over() == kept
    assert settings_of_the_process() == before
    assert gc.get_freeze_count() <= frozen
    assert capfd.readouterr() == ("", "")
    with stratagraph.open(path) as again:
        assert "Berlin" in again.recall("Where does Alice live?").text
    assert left_over() == kept


async def test_a_task_that_is_cancelled_while_it_opens_or_uses_a_store_leaves_nothing(tmp_path: Path) -> None:
    kept = left_over()

    async def use(begun: asyncio.Event) -> None:
        async with stratagraph.open(tmp_path / "data") as memory:
            begun.set()
            while True:
                await memory.remember("The parrot sings", about="parrot")

    opening = asyncio.create_task(use(asyncio.Event()))

    async def is_being_made() -> bool:
        return (tmp_path / "data" / "postgres.new").exists()

    await until(is_being_made, every_s=0.01)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert not runs_postgres(tmp_path / "data")
    begun = asyncio.Event()
    using = asyncio.create_task(use(begun))
    await begun.wait()
    using.cancel()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert not runs_postgres(tmp_path / "data")
    after = left_over()
    assert (after["threads"], after["children"]) == (kept["threads"], kept["children"])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a connection that was being made
async def test_a_store_of_which_a_part_fails_is_opened_again_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run, fails, failed = Runner.run, threading.Event(), threading.Event()

    async def run_or_fail(self: Runner) -> None:
        if failed.is_set():
            await run(self)
        await asyncio.to_thread(fails.wait, 30)
        failed.set()
        raise RuntimeError("a defect that quotes a memory")

    monkeypatch.setattr(Runner, "run", run_or_fail)
    async with stratagraph.open(tmp_path / "data") as memory:
        await memory.remember("Alice moved to Berlin in May", about="Alice")
        fails.set()
        while not failed.is_set():
            assert "Berlin" in await recalled(memory, "Alice")
        assert "Berlin" in await recalled(memory, "Alice")
    assert "the store has stopped by itself" in caplog.text
    assert "quotes a memory" not in caplog.text


async def test_what_cannot_be_opened_is_said_in_the_errors_of_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StratagraphError, match="cannot be used"):
        async with stratagraph.open(file):
            pass
    said = f"^The data directory {file} cannot be used: .* the path for `stratagraph.open`"
    with pytest.raises(StratagraphError, match=said), stratagraph.open(file):
        pass
    with monkeypatch.context() as patch:
        patch.setenv("STRATAGRAPH_PROT", "1")
        with pytest.raises(StratagraphError, match="did you mean STRATAGRAPH_PORT"):
            async with stratagraph.open():
                pass
        patch.delenv("STRATAGRAPH_PROT")
        patch.setenv("STRATAGRAPH_DATABASE_URL", "postgresql://nowhere/x")
        with pytest.raises(StratagraphError, match="call open\\(\\) without a path"):
            async with stratagraph.open(tmp_path / "data"):
                pass
    assert not (tmp_path / "data").exists()
    opening = stratagraph.open(tmp_path / "data", tenant="nope")
    async with opening as memory:
        with pytest.raises(InvalidInput, match="there is no tenant 'nope'"):
            await memory.recall("x")
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.set_event_loop(None)
                with pytest.raises(RuntimeError, match="forked"):
                    asyncio.new_event_loop().run_until_complete(memory.recall("x"))
                os._exit(0)
            finally:
                os._exit(1)
        _, status = await asyncio.to_thread(os.waitpid, pid, 0)
        assert status == 0
    with pytest.raises(RuntimeError, match="for one block"):
        async with opening:
            pass


async def test_a_program_joins_a_service_and_a_command_joins_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / ("deep" * 20) / "data"  # longer than the path of a Unix socket may be
    monkeypatch.setenv("STRATAGRAPH_DATA_DIR", str(data))
    with running(data_dir=str(data)) as service:
        async with stratagraph.open() as memory, AsyncMemory(service.url) as over_http:
            await memory.remember("Alice moved to Berlin in May", about="Alice")
            assert "Alice moved to Berlin in May" in await recalled(over_http, "Alice")
            assert service.stop() == 0
            await memory.remember("Bob likes tea", about="Bob")  # runs the store itself from now on
            status, out, err = await run_command("ask", "Bob", env=dict(os.environ))
            assert (status, "likes tea" in out) == (0, True), err
            with running(data_dir=str(data)) as another:  # gets the store from us
                async with AsyncMemory(another.url) as through_it:
                    assert "likes tea" in await recalled(through_it, "Bob")
                assert "likes tea" in await recalled(memory, "Bob")
    assert not runs_postgres(data)
