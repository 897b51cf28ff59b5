"""Measure what the Python client adds to a raw request over HTTP, for `recall` and `remember`, async and sync."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Annotated, Any
from uuid import uuid4

import httpx
import typer
from bench_wire import Bench
from harness import Bound, machine, people, progress, report, summary
from shipped_service import UNTHROTTLED, shipped_service
from wire_client import WireClient
from workload import Workload

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.requests import document_of

ADDS = 1.15  # times the median of the raw request, at most
Case = Callable[[int], Awaitable[object]]


def main(
    records: Annotated[int, typer.Option(help="Captures that are stored beforehand.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Requests of each kind.")] = 300,
) -> None:
    """Send the same requests by the client and by httpx in turn, over connections that are kept."""
    with shipped_service(UNTHROTTLED) as service, WireClient(service.url) as client:
        workload = Workload(1)
        Bench(service, client, workload).fill(records)
        questions = workload.questions(rounds)
        took = asyncio.run(_measured(service.url, questions))
        about = machine(service.database_url)
    figures: dict[str, Any] = {name: summary(times) for name, times in took.items()}
    bounds = []
    for operation in ("recall", "remember"):
        for kind in ("AsyncMemory", "Memory"):
            # of each pair of requests, which met the same load; the quotient of two medians would vary with it
            pairs = zip(took[f"{operation}, {kind}"], took[f"{operation}, httpx"], strict=True)
            added = statistics.median(ours - raw for ours, raw in pairs)
            times = round(1 + added / statistics.median(took[f"{operation}, httpx"]), 3)
            figures[f"{operation}, {kind}"]["times_raw"] = times
            bounds.append(Bound(name=f"{operation} by {kind}, times the raw request", value=times, limit=ADDS))
    people.print(figures)
    report("clients", figures, bounds=bounds, machine=about)


async def _measured(url: str, questions: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds that each request took, by what was asked and what sent it."""
    async with httpx.AsyncClient() as http, AsyncMemory(url) as memory:
        with Memory(url) as blocking:
            cases = _cases(url, http, memory, blocking, questions)
            took: dict[str, list[float]] = {name: [] for name in cases}
            order = list(cases)
            with progress() as bars:
                bar = bars.add_task("requests", total=len(questions))
                for number in range(-10, len(questions)):  # the first ten are not counted: connections and models
                    order.append(order.pop(0))  # so that none always follows the same one
                    for name in order:
                        began = perf_counter()
                        await cases[name](number)
                        if number >= 0:
                            took[name].append((perf_counter() - began) * 1_000)
                    bars.advance(bar)
    return took


def _cases(
    url: str, http: httpx.AsyncClient, memory: AsyncMemory, blocking: Memory, questions: list[str]
) -> dict[str, Case]:
    async def raw_recall(number: int) -> None:
        input_ = {
            "taskDescriptor": questions[number],
            "rootLimit": 10,
            "nodeLimit": 10,
            "maxHops": 0,
            "tokenBudget": 1_000,
            "citationStyle": "NUMBER",
            "atLeastSequence": memory.sequence,  # the client asks to see its own writes, which takes the service longer
        }
        answer = await _post(http, url, "Recall", input_)
        assert answer["data"]["retrieveGraph"]["retrievalId"]

    async def raw_remember(number: int) -> None:
        input_ = {
            "source": "bench",
            "memory": {"note": {"text": f"The raw request {number} was sent"}},
            "idempotencyKey": str(uuid4()),
        }
        answer = await _post(http, url, "Remember", input_)
        assert answer["data"]["remember"]["primaryRecord"]["id"]

    async def recall(number: int) -> None:
        assert (await memory.recall(questions[number])).retrieval_id

    async def remember(number: int) -> None:
        assert (await memory.remember(f"The async client sent {number}")).id

    async def blocking_recall(number: int) -> None:
        assert blocking.recall(questions[number]).retrieval_id

    async def blocking_remember(number: int) -> None:
        assert blocking.remember(f"The sync client sent {number}").id

    return {
        "recall, httpx": raw_recall,
        "recall, AsyncMemory": recall,
        "recall, Memory": blocking_recall,
        "remember, httpx": raw_remember,
        "remember, AsyncMemory": remember,
        "remember, Memory": blocking_remember,
    }


async def _post(http: httpx.AsyncClient, url: str, name: str, input_: dict[str, Any]) -> dict[str, Any]:
    body = {"query": document_of(name), "operationName": name, "variables": {"input": input_}}
    answer: dict[str, Any] = (await http.post(f"{url}/graphql", json=body)).json()
    return answer


if __name__ == "__main__":
    typer.run(main)
