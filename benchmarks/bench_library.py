"""Measure the library form: the time to open a store, and calls in the own process beside the same calls over HTTP."""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from harness import Bound, machine, people, progress, report
from shipped_service import UNTHROTTLED, shipped_service
from workload import Workload

import stratagraph
from stratagraph_client import AsyncMemory
from stratagraph_client.operations.input_types import CaptureMemoriesInput

BATCH = 500  # captures
TIMES_HTTP = 1.25  # how much longer than over HTTP a call may take at the median
OPEN = """
import sys, time
began = time.perf_counter()
import stratagraph
with stratagraph.open(sys.argv[1]) as memory:
    opened = time.perf_counter()
    memory.recall("anything")
    print(opened - began, time.perf_counter() - began, time.process_time())
"""


def main(
    records: Annotated[int, typer.Option(help="Captures that are stored beforehand.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Rounds of calls; and a tenth as many openings.")] = 100,
) -> None:
    """Call stores with the same memories in turn: in this process, and of a service with one worker over HTTP.

    A process that has joined a store is measured as it opens, beside processes that hold theirs.
    """
    directory = Path(tempfile.mkdtemp(prefix="stratagraph-bench-"))
    try:
        with shipped_service(UNTHROTTLED | {"workers": "1"}) as service:
            about = machine(service.database_url) | {"load": round(os.getloadavg()[0], 1)}
            calls = asyncio.run(_calls(service.url, directory / "filled", records, rounds))
            empty = [directory / f"empty{number}" for number in range(max(2, rounds // 30))]
            opening = {
                "empty path": _open(empty),
                "filled path": _open([directory / "filled"] * max(3, rounds // 10)),
                "joined": _open([service.directory] * max(3, rounds // 10)),
            }
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    figures = {"open_s": opening, "call_ms": calls}
    people.print(figures)
    ratio = calls["recall"]["own process"]["p50"] / calls["recall"]["HTTP"]["p50"]
    bounds = [Bound(name="recall in the own process, times that over HTTP", value=round(ratio, 2), limit=TIMES_HTTP)]
    report("library", figures, bounds=bounds, machine=about)


async def _calls(url: str, path: Path, records: int, rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return the milliseconds of calls by what is called and by whom."""
    workload = Workload(1)
    captures = workload.captures(records)
    questions = workload.questions(rounds)
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(stratagraph.open(path))
        clients = {
            "own process": own,
            "HTTP": await stack.enter_async_context(AsyncMemory(url)),
        }
        for client in clients.values():
            await _fill(client, captures)
        took: dict[str, dict[str, list[float]]] = {
            what: {who: [] for who in clients} for what in ("recall", "remember")
        }
        with progress() as bars:
            bar = bars.add_task("calling", total=rounds)
            for number, question in enumerate(questions):
                for who, client in clients.items():
                    took["recall"][who].append(await _timed(partial(client.recall, question)))
                    text = f"{question} {number}"
                    took["remember"][who].append(await _timed(partial(client.remember, text)))
                bars.advance(bar)
    return {
        what: {who: _percentiles([1_000 * one for one in times]) for who, times in by_client.items()}
        for what, by_client in took.items()
    }


async def _fill(client: AsyncMemory, captures: Sequence[Mapping[str, Any]]) -> None:
    """Store the captures in batches."""
    for first in range(0, len(captures), BATCH):
        batch = CaptureMemoriesInput.model_validate({"items": captures[first : first + BATCH]})
        await client.operations.capture_memories(batch, timeout_s=300)


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await call()
    return perf_counter() - began


def _open(paths: list[Path]) -> dict[str, float]:
    """Return the seconds that a new process takes from its first import to an open store, and to its first answer.

    `cpu` is the processor time of the process until then.
    """
    names = ("open", "first answer", "cpu")
    took: dict[str, list[float]] = {name: [] for name in names}
    for path in paths:
        env = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
        printed = subprocess.run(
            [sys.executable, "-c", OPEN, str(path)],
            env=env | {"STRATAGRAPH_EMBEDDER": "off"},
            capture_output=True,
            check=True,
        ).stdout
        for name, seconds in zip(names, map(float, printed.split()), strict=True):
            took[name].append(seconds)
    return {name: round(statistics.median(seconds), 2) for name, seconds in took.items()}


def _percentiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 1),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 1),
    }


if __name__ == "__main__":
    typer.run(main)
