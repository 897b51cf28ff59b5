"""Measure how long commands take beside a running service: seconds, and processor seconds of the command itself."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import orjson
import typer
from bench_wire import Bench
from harness import Bound, machine, people, progress, report
from shipped_service import UNTHROTTLED, shipped_service
from wire_client import WireClient
from workload import Workload

WALL_S = 0.4


def main(
    records: Annotated[int, typer.Option(help="Captures that are stored beforehand.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Runs of each command.")] = 9,
) -> None:
    """Run each command beside a service in turn, with `python -c pass` as the floor, and once without the socket.

    Without the socket, a command composes the service in its own process, as those for operators do.
    """
    with shipped_service(UNTHROTTLED) as service, WireClient(service.url) as client:
        about = machine(service.database_url) | {"load": round(os.getloadavg()[0], 1)}
        workload = Workload(1)
        bench = Bench(service, client, workload)
        bench.fill(records)
        directory = service.directory
        command = str(Path(sys.executable).parent / "stratagraph")
        question = workload.questions(1)[0]
        record = _json(directory, [command, "ask", question, "--json"])["retrieveGraph"]["nodes"][0]["record"]["id"]
        cases = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "ask": [command, "ask", question],
            "history": [command, "history", record],
            "forget-preview": [command, "forget-preview"],
            "explore impact": [command, "explore", "impact", record],
            "query": [command, "query", "{ predicates { name } }"],
            "revise --help": [command, "revise", "--help"],
            "jobs list (no socket)": [command, "jobs", "list"],
            "audit verify (no socket)": [command, "audit", "verify", "--record", record],
        }
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
        with progress() as bars:
            bar = bars.add_task("running commands", total=rounds)
            for _ in range(rounds):
                for name, arguments in cases.items():
                    took[name].append(_run(directory, arguments))
                bars.advance(bar)
    figures = {
        name: {
            "wall_s": round(statistics.median(wall for wall, _ in runs), 3),
            "cpu_s": round(statistics.median(cpu for _, cpu in runs), 3),
        }
        for name, runs in took.items()
    }
    people.print(figures)
    bounds = [
        Bound(name=f"seconds of {name}", value=figures[name]["wall_s"], limit=WALL_S)
        for name in ("ask", "history", "forget-preview", "explore impact", "query", "revise --help")
    ]
    report("commands", figures, bounds=bounds, machine=about)


def _run(directory: Path, arguments: list[str]) -> tuple[float, float]:
    """Return the seconds and the processor seconds that a command takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(arguments, env=_environment(directory), stdout=subprocess.DEVNULL, check=True)
    wall_s, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _json(directory: Path, arguments: list[str]) -> Any:
    return orjson.loads(subprocess.run(arguments, env=_environment(directory), capture_output=True, check=True).stdout)


def _environment(directory: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
    return kept | {"STRATAGRAPH_DATA_DIR": str(directory), "STRATAGRAPH_EMBEDDER": "off"}


if __name__ == "__main__":
    typer.run(main)
