"""Measure the cost of the change feed for writers: the same transactions with and without their rows of the log."""

from __future__ import annotations

import asyncio
import re
import subprocess
import tempfile
from typing import Annotated, Any

import typer
from graphs import BARE_WRITE, LOGGED_WRITE, Filled
from harness import machine, percentile, progress, report, server, store, trust

from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.store.feed.consumer import Feed

CLIENTS = 8
ROUNDS = 4
ROWS = {"one row": 1, "twenty rows": 20}  # changed by one transaction; a capture writes about eighteen


async def _measure(url: str, *, records: int, seconds: int) -> dict[str, Any]:
    async with store(url, "feed") as where:
        caller = await where.directory.resolve(trust())
        with progress() as bars:
            await Filled(where=where, mirror=None, caller=caller, records=records, per_record=0).fill_truth(bars)
        taking = asyncio.create_task(_take_snapshots(Feed(where.database, "bench")))
        scripts = {
            (size, kind): _script(statement.format(tenant=caller.tenant.id, n=":n"), rows, records)
            for size, rows in ROWS.items()
            for kind, statement in (("without", BARE_WRITE), ("with", LOGGED_WRITE))
        }
        rates: dict[tuple[str, str], list[float]] = {key: [] for key in scripts}
        try:
            with progress() as bars:
                bar = bars.add_task("writing", total=ROUNDS * len(scripts))
                for _ in range(ROUNDS):
                    for key, script in scripts.items():
                        rates[key].append(await asyncio.to_thread(_run, where.url, script, seconds))
                        bars.advance(bar)
        finally:
            taking.cancel()
    figures: dict[str, Any] = {"records": records, "clients": CLIENTS}
    for size in ROWS:
        without, with_ = (percentile(rates[size, kind], 0.5) for kind in ("without", "with"))
        figures[size] = {
            "transactions_per_s_without": round(without),
            "transactions_per_s_with": round(with_),
            "with_over_without": round(with_ / without, 3),
        }
    return figures


async def _take_snapshots(feed: Feed) -> None:
    """Take snapshots as a worker does during the writes."""
    while True:
        await feed.take_snapshot()
        await asyncio.sleep(0.05)


def _script(statement: str, rows: int, records: int) -> str:
    """Return a pgbench script that changes rows in the order of their keys, so that writers never deadlock."""
    return (
        f"\\set first random(0, {records - rows})\n"
        + "BEGIN;\n"
        + "".join(f"\\set n :first + {number}\n{statement};\n" for number in range(rows))
        + "COMMIT;\n"
    )


def _run(url: str, script: str, seconds: int) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        done = subprocess.run(
            [
                *(str(postgres_binaries() / "pgbench"), "-n", "-c", str(CLIENTS), "-T", str(seconds)),
                *("-f", file.name, "--max-tries=10", url),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def main(
    records: Annotated[int, typer.Option(help="Number of records.", min=1_000)] = 20_000,
    seconds: Annotated[int, typer.Option(help="Duration of each run, seconds.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Use 2,000 records and 3 seconds.")] = False,
) -> None:
    """Change one row, and twenty rows, in a transaction by eight clients, with and without logging, in turn.

    Prints one JSON document.
    """
    if quick:
        records, seconds = 2_000, 3
    with server() as url:
        figures = asyncio.run(_measure(url, records=records, seconds=seconds))
        about = machine(url)
    report("feed", figures, bounds=[], machine=about)


if __name__ == "__main__":
    typer.run(main)
