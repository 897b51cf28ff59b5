"""Long mixed load with attackers: memory does not grow, the queues end empty, and others are served throughout.

Takes 30 minutes, or as many as STRATAGRAPH_TEST_FAIRNESS_MINUTES says.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from fix_memory import until
from fix_service import Client, run_command, running

MINUTES = float(os.environ.get("STRATAGRAPH_TEST_FAIRNESS_MINUTES", "30"))
GROWTH = 1.25  # times the memory of the first third that the last third may have, and
GROWTH_MB = 40.0  # this much besides, for caches that fill
WIDEST = {"taskDescriptor": "report", "rootLimit": 100, "nodeLimit": 1_000, "edgeLimit": 5_000, "maxHops": 6}
RETRIEVE = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { nodes { record { id name text payload relations { id } } } edges { id } } } }"""
CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename } }"""
EXPECTED = {"OK", "RATE_LIMITED", "LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "INVALID_INPUT"}


def aliases(count: int) -> str:
    fields = " ".join(f"a{number}: retrieveGraph(input: $input) {{ __typename }}" for number in range(count))
    return f"query($input: RetrieveGraphInput!) {{ {fields} }}"


def turns(pick: random.Random, count: int) -> dict[str, Any]:
    return {
        "items": [
            {
                "source": "soak",
                "sourceKind": "AGENT_TURN",
                "content": {
                    "role": "user",
                    "thread_id": f"t{pick.randrange(50)}",
                    "text": f"report {pick.randrange(1_000)} of the team {pick.randrange(20)} about the build",
                },
            }
            for _ in range(count)
        ]
    }


async def send(client: Client, token: str, codes: Counter[str], document: str, variables: dict[str, Any]) -> None:
    answer = await client(document, token, **variables)
    codes[answer["errors"][0]["extensions"]["code"] if "errors" in answer else "OK"] += 1


async def attack(client: Client, token: str, seed: int, codes: Counter[str]) -> None:
    """Send the most expensive reads, floods, large bodies and broken requests, without end."""
    pick = random.Random(seed)
    while True:
        kind = pick.randrange(6)
        if kind == 0:
            await send(client, token, codes, RETRIEVE, {"input": WIDEST})
        elif kind == 1:
            await send(client, token, codes, aliases(20), {"input": WIDEST})
        elif kind == 2:
            await send(client, token, codes, aliases(20), {"input": {"taskDescriptor": "report"}})
        elif kind == 3:
            await send(client, token, codes, RETRIEVE, {"input": {"taskDescriptor": "x" * 2_000_000}})
        elif kind == 4:
            await send(
                client, token, codes, f"{{ records(first: {pick.randrange(1_000_000)}) {{ nodes {{ id }} }} }}", {}
            )
        else:
            asked = asyncio.create_task(send(client, token, Counter(), RETRIEVE, {"input": WIDEST}))
            await asyncio.sleep(pick.random() / 10)
            asked.cancel()  # the client hangs up
            await asyncio.wait([asked])


async def work(client: Client, token: str, seed: int, codes: Counter[str], until_s: float) -> None:
    """Capture and retrieve as an agent does, within its budget."""
    pick = random.Random(seed)
    while time.monotonic() < until_s:
        await send(client, token, codes, CAPTURE, {"input": turns(pick, 3)})
        await send(client, token, codes, RETRIEVE, {"input": {"taskDescriptor": "the build report of a team"}})
        await asyncio.sleep(1.5)  # the agent thinks


@pytest.mark.soak
async def test_mixed_load_with_attackers_leaves_no_trace_in_the_service(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data"), log_level="warning") as service:
        assert service.url is not None

        async def key(name: str, access: str) -> str:
            status, out, err = await run_command(
                *("token", "create", name, "--access", access, "--scope", "*", "--json"), env=service.environment
            )
            assert status == 0, err
            token: str = json.loads(out)["token"]
            return token

        attackers = [await key(f"attacker-{number}", "read") for number in range(3)]
        agent = await key("agent", "write")
        process, rss_mb = psutil.Process(service.process.pid), list[float]()
        attacked, served = Counter[str](), Counter[str]()
        async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None)) as http:
            client = Client(http, service.url)
            filler = random.Random(0)
            for _ in range(5):
                await send(client, agent, served, CAPTURE, {"input": turns(filler, 100)})
            end = time.monotonic() + MINUTES * 60
            tasks = [
                asyncio.create_task(attack(client, token, 10 * number + lane, attacked))
                for number, token in enumerate(attackers)
                for lane in range(6)
            ]

            async def watch() -> None:
                while True:
                    rss_mb.append(process.memory_info().rss / 1e6)
                    await asyncio.sleep(1)

            tasks.append(asyncio.create_task(watch()))
            await work(client, agent, 1, served, end)
            failed = [task for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            assert not failed, failed[0].exception()
            assert set(served) == {"OK"}, served
            assert set(attacked) <= EXPECTED, attacked
            assert attacked["RATE_LIMITED"]

            async def queues_are_empty() -> bool:
                """A fresh heavy operation needs each kind of slot, and is answered without waiting behind others."""
                return (await client(RETRIEVE, agent, input={**WIDEST, "nodeLimit": 100}))["data"] is not None

            await until(queues_are_empty)
            with psycopg.connect(database_url, autocommit=True) as connection:

                async def nothing_runs() -> bool:
                    row = connection.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stratagraph'"
                        " AND datname = current_database() AND state <> 'idle' AND xact_start < now() - interval '1 s'"
                    ).fetchone()
                    return row == (0,)

                await until(nothing_runs)
        third = len(rss_mb) // 3
        first, last = max(rss_mb[:third]), max(rss_mb[-third:])
        print(f"memory {first:.0f} to {last:.0f} MB; attackers {dict(attacked)}; the agent {dict(served)}")
        assert last <= GROWTH * first + GROWTH_MB
        assert await asyncio.to_thread(service.stop) == 0
