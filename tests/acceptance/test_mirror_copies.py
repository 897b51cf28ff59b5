"""An old copy of Neo4j's files, put in place of the present ones, is rewound by a worker that runs throughout."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from fix_memory import Memory, until
from fix_mirror import MirroredMemory
from fix_neo4j import LONG_TERM
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.service.local_neo4j import LocalNeo4j
from stratagraph.store.feed.snapshots import trim_snapshots
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.postgres.database import Role

pytestmark = [pytest.mark.neo4j, pytest.mark.soak]

WITHIN_S = 180.0


class OwnMirror(MirroredMemory):
    """A mirror in a local Neo4j of the test's own, whose files it can copy and put back."""

    local: LocalNeo4j
    written = 0

    @property
    def data(self) -> Path:
        return self.local.home / f"data-{LONG_TERM.name}"

    async def start(self) -> None:
        await asyncio.to_thread(self.local.start, version=LONG_TERM.version)

    async def stop(self) -> None:
        await asyncio.to_thread(self.local.stop)

    async def kill(self) -> None:
        running = self.local.running()
        assert running is not None
        psutil.Process(running.pid).kill()

        async def ended() -> bool:
            return self.local.running() is None

        await until(ended)

    async def copy(self) -> Path:
        await self.stop()
        path = self.local.home / "copy"
        await asyncio.to_thread(shutil.copytree, self.data, path)
        await self.start()
        return path

    async def put_back(self, copy: Path) -> None:
        """Kill the server, so that no stop in an orderly way helps, and start it with the copy."""
        await self.kill()
        await asyncio.to_thread(shutil.rmtree, self.data)
        await asyncio.to_thread(shutil.copytree, copy, self.data)
        before = self.mirror.uri
        await self.start()
        found = self.local.running()
        assert found is not None
        assert found.bolt == before, "it keeps its port"

    async def write(self, *, facts: int) -> None:
        for _ in range(facts):
            self.written += 1
            await self.memory.observe(f"Person {self.written}", "works_at", "Acme")

    async def caught_up(self) -> None:
        """Wait until the mirror may answer and has every change."""

        async def is_equal() -> bool:
            found = await MirrorFreshness(self.memory.database, CONSUMER).now((await self.tenant()).id)
            return found is not None and found.whole and found.seconds == 0

        await until(is_equal, within_s=WITHIN_S)

    async def logged(self) -> int:
        async with self.memory.database.engine.begin() as connection:
            return int((await connection.execute(text("SELECT count(*) FROM sync_log"))).scalar_one())


@pytest.fixture
async def own(
    memory: Memory, tmp_path: Path, neo4j_cache_with_jars: Path, quick_java: None
) -> AsyncIterator[OwnMirror]:
    local = LocalNeo4j(tmp_path / "neo4j", neo4j_cache_with_jars)
    first = await asyncio.to_thread(local.start, version=LONG_TERM.version)

    def locate() -> str | None:
        running = local.running()
        return running.bolt if running is not None else None

    try:
        async with Mirror(
            first.bolt, user=None, password=None, database="neo4j", locate=locate, credentials=local.credentials
        ) as mirror:
            own = OwnMirror(memory, mirror)
            own.local = local
            running = asyncio.create_task(own.worker.run())
            yield own
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    finally:
        await asyncio.to_thread(local.stop)


async def test_a_copy_of_the_files_is_rewound_while_writes_go_on(own: OwnMirror) -> None:
    await own.write(facts=200)
    await own.caught_up()
    copy, before = await own.copy(), await own.logged()
    await own.write(facts=20)
    await own.caught_up()
    writing = asyncio.create_task(own.write(facts=20))
    with capture_logs() as logs:
        await own.put_back(copy)
        await writing
        await own.caught_up()
    since = await own.logged() - before
    [begun] = [line for line in logs if line["event"] == "mirror is an old copy and is rewound"]
    [ended] = [line for line in logs if line["event"] == "rewound mirror is up to date"]
    assert 0 < begun["changes"] == ended["changes"] <= since < own.written
    assert not [line for line in logs if line["event"] == "mirror rebuild started"]
    newest = await Generations(own.memory.database, CONSUMER).newest()
    assert newest is not None
    assert (newest["generation"], newest["state"], newest["rewound_changes"]) == (1, "active", begun["changes"])
    assert await own.mirror_is_equal()


async def test_a_copy_of_the_files_that_is_older_than_the_kept_log_is_rebuilt(own: OwnMirror) -> None:
    await own.write(facts=20)
    await own.caught_up()
    copy = await own.copy()
    await own.write(facts=20)
    await own.caught_up()
    await own.run_sql("UPDATE sync_snapshot SET at = at - interval '25 hours'")
    async with own.memory.database.background(Role.JOBS) as connection:
        await trim_snapshots(connection, limit=1_000)
    with capture_logs() as logs:
        await own.put_back(copy)

        async def is_rebuilt() -> bool:
            return await own.generation() == 2

        await until(is_rebuilt, within_s=WITHIN_S)
        await own.caught_up()
    [begun] = [line for line in logs if line["event"] == "mirror rebuild started"]
    assert begun["reason"] == "the mirror is an older copy than the change log reaches back to"
    assert await own.mirror_is_equal()
