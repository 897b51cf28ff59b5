"""Measure what three attackers with valid read keys cost a fourth client of a running service.

The attackers keep several connections each busy with the most expensive operations that are allowed, and obey no
`Retry-After`. The victim asks small questions one after the other on a kept connection, first alone, then beside them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Annotated, Any

import httpx
import psutil
import typer
from harness import Bound, Store, machine, percentile, progress, report, server, store, summary
from loading import Loader, filled

from stratagraph.store.keys.credentials import Credentials
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.trust import Trust

ATTACKERS = 3
CONNECTIONS = 8  # of each attacker
RECORDS = 10_000
TIMES = 3.0  # the victim's idle p95 ...
MORE_MS = 100.0  # ... or this much more, whichever is larger, bounds its p95 under attack
RSS_MB = 600.0  # of the service under attack
READY_S = 60.0
MASTER_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="  # 32 zero bytes, as in the harness

RETRIEVE = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { roots nodes { score hop record { id name type salience text } } edges { id predicate } }
} }"""
WIDE = """{ __typename ... on RetrieveGraphSuccess { roots
  nodes { score hop why { words names } record { id name text payload tags createdAt provenance { createdBy } } }
  edges { id predicate sourceId targetId weight createdAt } } }"""
RELATED = """{ __typename ... on RetrieveGraphSuccess {
  nodes { record { id name payload relations { id predicate weight } auditLog { action rationale } } } } }"""


@dataclass
class Client:
    """One caller over HTTP, with a connection of its own, and what it was answered."""

    url: str
    token: str
    took_ms: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)

    async def ask(self, http: httpx.AsyncClient, document: str, variables: dict[str, Any]) -> None:
        began = perf_counter()
        response = await http.post(
            f"{self.url}/graphql",
            json={"query": document, "variables": variables},
            headers={"Authorization": f"Bearer {self.token}"},
        )
        self.took_ms.append((perf_counter() - began) * 1_000)
        errors = response.json().get("errors")
        self.codes[errors[0]["extensions"]["code"] if errors else "OK"] += 1


def attacks() -> list[tuple[str, dict[str, Any]]]:
    """Return the operations of an attacker: wide retrievals, twenty aliases, and nested lists."""
    widest = {"rootLimit": 100, "nodeLimit": 1_000, "edgeLimit": 5_000, "maxHops": 6}
    aliases = " ".join(f"a{number}: retrieveGraph(input: $input) {WIDE}" for number in range(20))
    return [
        (f"query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {WIDE} }}", widest),
        (f"query($input: RetrieveGraphInput!) {{ {aliases} }}", {}),
        (f"query($input: RetrieveGraphInput!) {{ {aliases} }}", widest),
        (f"query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {RELATED} }}", {"nodeLimit": 500}),
        (f"query($input: RetrieveGraphInput!) {{ retrieveGraph(input: $input) {WIDE} }}", widest | {"maxHops": 2}),
    ]


def run_attackers(clients: Sequence[Client], questions: Sequence[str], answers: Connection) -> None:
    """Attack until the process is told to end; then send the codes of the answers.

    For a process of its own. It yields the processor to the service, as clients on other machines would.
    """
    os.nice(15)

    async def all_of_them() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        tasks = [asyncio.create_task(attack(client, questions, seed)) for seed, client in enumerate(clients)]
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_of_them())
    answers.send([dict(client.codes) for client in clients])


async def attack(client: Client, questions: Sequence[str], seed: int) -> None:
    """Ask without end, on CONNECTIONS connections."""
    pick = Random(seed)
    kinds = attacks()

    async def one() -> None:
        async with httpx.AsyncClient(timeout=120) as http:
            while True:
                document, limits = pick.choice(kinds)
                await client.ask(http, document, {"input": {"taskDescriptor": pick.choice(questions), **limits}})

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(one())


async def serve_victim(client: Client, questions: Sequence[str], seconds: float, pause_s: float) -> None:
    """Ask small questions for `seconds`, one after the other."""
    upcoming = cycle(questions)
    until = perf_counter() + seconds
    async with httpx.AsyncClient(timeout=120) as http:
        while perf_counter() < until:
            await client.ask(http, RETRIEVE, {"input": {"taskDescriptor": next(upcoming), "nodeLimit": 10}})
            await asyncio.sleep(pause_s)


@asynccontextmanager
async def service(url: str, directory: Path, **settings: str) -> AsyncIterator[tuple[str, psutil.Process]]:
    """Run `stratagraph serve` on the database; yield its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {"database_url": url, "data_dir": str(directory), "port": str(port), "master_key": MASTER_KEY} | settings
    given = {"embedder": "off", **given}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    environment = kept | {f"STRATAGRAPH_{name.upper()}": value for name, value in given.items()}
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).parent / "stratagraph"), "serve"),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient() as http, asyncio.timeout(READY_S):
            while True:
                try:
                    if (await http.get(f"{address}/readyz")).status_code == 200:
                        break
                except httpx.TransportError:
                    await asyncio.sleep(0.1)
        yield address, psutil.Process(process.pid)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


def resident_mb(process: psutil.Process) -> float:
    """Return the resident memory of the largest of a service's processes, in megabytes."""
    return max(one.memory_info().rss for one in (process, *process.children())) / 1e6


async def watch(process: psutil.Process, rss_mb: list[float]) -> None:
    """Note the memory of the service four times a second, without end."""
    while True:
        rss_mb.append(resident_mb(process))
        await asyncio.sleep(0.25)


async def keys(where: Store, count: int) -> list[str]:
    credentials = Credentials(where.database, where.directory)
    made = []
    for number in range(count):
        trust = Trust(
            tenant="bench", actor=f"client-{number}", access=Access.READ, ceiling=Sensitivity.HYPER, scopes=None
        )
        made.append((await credentials.create(trust))[1])
    return made


async def _measure(url: str, *, records: int, seconds: float) -> tuple[dict[str, Any], list[Bound]]:
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(store(url, "bench_fairness"))
        with progress() as bars:
            loader: Loader = await filled(where, records, bars)
        wording = loader.wording
        questions = [wording.query_about(wording.random.choice(loader.sample), 6) for _ in range(100)]
        tokens = await keys(where, ATTACKERS + 1)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stratagraph-bench-")))
        address, process = await stack.enter_async_context(service(where.url, directory))
        idle, victim = Client(address, tokens[0]), Client(address, tokens[0])
        await serve_victim(Client(address, tokens[0]), questions, 3, 0.3)
        await serve_victim(idle, questions, seconds, 0.5)
        idle_rss_mb = resident_mb(process)
        attackers = [Client(address, token) for token in tokens[1:]]
        rss_mb: list[float] = []
        watching = asyncio.create_task(watch(process, rss_mb))
        context = get_context("spawn")
        answers, sent = context.Pipe(duplex=False)
        attacking = context.Process(target=run_attackers, args=(attackers, questions, sent))
        attacking.start()
        await serve_victim(victim, questions, 2 * seconds, 0.5)
        attacking.terminate()  # SIGTERM, at which it reports
        answered = await asyncio.to_thread(answers.recv)
        await asyncio.to_thread(attacking.join)
        watching.cancel()
    idle_p95, p95 = percentile(idle.took_ms, 0.95), percentile(victim.took_ms, 0.95)
    figures = {
        "idle_ms": summary(idle.took_ms),
        "under_attack_ms": summary(victim.took_ms),
        "victim_answers": dict(victim.codes),
        "attackers_answers": answered,
        "rss_mb": {"idle": round(idle_rss_mb, 1), "most": round(max(rss_mb), 1)},
    }
    bounds = [
        Bound(name="p95 of the victim under attack, ms", value=p95, limit=max(TIMES * idle_p95, idle_p95 + MORE_MS)),
        Bound(name="memory of the service under attack, MB", value=max(rss_mb), limit=RSS_MB),
        Bound(name="requests of the victim refused", value=float(victim.codes.total() - victim.codes["OK"]), limit=0),
    ]
    return figures, bounds


def main(
    seconds: Annotated[float, typer.Option(help="Seconds to measure alone; twice as many beside the attackers.")] = 20,
    records: Annotated[int, typer.Option(help="Records in the store.")] = RECORDS,
) -> None:
    """Measure, print the JSON document, and exit 1 if a bound is missed."""
    with server() as url:
        figures, bounds = asyncio.run(_measure(url, records=records, seconds=seconds))
        report("fairness", figures, bounds=bounds, machine=machine(url))


if __name__ == "__main__":
    typer.run(main)
