"""Load balancers are told the truth: before the database is there, while it takes no writes, and before a stop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psycopg
import pytest
from fix_faults import free_port
from fix_memory import until
from fix_service import HEALTH, MASTER_KEY, Client, Forked, Service, environment, running
from prometheus_client.parser import text_string_to_metric_families

from stratagraph.service.embedded_postgres import EmbeddedPostgres

CAPTURE = """mutation($text: String!) { captureMemory(input: {source: "test", sourceKind: AGENT_TURN,
  content: {role: "user", text: $text}}) { __typename ... on MemoryError { code message } } }"""
ASK = """query($text: String!) { retrieveGraph(input: {taskDescriptor: $text}) { ... on RetrieveGraphSuccess {
  nodes { record { text } } } } }"""
HANG_S = "stratagraph.service.processes.group:HANG_S"


@pytest.fixture
def directory() -> Iterator[Path]:
    # Outside pytest's directory, which is closed to the account that the server runs as.
    with TemporaryDirectory(prefix="stratagraph-ready-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@dataclass
class OwnPostgres:
    """A server of its own that can be stopped, and started as a standby."""

    server: EmbeddedPostgres
    runs: AbstractContextManager[str] | None = None

    def start(self, *, standby: bool = False) -> None:
        if standby:
            (self.server.data / "standby.signal").touch()
        self.runs = self.server.running()
        self.runs.__enter__()

    def stop(self) -> None:
        if self.runs is not None:
            self.runs.__exit__(None, None, None)
            self.runs = None

    def promote(self) -> None:
        with psycopg.connect(self.server.login_url("postgres"), autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")


@pytest.fixture
def postgres(directory: Path) -> Iterator[OwnPostgres]:
    made = OwnPostgres(EmbeddedPostgres(directory / "server"))
    (directory / "server").mkdir()
    made.server.directory.chmod(0o755)
    directory.chmod(0o755)
    try:
        yield made
    finally:
        made.stop()


def events(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def value(http: httpx.AsyncClient, url: str, name: str, **labels: str) -> float | None:
    """Return the value of a series of /metrics, or None."""
    text = (await http.get(f"{url}/metrics", headers={"accept": "text/plain"})).text
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


@pytest.mark.parametrize(
    ("arguments", "workers"), [(["--only", "api"], "1"), (["--only", "jobs", "--only", "api"], "2")]
)
async def test_a_service_that_is_started_before_its_postgres_waits_for_it_and_says_so(
    postgres: OwnPostgres, directory: Path, arguments: list[str], workers: str
) -> None:
    log, port = directory / "log", free_port()
    url = f"http://127.0.0.1:{port}"
    service = running(
        *arguments,
        workers=workers,
        database_url=postgres.server.login_url("postgres"),
        single_user="on",
        port=str(port),
        data_dir=str(directory / "data"),
        log=str(log),
    )
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, url)
        starting = asyncio.create_task(asyncio.to_thread(service.__enter__))

        async def is_alive() -> bool:
            try:
                return (await http.get(f"{url}/livez")).status_code == 200
            except httpx.TransportError:
                return False

        await until(is_alive)
        ready = await http.get(f"{url}/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "not ready", "failing": ["database"]})
        health = await http.get(f"{url}/healthz")
        assert (health.status_code, [one["name"] for one in health.json()["checks"]]) == (503, ["database"])
        refused = await http.post(f"{url}/graphql", json={"query": "{ __typename }"})
        extensions = refused.json()["errors"][0]["extensions"]
        said = (refused.status_code, extensions["code"], extensions["retryable"], extensions["retryAfter"])
        assert said == (503, "UNAVAILABLE", True, 1.0)
        assert await value(http, url, "stratagraph_ready") == 0
        assert await value(http, url, "stratagraph_up", part="database") == 0
        (waits,) = [one for one in events(log) if one["event"] == "waiting for the database"]
        assert "cannot be reached" in waits["reason"]

        await asyncio.to_thread(postgres.start)
        await asyncio.to_thread(postgres.stop)
        await asyncio.to_thread(postgres.start, standby=True)

        async def is_told() -> bool:
            return any("accepts no writes" in one.get("reason", "") for one in events(log))

        await until(is_told)
        assert not starting.done()
        await asyncio.to_thread(postgres.promote)
        started = await starting
        assert (await http.get(f"{url}/readyz")).status_code == 200
        assert await client.data(CAPTURE, text="after the wait") == {
            "captureMemory": {"__typename": "CaptureMemorySuccess"}
        }
        assert await value(http, url, "stratagraph_ready") == 1
        assert started.stop() == 0
        service.__exit__(None, None, None)
    assert "Traceback" not in log.read_text()


async def test_a_service_that_waits_for_its_postgres_stops_when_it_is_told_to(directory: Path) -> None:
    log = directory / "log"
    given = {"single_user": "on", "port": "0", "data_dir": str(directory / "data"), "master_key": MASTER_KEY}
    with log.open("a") as err:
        process = Forked(["serve"], environment(database_url="postgresql://127.0.0.1:1/none", **given), err)

    async def waits() -> bool:
        return any(one["event"] == "waiting for the database" for one in events(log))

    with process.stdout:
        await until(waits)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
        assert process.stdout.read() == ""


async def test_a_standby_is_told_while_reads_go_on_and_its_promotion_brings_writes_back(
    postgres: OwnPostgres, directory: Path
) -> None:
    log = directory / "log"
    await asyncio.to_thread(postgres.start)
    given = {"database_url": postgres.server.login_url("postgres"), "single_user": "on"}
    with running("--only", "api", data_dir=str(directory / "data"), log=str(log), **given) as service:
        assert service.url is not None
        url = service.url
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, url)
            await client.data(CAPTURE, text="said before")
            await asyncio.to_thread(postgres.stop)
            await asyncio.to_thread(postgres.start, standby=True)

            async def is_ready() -> bool:
                return (await http.get(f"{url}/readyz")).status_code == 200

            await until(is_ready)

            async def is_told() -> bool:
                return await value(http, url, "stratagraph_database_state", state="standby") == 1

            await until(is_told)
            found = (await client.data(ASK, text="said before"))["retrieveGraph"]
            assert [node["record"]["text"] for node in found["nodes"]] == ["user: said before"]
            assert (await client.data(CAPTURE, text="refused"))["captureMemory"]["code"] == "UNAVAILABLE"
            health = (await client.data(HEALTH))["health"]
            details = {one["name"]: one["detail"] for one in health["checks"] if not one["ok"]}
            assert not health["ok"]
            assert details["database"] == "answers, and accepts no writes, because it is a standby"
            assert (await http.get(f"{url}/healthz")).status_code == 503
            assert (await http.get(f"{url}/readyz")).status_code == 200
            await asyncio.to_thread(postgres.promote)

            async def is_sound() -> bool:
                return bool((await client.data(HEALTH))["health"]["ok"])

            await until(is_sound)
            assert await value(http, url, "stratagraph_database_state", state="writable") == 1
            await client.data(CAPTURE, text="said after")

            async def is_logged() -> bool:
                told = [one["event"] for one in events(log) if one.get("part") == "database"]
                return bool(told[-1] == "part of the service works again")

            await until(is_logged)


async def test_a_hanging_worker_is_told_and_replaced(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data"), "workers": "2"}
    with running(log=str(log), constants=json.dumps({HANG_S: 2.0}), **given) as service:
        url = service.url
        assert url is not None

        async def ask(name: str, **labels: str) -> float | None:
            """Ask on a new connection, which the worker that runs accepts."""
            async with httpx.AsyncClient(timeout=30) as http:
                return await value(http, url, name, **labels)

        pid = await ask("stratagraph_process_pid", process="api-1")
        assert pid
        os.kill(int(pid), signal.SIGSTOP)

        async def is_replaced() -> bool:
            up = await ask("stratagraph_process_up", process="api-1")
            return up == 1 and await ask("stratagraph_process_pid", process="api-1") != pid

        await until(is_replaced)
        assert await ask("stratagraph_process_hangs_total", process="api-1") == 1
        assert await ask("stratagraph_process_hangs_total", process="api-2") == 0
        assert service.stop() == 0
    told = [one["name"] for one in events(log) if one["event"] == "process hangs and is killed"]
    assert told == ["api-1"]


@dataclass
class Proxy:
    """A load balancer: it sends each request to a server whose /readyz answered 200 when it last asked."""

    urls: list[str]
    http: httpx.AsyncClient
    ready: set[str] = field(default_factory=set)
    answered: dict[str, int] = field(default_factory=dict)  # by server
    failed: list[str] = field(default_factory=list)
    _next: int = 0

    async def poll(self) -> None:
        while True:
            for url in self.urls:
                try:
                    is_ready = (await self.http.get(f"{url}/readyz")).status_code == 200
                except httpx.TransportError:
                    is_ready = False
                (self.ready.add if is_ready else self.ready.discard)(url)
            await asyncio.sleep(0.05)

    async def send(self, name: str, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            self._next += 1
            ready = sorted(self.ready)
            url = ready[self._next % len(ready)]
            try:
                answer = await Client(self.http, url)(CAPTURE, text=f"{name} says {number}")
            except httpx.TransportError as error:
                self.failed.append(f"{url}: {error!r}")
                continue
            if answer.get("data", {}).get("captureMemory", {}).get("__typename") != "CaptureMemorySuccess":
                self.failed.append(f"{url}: {answer}")
            self.answered[url] = self.answered.get(url, 0) + 1

    async def goes_on(self) -> None:
        before = sum(self.answered.values())

        async def more() -> bool:
            return sum(self.answered.values()) > before + 20

        await until(more)


@asynccontextmanager
async def proxying(urls: list[str]) -> AsyncIterator[Proxy]:
    stop = asyncio.Event()
    async with httpx.AsyncClient(timeout=30) as http, asyncio.TaskGroup() as group:
        proxy = Proxy(urls, http)
        polling = group.create_task(proxy.poll())

        async def any_ready() -> bool:
            return bool(proxy.ready)

        await until(any_ready)
        clients = [group.create_task(proxy.send(name, stop)) for name in ("Alice", "Bob", "Carol")]
        try:
            yield proxy
        finally:
            stop.set()
            await asyncio.wait(clients)
            polling.cancel()


@pytest.mark.parametrize(("workers", "restarts"), [("1", 2), ("2", 1)])
async def test_a_rolling_restart_behind_a_proxy_refuses_no_request(
    database_url: str, tmp_path: Path, workers: str, restarts: int
) -> None:
    urls = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
    with ExitStack() as stack:

        def start(url: str) -> Service:
            return stack.enter_context(
                running(
                    *("--only", "api"),
                    workers=workers,
                    port=url.rpartition(":")[2],
                    database_url=database_url,
                    single_user="on",
                    data_dir=str(tmp_path / "data"),
                    drain_s="1.5",
                )
            )

        services = {url: await asyncio.to_thread(start, url) for url in urls}
        async with proxying(urls) as proxy:

            async def all_ready() -> bool:
                return proxy.ready == set(urls)

            for url in urls[:restarts]:
                await until(all_ready)
                await proxy.goes_on()
                services[url].process.send_signal(signal.SIGTERM)

                async def is_left(one: str = url) -> bool:
                    return one not in proxy.ready

                await until(is_left)
                ready = await proxy.http.get(f"{url}/readyz")
                assert (ready.status_code, ready.json()["failing"]) == (503, ["stopping"])
                assert ready.headers["connection"] == "close"
                assert (await proxy.http.get(f"{url}/livez")).status_code == 200
                late = await Client(proxy.http, url)(CAPTURE, text="sent before the proxy noticed")
                assert late["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess"
                assert await asyncio.to_thread(services[url].process.wait, 30) == 0
                services[url] = await asyncio.to_thread(start, url)
            await until(all_ready)
            await proxy.goes_on()
        for service in services.values():
            service.kill()  # a stop would wait for a load balancer
        assert proxy.failed == []
        assert set(proxy.answered) == set(urls)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]])
async def test_an_operator_who_waits_at_the_terminal_does_not_wait_for_the_load_balancer(
    database_url: str, tmp_path: Path, workers: str, signals: list[signal.Signals]
) -> None:
    log = tmp_path / "log"
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data"), "log": str(log)}
    with running("--only", "api", drain_s="600", workers=workers, **given) as service:

        async def drains() -> bool:
            return any(one["event"].startswith("not ready any more") for one in events(log))

        *first, last = signals
        for number in first:
            service.process.send_signal(number)
            await until(drains)  # two signals at once may arrive as one
        service.process.send_signal(last)
        assert await asyncio.to_thread(service.process.wait, 30) == 0
