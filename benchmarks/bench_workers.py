"""Measure what further workers bring: throughput, memory and idle time of services with one and with several."""

from __future__ import annotations

import os
import statistics
from contextlib import ExitStack
from time import monotonic
from typing import Annotated, Any

import typer
from bench_wire import Bench, Case, Measured
from harness import Bound, machine, people, progress, report
from rich.table import Table
from shipped_service import UNTHROTTLED, shipped_service
from wire_client import WireClient
from wire_figures import CLIENTS
from workload import Workload

RATIO = 1.2  # least throughput of two workers on two cores, as a multiple of one
MEMORY_MB = 300.0  # of a process, where pages that several share are divided among them
IDLE_PERCENT = 1.0  # of a core, for each process


def main(
    records: Annotated[int, typer.Option(help="Captures that are stored beforehand.")] = 10_000,
    workers: Annotated[list[int], typer.Option(help="Workers besides one; repeat it for more.")] = [2],  # noqa: B006 typer copies it
    rounds: Annotated[int, typer.Option(help="Rounds of all cases.")] = 9,
    idle: Annotated[float, typer.Option(help="Seconds for which the idle services are watched.")] = 60.0,
) -> None:
    """Compare services with one worker and with several, each with a Postgres of its own, in turn.

    Client, service and Postgres share the cores: where these are few, they and not the workers bound the throughput.
    The memory of a process is given as resident (which counts what it shares with others in each) and as its own part.
    """
    counts = [1, *workers]
    with ExitStack() as stack:
        benches, start_s = {}, {}
        for count in counts:
            began = monotonic()
            service = stack.enter_context(shipped_service(UNTHROTTLED | {"workers": str(count)}))
            start_s[count] = round(monotonic() - began, 1)
            client = stack.enter_context(WireClient(service.url))
            benches[count] = Bench(service, client, Workload(1))
        about = machine(benches[1].service.database_url) | {"load": round(os.getloadavg()[0], 1)}
        for bench in benches.values():
            bench.fill(records)
            bench.service.settle()
        cases: dict[int, dict[str, Case]] = {
            count: {
                "retrieve, 1 hop": bench.retrievals(1, 6 * CLIENTS, CLIENTS),
                "retrieve, 3 hops": bench.retrievals(3, 6 * CLIENTS, CLIENTS),
                "capture": bench.captures(6 * CLIENTS, CLIENTS),
            }
            for count, bench in benches.items()
        }
        measured: dict[int, dict[str, list[Measured]]] = {
            count: {name: [] for name in own} for count, own in cases.items()
        }
        with progress() as bars:
            bar = bars.add_task("measuring", total=rounds)
            for number in range(rounds + 1):
                for name in cases[1]:
                    for count in counts if number % 2 else reversed(counts):
                        took = Measured()
                        benches[count].run(cases[count][name], took)
                        if number:  # the first round warms up
                            measured[count][name].append(took)
                bars.update(bar, completed=number)
        figures: dict[str, Any] = {
            "captures": records,
            "clients": CLIENTS,
            "start_s": {str(count): seconds for count, seconds in start_s.items()},
            "throughput": _throughput(measured),
            "memory": {str(count): bench.service.memory() for count, bench in benches.items()},
            "idle": {str(count): bench.service.idle_processes(idle) for count, bench in benches.items()},
        }
    people.print(_table(figures["throughput"]), figures["memory"], figures["idle"], start_s)
    bounds = [
        Bound(name=f"MB of {one['process']}, {count} workers", value=one["part_mb"], limit=MEMORY_MB)
        for count, memory in figures["memory"].items()
        for one in memory
    ]
    bounds += [
        Bound(
            name=f"idle percent of a core, {one['process']}, {count} workers", value=one["percent"], limit=IDLE_PERCENT
        )
        for count, idle_ in figures["idle"].items()
        for one in idle_
    ]
    if 2 in workers:
        bounds += [
            Bound(name=f"1.2 times one worker, as a share of two: {name}", value=RATIO / row["ratio"]["2"], limit=1.0)
            for name, row in figures["throughput"].items()
        ]
    report("workers", figures, bounds=bounds, machine=about)


def _throughput(measured: dict[int, dict[str, list[Measured]]]) -> dict[str, Any]:
    """Return per case and number of workers: requests a second, and the median of the rounds' ratios to one worker."""
    found: dict[str, Any] = {}
    for name in measured[1]:
        rates = {count: [one.items / one.wall_s for one in own[name]] for count, own in measured.items()}
        used = {count: [one.usage for one in own[name]] for count, own in measured.items()}
        items = {count: sum(one.items for one in own[name]) for count, own in measured.items()}
        found[name] = {
            "per_second": {str(count): round(statistics.median(one), 1) for count, one in rates.items()},
            "ratio": {
                str(count): round(statistics.median(a / b for a, b in zip(one, rates[1], strict=True)), 2)
                for count, one in rates.items()
            },
            "service_cpu_ms": {
                str(count): round(1_000 * sum(one.service_s for one in used[count]) / items[count], 2) for count in used
            },
            "postgres_cpu_ms": {
                str(count): round(1_000 * sum(one.postgres_s for one in used[count]) / items[count], 2)
                for count in used
            },
        }
    return found


def _table(throughput: dict[str, Any]) -> Table:
    table = Table(title=f"{CLIENTS} clients", title_justify="left")
    for heading in ("", "workers", "a second", "times one", "service CPU ms", "Postgres CPU ms"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for name, row in throughput.items():
        for count, rate in row["per_second"].items():
            table.add_row(
                *(name, count, str(rate), str(row["ratio"][count])),
                *(str(row["service_cpu_ms"][count]), str(row["postgres_cpu_ms"][count])),
            )
    return table


if __name__ == "__main__":
    typer.run(main)
