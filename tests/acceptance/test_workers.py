"""A service of several processes: whichever of them is killed, the others answer, and it is replaced."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import psutil
import psycopg
from fix_memory import until
from fix_service import CAPTURE, HEALTH, environment, run_command, running
from prometheus_client.parser import text_string_to_metric_families

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.processes.board import KEEPS_ENDING

NAMES = {"background", "api-1", "api-2"}


@dataclass
class Load:
    """Clients with kept connections that capture one item after the other, until the service refuses to connect."""

    url: str
    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0  # answers that say UNAVAILABLE
    broken: list[str] = field(default_factory=list)  # requests without an answer

    async def write(self, name: str) -> None:
        async with httpx.AsyncClient(timeout=30) as http:
            number = 0
            while True:
                number += 1
                content = {"role": "user", "text": f"{name} says {number}"}
                given = {"source": "test", "sourceKind": "AGENT_TURN", "content": content}
                try:
                    response = await http.post(
                        f"{self.url}/graphql", json={"query": CAPTURE, "variables": {"input": given}}
                    )
                except httpx.ConnectError:
                    return
                except httpx.TransportError as error:
                    self.broken.append(repr(error))
                else:
                    self._note(response.json())

    def _note(self, answer: dict[str, Any]) -> None:
        if "errors" in answer:
            found = answer["errors"][0]["extensions"]
        elif answer["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess":
            self.acknowledged.add(answer["data"]["captureMemory"]["primaryRecord"]["id"])
            return
        else:
            found = answer["data"]["captureMemory"]
        assert (found["code"], found["retryable"]) == ("UNAVAILABLE", True), answer
        self.refused += 1

    async def goes_on(self) -> None:
        """Wait until each client has had about two more answers."""
        before = len(self.acknowledged)

        async def more() -> bool:
            return len(self.acknowledged) > before + 10

        await until(more)


@asynccontextmanager
async def load(url: str) -> AsyncIterator[Load]:
    """Run clients during the block, which must end with the service."""
    found = Load(url)
    async with asyncio.TaskGroup() as group:
        for name in ("Alice", "Bob", "Carol", "Dan", "Eve"):
            group.create_task(found.write(name))
        yield found


async def samples(url: str, name: str) -> dict[str, float]:
    """Return the sums of a metric's samples by process."""
    async with httpx.AsyncClient(timeout=30) as http:
        text = (await http.get(f"{url}/metrics", headers={"accept": "text/plain"})).text
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name:
                process = sample.labels["process"]
                found[process] = found.get(process, 0.0) + sample.value
    return found


async def pid(url: str, name: str) -> int:
    return int((await samples(url, "stratagraph_process_pid"))[name])


async def killed(url: str, name: str) -> None:
    """Kill a process of the service, and wait until another one is ready in its place."""
    starts = (await samples(url, "stratagraph_process_starts_total"))[name]
    os.kill(await pid(url, name), signal.SIGKILL)

    async def is_replaced() -> bool:
        try:
            now = (await samples(url, "stratagraph_process_starts_total"))[name]
            return now > starts and (await samples(url, "stratagraph_process_up"))[name] == 1.0
        except httpx.TransportError:
            return False  # our connection was to the process that was killed

    await until(is_replaced)


async def test_killed_processes_are_replaced_and_a_stop_answers_all_requests(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data"), "workers": "2"}
    with running(log=str(log), **given) as service:
        url = service.url
        assert url is not None
        async with load(url) as clients:
            await clients.goes_on()
            requests = await samples(url, "stratagraph_request_duration_seconds_count")
            assert min(requests["api-1"], requests["api-2"]) > 0, "both workers answer"
            assert set(await samples(url, "stratagraph_process_up")) == NAMES
            assert set(await samples(url, "process_resident_memory_bytes")) == NAMES

            await killed(url, "background")
            await clients.goes_on()
            assert clients.broken == [], "the API does not need the background work"

            await killed(url, "api-1")
            await clients.goes_on()
            assert len(clients.broken) <= 5, "only requests that the killed process had"
            for _ in range(KEEPS_ENDING - 1):
                await killed(url, "api-1")
            async with httpx.AsyncClient() as http:
                health = (await http.post(f"{url}/graphql", json={"query": HEALTH})).json()["data"]["health"]
                check = next(one for one in health["checks"] if one["name"] == "processes")
                assert not check["ok"]
                assert f"api-1 has ended {KEEPS_ENDING} times in a row" in check["detail"]
                assert (await http.get(f"{url}/readyz")).status_code == 200
                assert (await http.get(f"{url}/healthz")).status_code == 200

            await clients.goes_on()
            clients.broken.clear()
            service.process.send_signal(signal.SIGTERM)
        assert clients.broken == [], "a stop breaks no request"
        assert clients.refused == 0
        assert service.stop() == 0
    with psycopg.connect(database_url) as connection:
        stored = {str(row[0]) for row in connection.execute("SELECT id FROM record")}
    assert clients.acknowledged <= stored
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ended = [event["name"] for event in events if event["event"] == "process has ended"]
    assert ended == ["background", *["api-1"] * KEEPS_ENDING]
    assert {event["process"] for event in events if event["event"] == "request"} == {"api-1", "api-2"}


def runs(process: psutil.Process) -> bool:
    """Return whether a process runs; one that has ended may wait for a long time until its parent asks for its end."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_neither_the_end_of_postgres_nor_of_the_parent_loses_a_write() -> None:
    # Outside pytest's directory, which is closed to the account that the server runs as.
    with TemporaryDirectory(prefix="stratagraph-workers-", ignore_cleanup_errors=True) as directory:
        given = {"data_dir": directory, "workers": "2"}
        log = Path(directory) / "service.log"
        server = EmbeddedPostgres(Path(directory))
        with running(log=str(log), **given) as service:
            assert service.url is not None
            async with load(service.url) as clients:
                await clients.goes_on()
                psutil.Process(server.pid).kill()

                async def is_restarted() -> bool:
                    return "embedded postgres started again" in log.read_text()

                await until(is_restarted)
                await clients.goes_on()
                with running("--only", "api", **given) as beside:
                    assert beside.url is not None
                    async with httpx.AsyncClient() as http:
                        answer = await http.post(
                            f"{beside.url}/graphql", json={"query": "{ records { nodes { id } } }"}
                        )
                    assert answer.json()["data"]["records"]["nodes"]
                    assert beside.stop() == 0
                await clients.goes_on()
                children = psutil.Process(service.process.pid).children()
                service.kill()
            assert clients.broken == [], "workers whose parent was killed answer what they have"
        with running(**given) as again:
            assert not any(runs(one) for one in children)
            with psycopg.connect(server.login_url("postgres")) as connection:
                stored = {str(row[0]) for row in connection.execute("SELECT id FROM record")}
            assert clients.acknowledged <= stored
            assert again.stop() == 0
        assert not server.is_running()


async def test_a_service_whose_first_process_cannot_start_says_why_and_ends(tmp_path: Path) -> None:
    settings = {"data_dir": str(tmp_path), "port": "0"}
    no_postgres = environment(**settings, database_url="mysql://127.0.0.1:1/x", master_key="A" * 43 + "=")
    for arguments, given, expected in (
        (["--workers", "2"], no_postgres, "must look like postgresql://"),
        (["--workers", "64"], environment(**settings), "Lower STRATAGRAPH_WORKERS"),
    ):
        status, out, err = await run_command("serve", *arguments, env=given)
        assert (status, out) == (1, "")
        assert expected in " ".join(err.split())
        assert "Traceback" not in err
