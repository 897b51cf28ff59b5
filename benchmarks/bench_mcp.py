"""Measure `recall` by MCP, over standard input and output and over HTTP, beside the same question over GraphQL."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import httpx
import typer
from bench_wire import Bench
from harness import Bound, machine, people, progress, report, summary
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from shipped_service import UNTHROTTLED, shipped_service
from wire_client import WireClient
from workload import Workload

from stratagraph.service.mcp.tools import LIMIT, TOKEN_BUDGET
from stratagraph_client.requests import document_of

TIMES = 2.0  # the median of the request over GraphQL, at most
WARMED_BY = 20  # requests of each kind that are not counted: connections, and models that are built at their first use
COMMAND = str(Path(sys.executable).parent / "stratagraph")
GRAPHQL = "GraphQL by httpx"
Case = Callable[[int], Awaitable[object]]


def main(
    records: Annotated[int, typer.Option(help="Captures that are stored beforehand.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Requests of each kind.")] = 200,
) -> None:
    """Ask the same questions in turn by the SDK's client and by httpx, over connections that are kept."""
    with shipped_service(UNTHROTTLED) as service, WireClient(service.url) as client:
        workload = Workload(1)
        Bench(service, client, workload).fill(records)
        questions = workload.questions(rounds)
        took = asyncio.run(_measured(service.url, service.directory, questions))
        about = machine(service.database_url) | {"load": round(os.getloadavg()[0], 1)}
    figures: dict[str, Any] = {name: summary(times) for name, times in took.items()}
    bounds = []
    for name in took:
        if name != GRAPHQL:
            times = round(figures[name]["p50"] / figures[GRAPHQL]["p50"], 3)
            figures[name]["times_graphql"] = times
            bounds.append(Bound(name=f"recall by {name}, times the request over GraphQL", value=times, limit=TIMES))
    people.print(figures)
    report("mcp", figures, bounds=bounds, machine=about)


async def _measured(url: str, directory: Path, questions: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds that each request took, by what sent it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    local = kept | {"STRATAGRAPH_DATA_DIR": str(directory)}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient())

        async def by_graphql(number: int) -> None:
            asked = {
                "taskDescriptor": questions[number],
                "rootLimit": LIMIT,
                "nodeLimit": LIMIT,
                "maxHops": 0,
                "tokenBudget": TOKEN_BUDGET,
                "citationStyle": "NUMBER",
            }
            body = {"query": document_of("Recall"), "operationName": "Recall", "variables": {"input": asked}}
            answer = (await http.post(f"{url}/graphql", json=body)).json()
            assert answer["data"]["retrieveGraph"]["retrievalId"]

        async def by_mcp(target: Any) -> Case:
            client: Client = await stack.enter_async_context(Client(target))

            async def ask(number: int) -> None:
                found = await client.call_tool("recall", {"query": questions[number]})
                assert found.structured_content["retrieval_id"]

            return ask

        def started(environment: dict[str, str], *arguments: str) -> Any:
            return stdio_client(StdioServerParameters(command=COMMAND, args=["mcp", *arguments], env=environment))

        cases: dict[str, Case] = {
            GRAPHQL: by_graphql,
            "MCP at /mcp": await by_mcp(f"{url}/mcp"),
            "MCP over stdio, the data directory": await by_mcp(started(local)),
            "MCP over stdio, --url": await by_mcp(started(kept, "--url", url)),
        }
        return await _in_turn(cases, len(questions))


async def _in_turn(cases: dict[str, Case], rounds: int) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {name: [] for name in cases}
    order = list(cases)
    with progress() as bars:
        bar = bars.add_task("requests", total=rounds)
        for number in range(-WARMED_BY, rounds):
            order.append(order.pop(0))  # so that none always follows the same one
            for name in order:
                began = perf_counter()
                await cases[name](number)
                if number >= 0:
                    took[name].append((perf_counter() - began) * 1_000)
            bars.advance(bar)
    return took


if __name__ == "__main__":
    typer.run(main)
