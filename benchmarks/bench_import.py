"""Measure how many records a second an import of an export stores, what a second run takes, and the memory."""

from __future__ import annotations

import asyncio
import resource
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

import typer
from bench_export import Filled
from harness import Bound, filled_stores, machine, people, report, server, store, trust
from obstore.store import MemoryStore

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.exports import ExportRequest
from stratagraph.memory.transfer.restoring import RecordImport
from stratagraph.service.garbage import keep_loaded
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.model.clock import SystemClock

LEAST_PER_SECOND = 1_500.0  # records
MOST_GROWTH_MB = 200.0  # of the process, over one import


async def _run(size: int, url: str, folder: Path) -> dict[str, Any]:
    path = folder / "export.jsonl"
    async with AsyncExitStack() as stack:
        filled = (await filled_stores(stack, url, [size], Filled))[size]
        with path.open("wb") as file:
            async with filled.exports().open(trust(), ExportRequest()) as export:
                async for chunk in export.chunks():
                    file.write(chunk.data)
        target = await stack.enter_async_context(store(url, "bench_import"))
        artifacts = Artifacts(target.database, target.directory, SystemClock(), Blobs(MemoryStore()))
        service = RecordImport(target.database, target.directory, artifacts)
        figures: dict[str, Any] = {"bytes": path.stat().st_size}
        for name in ("first", "again"):
            before, began, used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, perf_counter(), process_time()
            done = await service.run(trust(), path)
            seconds = perf_counter() - began
            records = done.stored.total() + done.unchanged
            figures[name] = {
                "records": records,
                "new": done.stored.total(),
                "relations": done.relations,
                "refused": done.refusals,
                "seconds": round(seconds, 2),
                "processor_seconds": round(process_time() - used, 2),
                "records_per_second": round(records / seconds),
                "grown_mb": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, 1),
            }
            people.print(name, figures[name], [one.reason for one in done.refused[:3]])
        return figures


def main(size: Annotated[int, typer.Option(help="Records.")] = 100_000) -> None:
    """Import an export of words, facts, entities and threads, of which one in five was changed, a quarter encrypted."""
    keep_loaded()  # as the service does
    with server() as url, tempfile.TemporaryDirectory() as folder:
        about = machine(url)
        figures = asyncio.run(_run(size, url, Path(folder)))
    first = figures["first"]
    bounds = [
        Bound(
            name="least records a second, as a share",
            value=round(LEAST_PER_SECOND / first["records_per_second"], 3),
            limit=1.0,
        ),
        Bound(name="growth of the process, MB", value=first["grown_mb"], limit=MOST_GROWTH_MB),
    ]
    report("import", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
