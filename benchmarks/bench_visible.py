"""Measure the time from a commit until the change is in the mirror, at a steady rate of writes."""

from __future__ import annotations

import asyncio
import base64
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psycopg
import typer
from graphs import LOGGED_WRITE, Filled, mirror_in, neo4j_server
from harness import machine, percentile, progress, report, server, store, trust

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.service.local_neo4j import LocalServer
from stratagraph.service.local_neo4j.password import USER


@dataclass(frozen=True)
class Rate:
    """`writes` a second, `batch` of them in each transaction."""

    writes: int
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.writes} writes/s" + (f", {self.batch} a transaction" if self.batch > 1 else "")


RATES = (Rate(100), Rate(500), Rate(500, batch=25))
EACH = 125  # transactions a second by one writer; one connection does not do more
WARM_S = 5.0


@dataclass
class Writer:
    """Changes its records in turn at a steady rate, in a thread. `newest` is its last commit: id, version, time."""

    url: str
    tenant: int
    records: range
    rate: float
    batch: int
    newest: tuple[UUID, int, float] | None = None
    written: int = 0
    stopped: bool = False

    def run(self) -> None:
        statement = LOGGED_WRITE.format(tenant=self.tenant, n="%(n)s") + " RETURNING id, version"
        with psycopg.connect(self.url, autocommit=True) as connection:
            began, n = time.monotonic(), 0
            while not self.stopped:
                with connection.transaction():
                    for _ in range(self.batch):
                        chosen = {"n": self.records[n % len(self.records)]}
                        row = connection.execute(statement.encode(), chosen).fetchone()
                        n += 1
                assert row is not None
                self.newest = (row[0], row[1], time.monotonic())
                self.written = n
                time.sleep(max(0.0, began + n / self.rate - time.monotonic()))


def _writers(url: str, tenant: int, records: int, rate: Rate) -> list[Writer]:
    """Return the writers that the rate needs; each has records of its own."""
    many = math.ceil(rate.writes / rate.batch / EACH)
    return [Writer(url, tenant, range(first, records, many), rate.writes / many, rate.batch) for first in range(many)]


@contextmanager
def following(url: str, neo4j: LocalServer) -> Iterator[int]:
    """Run `stratagraph sync run` in a process of its own; yield its id."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "stratagraph"), "sync", "run"],
            env=os.environ
            | {
                "STRATAGRAPH_DATABASE_URL": url,
                "STRATAGRAPH_NEO4J_URI": neo4j.bolt,
                "STRATAGRAPH_NEO4J_USER": USER,
                "STRATAGRAPH_NEO4J_PASSWORD": neo4j.password_file.read_text().strip(),
                "STRATAGRAPH_MASTER_KEY": base64.b64encode(bytes(32)).decode(),
                "STRATAGRAPH_DATA_DIR": directory,
                "STRATAGRAPH_LOG_LEVEL": "error",
                "STRATAGRAPH_EMBEDDER": "off",
            },
            stdout=subprocess.DEVNULL,
        )
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)


async def _watched(mirror: Mirror, writers: Sequence[Writer], seconds: float) -> list[float]:
    """Wait for the newest write of each writer in turn; return the times in ms, without those of the first WARM_S."""
    took: list[float] = []
    version = "MATCH (n:Mirrored {ten: $ten, id: $id}) RETURN n.ver AS ver"
    count_from = time.monotonic() + WARM_S
    turns = cycle(writers)
    while time.monotonic() < count_from + seconds:
        writer = next(turns)
        sample, writer.newest = writer.newest, None
        if sample is None:
            await asyncio.sleep(0.001)
            continue
        id_, wanted, committed = sample
        while (await mirror.read(version, {"ten": writer.tenant, "id": str(id_)}))[0]["ver"] < wanted:  # noqa: ASYNC110 - Neo4j sends no event
            await asyncio.sleep(0.001)
        if committed > count_from:
            took.append((time.monotonic() - committed) * 1_000)
    return took


async def measure_visible(
    url: str, neo4j: LocalServer, *, rates: Sequence[Rate], records: int, seconds: float
) -> dict[str, Any]:
    """Return the time from commit to mirror at each rate, the worker in a process of its own."""
    async with store(url, "visible") as where, mirror_in(neo4j, Mirror) as mirror:
        filled = Filled(
            where=where, mirror=mirror, caller=await where.directory.resolve(trust()), records=records, per_record=1
        )
        with progress() as bars:
            await filled.fill_truth(bars)
        worker = SyncWorker(where.database, where.directory, mirror, SyncConfig())
        await worker.run_once()  # rebuilds the mirror
        await worker.release()
        figures: dict[str, Any] = {"records": records}
        with following(where.url, neo4j):
            for rate in rates:
                writers = _writers(where.url, filled.caller.tenant.id, records, rate)
                writing = [asyncio.create_task(asyncio.to_thread(writer.run)) for writer in writers]
                try:
                    took = await _watched(mirror, writers, seconds)
                finally:
                    for writer in writers:
                        writer.stopped = True
                    await asyncio.gather(*writing)
                figures[str(rate)] = {
                    "writes_per_s": round(sum(writer.written for writer in writers) / (seconds + WARM_S)),
                    "samples": len(took),
                    **{f"p{share}_ms": round(percentile(took, share / 100), 1) for share in (50, 95, 99)},
                }
    return figures


def main(
    records: Annotated[int, typer.Option(help="Number of records.", min=1_000)] = 10_000,
    seconds: Annotated[float, typer.Option(help="Duration at each rate, seconds.")] = 30.0,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "1g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "512m",
    quick: Annotated[bool, typer.Option("--quick", help="Use 2,000 records and 10 seconds.")] = False,
) -> None:
    """Change rows at 100 and 500 writes a second, alone and in batches, and poll Neo4j for the changes.

    Prints one JSON document.
    """
    if quick:
        records, seconds = 2_000, 10.0
    with server() as url, neo4j_server(heap, page_cache) as neo4j:
        figures = asyncio.run(measure_visible(url, neo4j, rates=RATES, records=records, seconds=seconds))
        about = machine(url)
    report("visible", figures, bounds=[], machine=about)


if __name__ == "__main__":
    typer.run(main)
