"""The figures of `bench_wire`: their bounds, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness import Bound
from shipped_service import memory_text

CLIENTS = 8
MEMORY_MB = 300  # of one process at 100,000 captures, where pages that several share are divided among them
COLUMNS = (
    *("p50_ms", "p95_ms", "per_second", "service_cpu_ms", "postgres_cpu_ms", "client_cpu_ms", "floor_ms"),
    "floor_text_ms",
)


def bounds(figures: dict[str, Any]) -> list[Bound]:
    """Return the bounds on what was measured.

    Those between two sizes hold on any machine; the others are those of an idle machine with two cores, and are checked
    at the size that they are stated for.
    """
    sizes = {int(size): figures["captures"][size] for size in figures["captures"]}
    cases = {size: found["cases"] for size, found in sizes.items()}
    checked = []
    for smaller, larger in pairwise(sorted(sizes)):
        read, batch = "retrieve, 1 hop, 1 client", "batch of 500"
        p95 = cases[larger][read]["p95_ms"] / cases[smaller][read]["p95_ms"]
        checked.append(Bound(name=f"{read}: p95 at {larger} over {smaller}", value=p95, limit=2))
        rate = cases[min(sizes)][batch]["per_second"] / cases[larger][batch]["per_second"]
        checked.append(Bound(name=f"{batch}: rate at {min(sizes)} over {larger}", value=rate, limit=1 / 0.8))
    for size, found in cases.items():
        if size == 10_000:
            search_ms = sizes[size]["statements"]["retrieve, 1 hop"]["word_search_ms"]
            without_search_ms = found["retrieve, 1 hop, 1 client"]["p50_ms"] - search_ms
            checked += [
                Bound(name="capture, 1 client: p50 ms", value=found["capture, 1 client"]["p50_ms"], limit=8),
                Bound(name="retrieve without the word search: p50 ms", value=without_search_ms, limit=10),
                *(
                    Bound(name=f"{name}: ms for each", value=1_000 / found[name]["per_second"], limit=1_000 / rate)
                    for name, rate in (
                        (f"capture, {CLIENTS} clients", 250),
                        ("batch of 500", 900),
                        (f"retrieve, 1 hop, {CLIENTS} clients", 60),
                    )
                ),
            ]
        if size >= 100_000:
            checked += [
                Bound(name=f"memory of {one['process']}, MB", value=one["part_mb"], limit=MEMORY_MB)
                for one in sizes[size]["memory"]
            ]
    if figures["one_slot"]:
        last = figures["one_slot"][-1]
        rate = cases[min(sizes)]["batch of 500"]["per_second"] / last["batch_per_second"]
        name = f"batch of 500: rate at {min(sizes)} over that of one slot with {last['facts']} facts"
        checked.append(Bound(name=name, value=rate, limit=1 / 0.8))
    idle = figures["idle"]["service_percent"]
    return [*checked, Bound(name="idle service, percent of a core", value=idle, limit=1)]


def markdown(figures: dict[str, Any], about: dict[str, Any], checked: Sequence[Bound]) -> str:
    """Return the figures as a section of benchmarks/README.md."""
    lines = [f"{about['date'][:10]}, {about['cores']} cores, {about['architecture']}, Python {about['python']},"]
    lines[0] += f" PostgreSQL {about['postgres']}, data on {about['file_system']}, load {about['load']}."
    for stored, found in figures["captures"].items():
        lines += [
            *("", f"### {int(stored):,} captures", ""),
            "| | p50 ms | p95 ms | a second | service CPU ms | Postgres CPU ms | client CPU ms | bare psycopg ms |"
            " ready text ms |",
            "|---|" + "---:|" * 8,
            *(
                f"| {name} | " + " | ".join(str(row.get(key, "")) for key in COLUMNS) + " |"
                for name, row in found["cases"].items()
            ),
            *("", "| | statements | in Postgres ms | of it the word search ms |", "|---|---:|---:|---:|"),
            *(
                f"| {name} | {one['per_request']} | {one['postgres_ms']} | {one['word_search_ms']} |"
                for name, one in found["statements"].items()
            ),
            *("", f"The service's {memory_text(found['memory'])}."),
        ]
    idle = figures["idle"]
    lines += ["", f"Idle: service {idle['service_percent']} %, Postgres {idle['postgres_percent']} % of a core."]
    if figures["one_slot"]:
        lines += ["", "| facts in one slot | batches of 500, a second | capture p50 ms |", "|---:|---:|---:|"]
        lines += [
            f"| {one['facts']:,} | {one['batch_per_second']} | {one['capture_p50_ms']} |" for one in figures["one_slot"]
        ]
    lines += ["", "| bound | measured | limit | |", "|---|---:|---:|---|"]
    lines += [
        f"| {one.name} | {one.value:.2f} | {one.limit:.2f} | {'met' if one.ok else 'missed'} |" for one in checked
    ]
    return "\n".join(lines)
