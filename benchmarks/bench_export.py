"""Measure how many records a second an export writes, beside COPY of the same tables, and the memory that it takes."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Annotated, Any

import psutil
import psycopg
import typer
from harness import Bound, Store, filled_stores, machine, people, report, server, summary, trust
from loading import Loader
from obstore.store import MemoryStore
from rich.progress import Progress
from wording import Wording

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.service.garbage import keep_loaded
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import Sensitivity

LEAST_PER_SECOND = 5_000.0  # records
MOST_GROWTH_MB = 150.0  # of the process, over one export
# What an export reads, which COPY reads too.
TABLES = ("record", "salience", "fact", "fact_trim", "episode", "episode_event", "record_history", "audit", "relation")
# One record in five has been changed once and reinforced twice since.
CHANGED = (
    """
    INSERT INTO record_history (tenant, id, row_version, from_at, to_at, type, scope, sensitivity, state, confidence,
      tags, name, text, payload, provenance, interpretation, sealed, occurred_at, version, terms, impacts, validity)
    SELECT tenant, id, 1, created_at - interval '1 hour', created_at, type, scope, sensitivity, state, confidence,
      tags, name, text, payload, provenance, interpretation, sealed, occurred_at, 1, terms, impacts, validity
    FROM record WHERE hashtext(id::text) % 5 = 0
    """,
    """
    INSERT INTO audit (tenant, id, seq, action, actor, at, salience, note_hash, hash)
    SELECT a.tenant, a.id, n, 'reinforce', 'bench', a.at, 1, null, a.hash
    FROM audit a, generate_series(2, 3) AS n WHERE hashtext(a.id::text) % 5 = 0
    """,
    "UPDATE record SET row_version = 2 WHERE hashtext(id::text) % 5 = 0",
)


@dataclass
class Filled:
    """A store with the memories of several agents."""

    where: Store
    tenant: Tenant
    size: int

    async def fill(self, bars: Progress) -> None:
        await Loader(self.where, self.tenant, Wording(self.size)).load(self.size, bars)
        async with await psycopg.AsyncConnection.connect(self.where.url, autocommit=True) as connection:
            for statement in CHANGED:
                await connection.execute(statement)

    def exports(self) -> Exports:
        artifacts = Artifacts(self.where.database, self.where.directory, SystemClock(), Blobs(MemoryStore()))
        return Exports(self.where.database, self.where.directory, SystemClock(), artifacts)


async def _exported(store: Filled, request: ExportRequest, *, ceiling: Sensitivity) -> dict[str, float]:
    """Export once; return the numbers of records and bytes, the seconds, and by how much the process has grown."""
    process = psutil.Process()
    before, began, used = process.memory_info().rss, perf_counter(), process_time()
    records = size = 0
    most = before
    digest = hashlib.sha256()
    async with store.exports().open(trust(ceiling=ceiling), request) as export:
        async for chunk in export.chunks():
            records += chunk.records
            size += len(chunk.data)
            digest.update(chunk.data)
            most = max(most, process.memory_info().rss)
    return {
        "records": records,
        "bytes": size,
        "seconds": perf_counter() - began,
        "processor_seconds": process_time() - used,
        "grown_mb": (most - before) / (1 << 20),
    }


async def _copied(store: Filled) -> float:
    """Copy the tables that an export reads; return the seconds."""
    began = perf_counter()
    async with await psycopg.AsyncConnection.connect(store.where.url) as connection, connection.cursor() as cursor:
        for table in TABLES:
            async with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                async for _ in copy:
                    pass
    return perf_counter() - began


async def _measure(store: Filled, rounds: int) -> dict[str, Any]:
    kinds = {
        "native": (ExportRequest(), Sensitivity.HYPER),
        "native, below a ceiling": (ExportRequest(), Sensitivity.MEDIUM),
        "rfc": (ExportRequest(form=ExportForm.RFC), Sensitivity.HYPER),
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in kinds}
    copies = []
    for _ in range(rounds):
        for name, (request, ceiling) in kinds.items():
            runs[name].append(await _exported(store, request, ceiling=ceiling))
            people.print(name, runs[name][-1])
        copies.append(await _copied(store))
    return {
        "copy_seconds": summary(copies),
        "copied_records_per_second": round(store.size / min(copies)),
        **{
            name: {
                "records": each[0]["records"],
                "bytes": each[0]["bytes"],
                "records_per_second": summary([one["records"] / one["seconds"] for one in each]),
                "records_per_processor_second": round(
                    each[0]["records"] / min(one["processor_seconds"] for one in each)
                ),
                "times_copy": round(min(one["seconds"] for one in each) / min(copies), 2),
                "grown_mb": round(max(one["grown_mb"] for one in each), 1),
            }
            for name, each in runs.items()
        },
    }


async def _run(size: int, rounds: int, url: str) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        stores = await filled_stores(stack, url, [size], Filled)
        return await _measure(stores[size], rounds)


def main(
    size: Annotated[int, typer.Option(help="Records.")] = 100_000,
    rounds: Annotated[int, typer.Option(help="Exports of each kind.")] = 3,
) -> None:
    """Export a store of words, facts, entities and threads in 30 scopes and four sensitivities, a quarter encrypted."""
    keep_loaded()  # as the service does
    with server() as url:
        about = machine(url)
        figures = asyncio.run(_run(size, rounds, url))
    native = figures["native"]
    bounds = [
        Bound(
            name="least records a second in the native form, as a share",
            value=round(LEAST_PER_SECOND / native["records_per_second"]["max"], 3),  # of the least disturbed run
            limit=1.0,
        ),
        Bound(name="growth of the process, MB", value=native["grown_mb"], limit=MOST_GROWTH_MB),
    ]
    report("export", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
