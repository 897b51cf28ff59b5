"""Measure captures and retrievals as a client sees them: the service as `make run` starts it, over HTTP."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import orjson
import typer
from bare_sql import BareSql
from harness import file_system, machine, percentile, progress, report
from rich.console import Console
from rich.table import Table
from shipped_service import ShippedService, Usage, memory_text, shipped_service
from wire_client import EMPTY, EMPTY_ANSWER, Series, UnexpectedAnswer, WireClient, request
from wire_figures import CLIENTS, COLUMNS, bounds, markdown
from workload import Workload

console = Console(stderr=True, width=140)
BULK = 500  # captures in a batch that fills the store
SELECTION = """{ __typename ... on CaptureMemorySuccess {
  primaryRecord { id type name } createdRecords { id type name } receipt { candidateId } } }"""
CAPTURE = f"mutation($input: CaptureMemoryInput!) {{ captureMemory(input: $input) {SELECTION} }}"
CAPTURE_ANSWER = b'{"data":{"captureMemory":{"__typename":"CaptureMemorySuccess"'
BATCH = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename
  ... on CaptureMemoriesSuccess { results { primaryRecord { id type } receipt { candidateId } } } } }"""
BATCH_ANSWER = b'{"data":{"captureMemories":{"__typename":"CaptureMemoriesSuccess"'
RETRIEVE = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { roots nodes { score hop record { id name type salience text } }
  edges { id predicate sourceId targetId weight } } } }"""
WORD_SEARCH = ("search_words(", "count_terms", "read_word_index(", "fetch_word_", "SELECT r.id, sparsevec_send(")
RETRIEVE_ANSWER = b'{"data":{"retrieveGraph":{"__typename":"RetrieveGraphSuccess"'


@dataclass
class Measured:
    """What the requests of one case took, all rounds together. `items` are captures for a batch, else requests."""

    items: int = 0
    took_ms: list[float] = field(default_factory=list)
    wall_s: float = 0.0
    client_s: float = 0.0
    usage: Usage = field(default_factory=lambda: Usage(service_s=0.0, postgres_s=0.0))
    received: int = 0

    def figures(self) -> dict[str, float]:
        requests = len(self.took_ms)
        return {
            "requests": requests,
            "p50_ms": round(statistics.median(self.took_ms), 2),
            "p95_ms": round(percentile(self.took_ms, 0.95), 2),
            "per_second": round(self.items / self.wall_s, 1),
            "service_cpu_ms": round(1_000 * self.usage.service_s / self.items, 2),
            "postgres_cpu_ms": round(1_000 * self.usage.postgres_s / self.items, 2),
            "client_cpu_ms": round(1_000 * self.client_s / self.items, 3),
            "response_kb": round(self.received / requests / 1_000, 1),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of request. `prepare` returns those of one round."""

    prepare: Callable[[int], list[bytes]]
    expected: bytes
    count: int  # requests in a round
    connections: int = 1
    items: int = 1  # in one request


class Bench:
    """One service, filled step by step, and the client that asks it."""

    def __init__(self, service: ShippedService, client: WireClient, workload: Workload) -> None:
        self.service = service
        self.client = client
        self.workload = workload
        self.stored = 0  # captures

    def run(self, case: Case, measured: Measured, *, keep: int = 0) -> list[bytes]:
        """Send one round of a case, add what it took to `measured`, and return the last `keep` responses."""
        series = Series(
            requests=case.prepare(case.count), connections=case.connections, expected=case.expected, keep=keep
        )
        before = self.service.usage()
        answered = self.client.run(series)
        measured.usage += self.service.usage() - before
        measured.items += case.count * case.items
        measured.took_ms += answered.took_ms
        measured.wall_s += answered.wall_s
        measured.client_s += answered.client_s
        measured.received += answered.received
        if case.expected in {CAPTURE_ANSWER, BATCH_ANSWER}:
            self.stored += case.count * case.items
        return answered.bodies

    def fill(self, size: int) -> dict[str, float] | None:
        """Store captures in batches of 500 until there are `size`; return what that took, None if there were."""
        measured = Measured()
        with progress() as bars:
            bar = bars.add_task(f"filling to {size:,} captures", total=size, completed=self.stored)
            while self.stored < size:
                self.run(self.batches(min(BULK, size - self.stored)), measured)
                bars.update(bar, completed=self.stored)
        return measured.figures() if measured.items else None

    def batches(self, size: int, count: int = 1) -> Case:
        return Case(
            prepare=lambda count: [request(BATCH, _items(self.workload.captures(size))) for _ in range(count)],
            expected=BATCH_ANSWER,
            count=count,
            items=size,
        )

    def captures(self, count: int, connections: int = 1) -> Case:
        return Case(
            prepare=lambda count: [request(CAPTURE, {"input": one}) for one in self.workload.captures(count)],
            expected=CAPTURE_ANSWER,
            count=count,
            connections=connections,
        )

    def retrievals(self, hops: int, count: int, connections: int = 1, **limits: int) -> Case:
        return Case(
            prepare=lambda count: [
                request(RETRIEVE, {"input": {"taskDescriptor": question, "maxHops": hops, **limits}})
                for question in self.workload.questions(count)
            ],
            expected=RETRIEVE_ANSWER,
            count=count,
            connections=connections,
        )

    def measure(self, rounds: int) -> dict[str, Any]:
        """Measure at the present size: retrievals, then captures beside their floors, each in turn with the others."""
        self.service.settle()
        empty = {"empty request, 1 client": _empty(20), f"empty request, {CLIENTS} clients": _empty(80, CLIENTS)}
        reads = empty | {
            "retrieve, 1 hop, 1 client": self.retrievals(1, 8),
            "retrieve, 3 hops, 1 client": self.retrievals(3, 8),
            "retrieve, 3 hops, 100 nodes, 1 client": self.retrievals(3, 4, nodeLimit=100, edgeLimit=300),
            f"retrieve, 1 hop, {CLIENTS} clients": self.retrievals(1, 3 * CLIENTS, CLIENTS),
            f"retrieve, 3 hops, {CLIENTS} clients": self.retrievals(3, 3 * CLIENTS, CLIENTS),
        }
        writes = {
            "capture, 1 client": self.captures(10),
            f"capture, {CLIENTS} clients": self.captures(3 * CLIENTS, CLIENTS),
        }
        batches = {"batch of 100": self.batches(100), "batch of 500": self.batches(500)}
        took = {name: Measured() for name in (*reads, *writes, *batches)}
        floors: dict[str, list[tuple[float, float, int]]] = {}
        for case in (*reads.values(), *writes.values()):  # warm up
            self.run(case, Measured())
        with progress() as bars, BareSql(self.service.database_url) as bare:
            bar = bars.add_task(f"measuring at {self.stored:,} captures", total=2 * rounds)
            for _ in range(rounds):
                for name, case in reads.items():
                    self.run(case, took[name])
                bars.advance(bar)
            for number in range(rounds):
                # Batches grow the store, so fewer of them are measured.
                for name, case in (writes | (batches if number % 3 == 0 else {})).items():
                    bodies = self.run(case, took[name], keep=case.count)
                    if case.connections == 1 and number % 3 == 0:
                        copies = bare.copies([_candidate(body) for body in bodies])
                        floors.setdefault(name, []).extend(
                            (bare.write(copy), bare.write_text(copy), copy.rows) for copy in copies
                        )
                bars.advance(bar)
        figures: dict[str, Any] = {name: measured.figures() for name, measured in took.items()}
        for name, written in floors.items():
            parameters, text, rows = (statistics.median(one) for one in zip(*written, strict=True))
            figures[name]["rows"] = rows
            figures[name]["floor_ms"] = round(parameters, 2)
            figures[name]["floor_text_ms"] = round(text, 2)
            figures[name]["over_floor"] = round(figures[name]["p50_ms"] / parameters, 2)
        return {
            "cases": figures,
            "statements": {
                "capture": self.statements(self.captures(50)),
                "retrieve, 1 hop": self.statements(self.retrievals(1, 40)),
                "retrieve, 3 hops": self.statements(self.retrievals(3, 40)),
                "retrieve, 3 hops, 100 nodes": self.statements(self.retrievals(3, 20, nodeLimit=100, edgeLimit=300)),
            },
            "memory": self.service.memory(),
        }

    def statements(self, case: Case) -> dict[str, Any]:
        """Return the statements of a request and their time in Postgres, per request; the slowest with their text."""
        with self.service.statements() as collected:
            self.run(case, Measured())
        searching = sum(one.ms for one in collected if any(name in one.text for name in WORD_SEARCH))
        return {
            "per_request": round(sum(one.calls for one in collected) / case.count, 2),
            "postgres_ms": round(sum(one.ms for one in collected) / case.count, 2),
            "word_search_ms": round(searching / case.count, 2),
            "slowest": [
                {
                    "statement": " ".join(one.text.split())[:90],
                    "per_request": round(one.calls / case.count, 2),
                    "ms": round(one.ms / case.count, 3),
                }
                for one in collected[:8]
            ],
        }

    def fill_one_slot(self, size: int) -> list[dict[str, float]]:
        """Store `size` facts of one subject and predicate in batches of 500; return a figure for each tenth."""
        case = Case(
            prepare=lambda _: [request(BATCH, _items(self.workload.observations_of_one_slot(BULK)))],
            expected=BATCH_ANSWER,
            count=1,
            items=BULK,
        )
        single = Case(
            prepare=lambda count: [
                request(CAPTURE, {"input": one}) for one in self.workload.observations_of_one_slot(count)
            ],
            expected=CAPTURE_ANSWER,
            count=10,
        )
        tenths, facts = [], 0
        with progress() as bars:
            bar = bars.add_task("filling one slot", total=size)
            for _ in range(10):
                batch, one = Measured(), Measured()
                try:
                    for _ in range(max(1, size // BULK // 10)):
                        self.run(case, batch)
                        facts += BULK
                        bars.update(bar, completed=facts)
                    self.run(single, one)
                except UnexpectedAnswer as error:  # such as a deadline; what was measured so far is shown
                    console.print(f"Stopped at {facts:,} facts: {error}", style="red")
                    break
                facts += single.count
                figures = one.figures()
                tenths.append(
                    {
                        "facts": facts,
                        "batch_per_second": batch.figures()["per_second"],
                        "capture_p50_ms": figures["p50_ms"],
                        "capture_service_cpu_ms": figures["service_cpu_ms"],
                        "capture_postgres_cpu_ms": figures["postgres_cpu_ms"],
                    }
                )
        return tenths


def _items(captures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"input": {"items": captures}}


def _empty(count: int, connections: int = 1) -> Case:
    return Case(
        prepare=lambda count: [request(EMPTY)] * count, expected=EMPTY_ANSWER, count=count, connections=connections
    )


def _candidate(body: bytes) -> str:
    """Return the candidate's id that the response to a capture, or to the first of a batch, reports."""
    (captured,) = orjson.loads(body)["data"].values()
    first = captured["results"][0] if "results" in captured else captured
    return str(first["receipt"]["candidateId"])


def _table(size: int, found: dict[str, Any]) -> Table:
    table = Table(title=f"{size:,} captures, {memory_text(found['memory'])}", title_justify="left")
    for heading in ("", "p50 ms", "p95 ms", "a second", "service", "Postgres", "client", "floor ms", "text ms"):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for name, row in found["cases"].items():
        table.add_row(name, *(str(row.get(key, "")) for key in COLUMNS))
    return table


def main(
    records: Annotated[list[int], typer.Option(help="Sizes to measure at, in captures; repeat it for more.")] = [1_000],  # noqa: B006 typer copies it
    rounds: Annotated[int, typer.Option(help="Rounds of all cases at each size.")] = 9,
    slot: Annotated[int, typer.Option(help="Facts to store in one slot at the end; 0 for none.")] = 0,
    idle: Annotated[float, typer.Option(help="Seconds for which the idle service is watched.")] = 15.0,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of JSON.")] = False,
) -> None:
    """Measure captures and retrievals over HTTP, with kept connections, on the service as `make run` starts it.

    The service, its embedded Postgres and the client are processes of their own. The cases run in turn, beside their
    floors: an empty GraphQL request, and the same rows written by psycopg alone. Times include the client; processor
    time per capture or retrieval is given apart for service, Postgres and client, and varies less on a loaded machine.
    A table on standard error, and one JSON document on standard output; exit code 1 if a bound is missed.
    """
    figures: dict[str, Any] = {"captures": {}, "filling": {}, "one_slot": []}
    with shipped_service() as service, WireClient(service.url) as client:
        about = machine(service.database_url)
        about |= {"file_system": file_system(service.database_url), "load": round(os.getloadavg()[0], 1)}
        bench = Bench(service, client, Workload(1))
        for size in sorted(records):
            figures["filling"][str(size)] = bench.fill(size)
            found = figures["captures"][str(size)] = bench.measure(rounds)
            console.print(_table(size, found))
        figures["idle"] = service.idle_share(idle)
        console.print(figures["idle"])
        if slot:
            figures["one_slot"] = bench.fill_one_slot(slot)
            console.print(figures["one_slot"])
    checked = bounds(figures)
    if as_markdown:
        typer.echo(markdown(figures, about, checked))
    else:
        report("wire", figures, bounds=checked, machine=about)


if __name__ == "__main__":
    typer.run(main)
