"""A service whose embedded PostgreSQL is killed while clients write starts it again and loses no acknowledged write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from fix_memory import until
from fix_service import CAPTURE, Client, Service, running

from stratagraph.service.embedded_postgres import EmbeddedPostgres


@pytest.fixture
def data_dir() -> Iterator[Path]:
    # Outside pytest's directory, which is closed to the account that the server runs as.
    with TemporaryDirectory(prefix="stratagraph-healing-") as directory:
        yield Path(directory)


@pytest.fixture
def embedded(data_dir: Path) -> Iterator[Service]:
    """A single-user service with its own embedded PostgreSQL."""
    with running(data_dir=str(data_dir), log=str(data_dir / "service.log")) as started:
        yield started


class Writer:
    """Captures one item after the other; counts acknowledged and refused writes."""

    def __init__(self, client: Client, name: str) -> None:
        self.acknowledged: set[str] = set()
        self.refused = 0
        self._client = client
        self._name = name

    async def write(self, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            content = {"role": "user", "text": f"{self._name} says {number}"}
            answer = await self._client(
                CAPTURE, input={"source": "test", "sourceKind": "AGENT_TURN", "content": content}
            )
            if "errors" in answer:  # refused before the mutation began
                found = answer["errors"][0]["extensions"]
            else:
                found = answer["data"]["captureMemory"]
                if found["__typename"] == "CaptureMemorySuccess":
                    self.acknowledged.add(found["primaryRecord"]["id"])
                    continue
            assert (found["code"], found["retryable"]) == ("UNAVAILABLE", True), answer
            self.refused += 1


def kill(server: EmbeddedPostgres, *, all_processes: bool) -> None:
    main = psutil.Process(int((server.data / "postmaster.pid").read_text().splitlines()[0]))
    for process in [main, *(main.children(recursive=True) if all_processes else [])]:
        process.kill()


async def test_writes_go_on_after_the_database_was_killed_and_none_is_lost(embedded: Service, data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    assert embedded.url is not None
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, embedded.url)
        writers = [Writer(client, name) for name in ("Alice", "Bob", "Carol")]
        stop = asyncio.Event()

        def written() -> int:
            return sum(len(writer.acknowledged) for writer in writers)

        async def is_ready() -> bool:
            return (await http.get(f"{embedded.url}/readyz")).status_code == 200

        async with asyncio.TaskGroup() as group:
            for writer in writers:
                group.create_task(writer.write(stop))
            for restarts, all_processes in ((1, False), (2, True)):
                before = written()

                async def more_written(above: int = before + 10) -> bool:
                    return written() > above

                await until(more_written)
                kill(server, all_processes=all_processes)

                async def is_restarted(times: int = restarts) -> bool:
                    return (data_dir / "service.log").read_text().count('"embedded postgres started again"') == times

                await until(is_restarted)
                before = written()
                await until(is_ready)

                async def more_written_since(above: int = before + 10) -> bool:
                    return written() > above

                await until(more_written_since)
            stop.set()
        assert sum(writer.refused for writer in writers) > 0
    with psycopg.connect(server.login_url("postgres")) as connection:
        stored = {str(row[0]) for row in connection.execute("SELECT id FROM record")}
    assert set[str]().union(*(writer.acknowledged for writer in writers)) <= stored
    events = (data_dir / "service.log").read_text()
    assert "Traceback" not in events
    assert embedded.stop() == 0


async def test_health_says_that_the_database_cannot_be_started(embedded: Service, data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    configuration = server.data / "postgresql.conf"
    sound = configuration.read_text()
    assert embedded.url is not None
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, embedded.url)

        async def database() -> dict[str, Any]:
            health = (await client.data("{ health { ok checks { name ok detail } } }"))["health"]
            found: dict[str, Any] = next(one for one in health["checks"] if one["name"] == "database")
            assert health["ok"] <= found["ok"]
            return found

        configuration.write_text(sound + "\nno_such_setting = 1\n")
        kill(server, all_processes=True)

        async def is_reported() -> bool:
            found = await database()
            return not found["ok"] and "does not start" in found["detail"]

        await until(is_reported)
        ready = await http.get(f"{embedded.url}/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "not ready", "failing": ["database"]})
        configuration.write_text(sound)

        async def is_sound() -> bool:
            return bool((await database())["ok"])

        await until(is_sound)
