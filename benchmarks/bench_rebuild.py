"""Measure the duration and the memory of a rebuild of the mirror."""

from __future__ import annotations

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from graphs import Filled, mirror_in, neo4j_server
from harness import machine, progress, report, server, store, trust

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.service.local_neo4j import LocalServer


async def _measure(url: str, neo4j: LocalServer, *, records: int, per_record: int) -> dict[str, Any]:
    async with store(url, "rebuild") as where, mirror_in(neo4j, Mirror) as mirror:
        filled = Filled(
            where=where,
            mirror=mirror,
            caller=await where.directory.resolve(trust()),
            records=records,
            per_record=per_record,
        )
        with progress() as bars:
            await filled.fill_truth(bars)
        before = _peak_mb()
        worker = SyncWorker(where.database, where.directory, mirror, SyncConfig())
        figures: dict[str, Any] = {"records": records, "relations": per_record * records}
        for name in ("into an empty mirror", "over a full one"):
            if name == "over a full one":
                await worker.maintenance.begin_rebuild(None, reason="a benchmark")
            began = time.monotonic()
            rows = await _rebuilt(worker, records * (1 + per_record))
            took = time.monotonic() - began
            figures[name] = {"rows": rows, "seconds": round(took, 1), "rows_per_s": round(rows / took)}
        for name, deep in (("verify", False), ("verify --deep", True)):
            began, cpu_s = time.monotonic(), _cpu_s()
            found = await worker.checker.verify(deep=deep)
            took = time.monotonic() - began
            figures[name] = {
                "rows": found.rows,
                "elements": found.elements,
                "seconds": round(took, 1),
                # The scrub compares the same in ROUND_S, so its share of one core is this divided by ROUND_S.
                "cpu_s": {process: round(now - cpu_s[process], 1) for process, now in _cpu_s().items()},
                "differences": len(found.differences),
            }
        await worker.release()
        figures["worker_peak_mb"] = {"before": before, "after": _peak_mb()}
        figures["neo4j_resident_mb"] = _neo4j_mb()
    return figures


async def _rebuilt(worker: SyncWorker, total: int) -> int:
    rows = 0
    with progress() as bars:
        bar = bars.add_task("writing afresh", total=total)

        async def page(done: int) -> None:
            nonlocal rows
            rows = done
            bars.update(bar, completed=done)

        assert (await worker.maintenance.run_once(on_page=page)).rebuilt
    return rows


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024


def _cpu_s() -> dict[str, float]:
    """Return the processor time used so far by this process and, with /proc, by Neo4j, seconds."""
    used = {"worker": time.process_time()}
    process = _neo4j()
    if process is not None:
        ticks = (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        used["neo4j"] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return used


def _neo4j_mb() -> int | None:
    """Return the resident memory of the server's process, MB; None without /proc."""
    process = _neo4j()
    return int((process / "status").read_text().split("VmRSS:")[1].split()[0]) // 1_024 if process is not None else None


def _neo4j() -> Path | None:
    """Return the directory of the server's process in /proc; None without /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if "stratagraph-bench-neo4j-" in (process / "cmdline").read_text():
                return process
        except OSError:
            continue
    return None


def main(
    records: Annotated[int, typer.Option(help="Number of records.", min=1_000)] = 1_000_000,
    per_record: Annotated[int, typer.Option(help="Relations from each record.")] = 1,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "2g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "1g",
    quick: Annotated[bool, typer.Option("--quick", help="Use 5,000 records.")] = False,
) -> None:
    """Rebuild the mirror in an empty Neo4j and over a full one, then compare both sides.

    Prints one JSON document.
    """
    with server() as url, neo4j_server(heap, page_cache) as neo4j:
        figures = asyncio.run(_measure(url, neo4j, records=5_000 if quick else records, per_record=per_record))
        about = machine(url)
    report("rebuild", figures, bounds=[], machine=about)


if __name__ == "__main__":
    typer.run(main)
