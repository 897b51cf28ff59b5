"""Whenever the mirror's worker or its Neo4j is stopped, both stores agree later, and no acknowledged write is lost."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, LiteralString

import httpx
import neo4j
import psycopg
import pytest
from fix_memory import SPARING_S, until
from fix_neo4j import LONG_TERM
from fix_service import HEALTH, MASTER_KEY, Client, Service, environment, run_command, running

pytestmark = pytest.mark.neo4j

PACE_S = 0.05  # between batches, so that the worker gets processor time on a small machine
CAPTURE = """mutation ($items: [CaptureMemoryInput!]!) {
  captureMemories(input: {items: $items}) {
    ... on CaptureMemoriesSuccess { results { primaryRecord { id } createdRecords { id } edges { id } } }
    ... on MemoryError { code message }
  }
}"""
RETRIEVE = """query ($task: String!) {
  retrieveGraph(input: {taskDescriptor: $task}) {
    ... on RetrieveGraphSuccess {
      nodes { record { id name } }
      freshness { engine fallback mirrorLagSeconds }
    }
    ... on MemoryError { code message }
  }
}"""


def items(number: int) -> list[dict[str, Any]]:
    """New records, updates and superseding facts: every kind of change that the mirror follows."""
    person = f"Person {number % 7}"
    thread = f"thread {number % 5}"
    contents: list[tuple[str, dict[str, Any]]] = [
        ("AGENT_TURN", {"role": "user", "text": f"message {number} about {person}", "thread_id": thread}),
        ("WORKING_STATE", {"thread_id": thread, "state": "executing", "context_summary": f"step {number}"}),
        (
            "OBSERVATION",
            {"subject": person, "predicate": "works_on", "object": number, "revision_policy": "replace"},
        ),
    ]
    if number % 5 == 4:
        contents.append(("OUTCOME", {"thread_id": thread, "outcome_status": "success"}))
    return [{"source": "test", "sourceKind": kind, "content": content} for kind, content in contents]


class Writer:
    """Captures over HTTP until it is stopped, and remembers the ids that were acknowledged."""

    def __init__(self, client: Client, *, pace_s: float = PACE_S) -> None:
        self._client = client
        self._pace_s = pace_s
        self.records: set[str] = set()
        self.relations: set[str] = set()
        self.batches = 0
        self._stop = asyncio.Event()

    async def write(self) -> None:
        while not self._stop.is_set():
            result = (await self._client.data(CAPTURE, items=items(self.batches)))["captureMemories"]
            assert "results" in result, result
            for kept in result["results"]:
                self.records |= {kept["primaryRecord"]["id"], *(record["id"] for record in kept["createdRecords"])}
                self.relations |= {edge["id"] for edge in kept["edges"]}
            self.batches += 1
            await asyncio.sleep(self._pace_s)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.write())
            yield
            self._stop.set()


async def leases(database: psycopg.AsyncConnection) -> int:
    """How often the mirror's shards have been leased; the number grows when a worker starts."""
    return await number(database, "SELECT coalesce(sum(epoch), 0) FROM sync_cursor WHERE consumer = 'neo4j'")


async def number(database: psycopg.AsyncConnection, statement: LiteralString) -> int:
    row = await (await database.execute(statement)).fetchone()
    assert row is not None
    return int(row[0])


async def in_postgres(database: psycopg.AsyncConnection) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    records = await (await database.execute("SELECT id::text, row_version, state >= 3 FROM record")).fetchall()
    relations = await (
        await database.execute(
            "SELECT e.id::text, e.row_version, e.source::text, upper(p.name), e.target::text, e.weight"
            " FROM relation e JOIN predicate p ON p.id = e.predicate WHERE e.ended_at IS NULL"
        )
    ).fetchall()
    return set(records), set(relations)


async def in_neo4j(driver: neo4j.AsyncDriver) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    async with driver.session() as session:
        records = await session.run("MATCH (n:Memory|Past) RETURN n.id, n.ver, n:Past")
        found = {tuple(row.values()) async for row in records}
        relations = await session.run(
            "MATCH (a)-[r]->(b) WHERE r.gen IS NOT NULL RETURN r.id, r.ver, a.id, type(r), b.id, r.w"
        )
        return found, {tuple(row.values()) async for row in relations}


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}


@contextmanager
def sync_worker(settings: dict[str, str]) -> Iterator[Service]:
    """`stratagraph serve --only sync`, in a process of its own."""
    with running("--only", "sync", **settings) as service:
        yield service


async def checkpoint(driver: neo4j.AsyncDriver) -> int:
    """The newest snapshot that the mirror has recorded as applied."""
    async with driver.session() as session:
        row = await (await session.run("MATCH (c:SyncCheckpoint) RETURN max(c.snapshot)")).single(strict=True)
        return int(row[0] or 0)


async def kill_worker_in_progress(
    settings: dict[str, str], database: psycopg.AsyncConnection, progress: Callable[[], Awaitable[int]]
) -> None:
    """Start a worker, and kill it once it holds shards and the number returned by `progress` has grown."""
    taken = await leases(database)
    worker = sync_worker(settings)
    service = await asyncio.to_thread(worker.__enter__)
    try:

        async def leads() -> bool:
            return await leases(database) > taken

        await until(leads, within_s=60)
        reached = await progress()

        async def has_progressed() -> bool:
            return await progress() > reached

        await until(has_progressed, within_s=60, every_s=0.02)  # a slower poll could miss the copy
        service.kill()
    finally:
        await asyncio.to_thread(worker.__exit__, None, None, None)


async def test_workers_killed_repeatedly_leave_both_stores_equal(
    settings: dict[str, str], database_url: str, clean_neo4j: str
) -> None:
    with running("--only", "api", "--only", "jobs", **settings) as api:
        assert api.url is not None
        async with (
            httpx.AsyncClient(timeout=30) as http,
            await psycopg.AsyncConnection.connect(database_url, autocommit=True) as database,
            neo4j.AsyncGraphDatabase.driver(clean_neo4j, notifications_min_severity="OFF") as driver,
        ):
            writer = Writer(Client(http, api.url))
            with_mirror = settings | {"neo4j_uri": clean_neo4j}

            async def rows_read() -> int:
                return await number(database, "SELECT coalesce(max(done), 0) FROM mirror_generation")

            async def checkpoint_snapshot() -> int:
                return await checkpoint(driver)

            async with writer.writing():
                # The first worker is killed during the full copy, the second while it follows the feed.
                for progress in (rows_read, checkpoint_snapshot):
                    before = writer.batches
                    await kill_worker_in_progress(with_mirror, database, progress)
                    assert writer.batches > before
            worker = sync_worker(with_mirror)
            await asyncio.to_thread(worker.__enter__)
            try:

                async def equal() -> bool:
                    return await in_postgres(database) == await in_neo4j(driver)

                await until(equal, within_s=90, every_s=SPARING_S)
            finally:
                await asyncio.to_thread(worker.__exit__, None, None, None)
            records, relations = await in_postgres(database)
            assert await in_neo4j(driver) == (records, relations)
            assert writer.records <= {row[0] for row in records}
            assert writer.relations <= {row[0] for row in relations}
            assert await number(database, "SELECT count(*) FROM sync_dead_letter") == 0
            begun = await number(database, "SELECT count(*) FROM mirror_generation")
            assert begun == 1, "the next worker resumes the full copy of the killed one"


async def test_a_service_whose_neo4j_is_down_answers_from_sql_and_reports_the_outage(settings: dict[str, str]) -> None:
    with running(**settings, neo4j_uri="bolt://127.0.0.1:1", traversal="neo4j") as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)
            result = (await client.data(CAPTURE, items=items(0)))["captureMemories"]
            kept = result["results"][0]["primaryRecord"]["id"]

            async def outage_reported() -> bool:
                checks = (await client.data(HEALTH))["health"]["checks"]
                return any(check["name"] == "mirror" and not check["ok"] for check in checks)

            await until(outage_reported, every_s=SPARING_S)
            health = (await client.data(HEALTH))["health"]
            assert health["ok"]
            checks = {check["name"]: check for check in health["checks"]}
            assert checks["database"]["ok"]
            assert "Neo4j cannot be reached" in checks["mirror"]["detail"]
            found = (await client.data(RETRIEVE, task="message about Person"))["retrieveGraph"]
            assert kept in {node["record"]["id"] for node in found["nodes"]}
            assert found["freshness"]["engine"] == "SQL"
            assert found["freshness"]["fallback"], "the answer says why Neo4j was not used"
        assert service.stop() == 0


async def test_health_fails_once_the_mirror_is_late_and_the_service_stays_ready(
    settings: dict[str, str],
) -> None:
    constants = json.dumps({"stratagraph.service.runtime:HEALTH": {"max_lag_s": 0.5}})
    with running(**settings, neo4j_uri="bolt://127.0.0.1:1", constants=constants) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)

            async def fails() -> bool:
                return (await http.get(f"{service.url}/healthz")).status_code == 503

            await until(fails)
            report = (await http.get(f"{service.url}/healthz")).json()
            assert [one["name"] for one in report["checks"] if not one["ok"]] == ["mirror"]
            assert (await http.get(f"{service.url}/readyz")).json() == {"status": "ready"}
            assert not (await client.data(HEALTH))["health"]["ok"]
            await client.data(CAPTURE, items=items(0))
            found = (await client.data(RETRIEVE, task="message about Person"))["retrieveGraph"]
            assert found["nodes"], "what is asked is answered all the same"


async def test_a_service_in_one_process_keeps_its_mirror_up_to_date(
    settings: dict[str, str], database_url: str, clean_neo4j: str
) -> None:
    with running(**settings, neo4j_uri=clean_neo4j, traversal="neo4j") as service:
        assert service.url is not None
        async with (
            httpx.AsyncClient(timeout=30) as http,
            await psycopg.AsyncConnection.connect(database_url, autocommit=True) as database,
            neo4j.AsyncGraphDatabase.driver(clean_neo4j, notifications_min_severity="OFF") as driver,
        ):
            client = Client(http, service.url)
            for number in range(5):
                await client.data(CAPTURE, items=items(number))

            async def equal() -> bool:
                return await in_postgres(database) == await in_neo4j(driver)

            await until(equal, every_s=SPARING_S)
            freshness: dict[str, Any] = {}

            async def answered_by_neo4j() -> bool:  # Neo4j's first query plan may take longer than a request waits
                found = (await client.data(RETRIEVE, task="message about Person"))["retrieveGraph"]
                freshness.update(found["freshness"])
                return bool(freshness["engine"] == "NEO4J" and freshness["mirrorLagSeconds"] == 0)

            await until(answered_by_neo4j, every_s=SPARING_S)
            assert freshness["fallback"] is None
            checks = (await client.data(HEALTH))["health"]["checks"]
            assert {check["name"]: check["ok"] for check in checks} == dict.fromkeys(
                ("database", "clock", "feed", "jobs", "mirror"), True
            )


FOUND_WITHIN_S = 300.0  # after the start of Neo4j, on a busy machine; measured in docs/mirror.md


@pytest.fixture
async def local(
    settings: dict[str, str], neo4j_cache_with_jars: Path, quick_java: None
) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Runs `stratagraph neo4j` and other commands for a local Neo4j in the test's data directory."""
    settings |= {"cache_dir": str(neo4j_cache_with_jars.parent), "traversal": "neo4j"}

    async def run(*arguments: str) -> Any:
        code, out, err = await run_command(*arguments, "--json", env=environment(master_key=MASTER_KEY, **settings))
        assert code == 0, out + err
        return json.loads(out)

    yield run
    await run("neo4j", "stop")


async def test_a_running_service_finds_a_local_neo4j_that_is_started_later_stopped_and_started_on_another_port(
    settings: dict[str, str], local: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    with running(**settings, log=str(tmp_path / "log")) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)
            writer = Writer(client, pace_s=0.3)

            async def freshness() -> dict[str, Any]:
                found: dict[str, Any] = (await client.data(RETRIEVE, task="message about Person"))["retrieveGraph"]
                return dict(found["freshness"])

            async def in_neo4j() -> bool:
                return bool((await freshness())["engine"] == "NEO4J")

            async def caught_up() -> bool:
                return bool((await freshness())["mirrorLagSeconds"] == 0)

            async def found_after_start() -> dict[str, Any]:
                started: dict[str, Any] = await local("neo4j", "start", "--version", LONG_TERM.version)
                began = time.monotonic()
                await until(in_neo4j, within_s=FOUND_WITHIN_S, every_s=SPARING_S)
                print(f"answered by Neo4j {time.monotonic() - began:.1f} s after `neo4j start` returned")
                return started

            async with writer.writing():
                checks = (await client.data(HEALTH))["health"]["checks"]
                assert next(one for one in checks if one["name"] == "mirror")["detail"].startswith("none configured")
                first = await found_after_start()
                await local("neo4j", "stop")
                with socket.create_server(("127.0.0.1", int(first["bolt"].rsplit(":", 1)[1]))):
                    before = writer.batches

                    async def written_on() -> bool:
                        return writer.batches > before + 5 and not await in_neo4j()

                    await until(written_on, every_s=SPARING_S)
                    second = await found_after_start()
            assert second["bolt"] != first["bolt"], "another program listens on the first port"
            await until(caught_up, within_s=FOUND_WITHIN_S, every_s=SPARING_S)  # `verify` waits for a minute at most
            assert (await local("sync", "verify", "--deep"))["equal"]
            status = await local("sync", "status")
            assert status["uri"] == second["bolt"]
            assert status["generation"]["generation"] == 1, "the changes of the outage were applied, nothing more"
        assert service.stop() == 0
