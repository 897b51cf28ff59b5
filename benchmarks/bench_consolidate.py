"""Measure what learning costs in a store with few and with many episodes, while it grows, and over existing records."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from growth import first_pass, grow
from harness import (
    Bound,
    Case,
    Store,
    filled_stores,
    interleaved,
    machine,
    percentile,
    progress,
    report,
    server,
    store,
    summary,
    trust,
)
from rich.progress import Progress
from sqlalchemy import text

from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_stages
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.words import DIMENSIONS

LIMIT = 1.5  # times the median of the smaller store
GROWN_LIMIT = 1.5  # times what an episode, or a record, costs when the store is small
STATEMENTS_LIMIT = 1.2  # times the statements of an episode when the store is small
FIRST_PASS_S = 300.0  # for 200,000 records, and the same share of it for fewer
GROWTH_MB = 64.0  # by which the peak of the process may be higher in the larger store
FILLED_AT_ONCE = 20_000  # episodes in one transaction
CAPTURED_AT_ONCE = 250  # new episodes in one transaction
WARM_UP = 1  # rounds
_PSS = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)

# Episodes that learning has read. Ids follow from the numbers.
FILL = (
    """
    INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,
      created_at, occurred_at, updated_at, version, row_version, terms, impacts)
    SELECT :tenant, md5(n::text)::uuid, 1, :scope, 1, 1, 0.8, '{}', 'episode ' || n, repeat('what happened ', 30),
      '{"kind": "episodic", "timeline": []}', '{"sources": [], "created_by": "bench"}', :at, :at, :at, 1, 1,
      ARRAY[n % 1000, 1000 + n % 7, 2000 + n % 5000], CAST(:impacts AS sparsevec)
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n
    """,
    """
    INSERT INTO salience (tenant, id, s, t0, curve, half_life_s, min_salience, reinforcement_gain, pinned,
      deletion_policy, due_at)
    SELECT :tenant, md5(n::text)::uuid, 1, :at, 1, 3155760, 0, 0.1, false, 1, :at + interval '1 year'
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n
    """,
    """
    INSERT INTO episode (tenant, id, thread_key, scope, sensitivity, opened_at, closes_at, closed_at, outcome, events,
      learned_at, learned_stages)
    SELECT :tenant, md5(n::text)::uuid, sha256(n::text::bytea), :scope, 1, :at, :at, :at, 1, 0, :at,
      CAST(:stages AS text[])
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n
    """,
)


Measured = Coroutine[Any, Any, tuple[dict[str, Any], list[Bound]]]


@dataclass
class Filled:
    """One store with `old` episodes, learned from. Before each pass, `new` ones are captured."""

    where: Store
    tenant: Tenant
    old: int
    new: int
    rounds: int = 0
    learned: list[int] = field(default_factory=list)
    peak_mb: float = 0.0

    def __post_init__(self) -> None:
        clock = SystemClock()
        self.learning = Learning(self.where.database, self.where.directory, clock, build_stages())
        self.capture = Capture(self.where.database, self.where.directory, clock, Policy())
        self.pick = Random(self.new)

    async def fill(self, bars: Progress) -> None:
        bar = bars.add_task(f"filling {self.old:,}", total=self.old)
        scopes = await self.where.directory.scopes(self.tenant, [""], create=True)
        for first in range(0, self.old, FILLED_AT_ONCE):
            last = min(self.old, first + FILLED_AT_ONCE) - 1
            values: dict[str, Any] = {
                "tenant": self.tenant.id,
                "first": first,
                "last": last,
                "scope": scopes[""],
                "at": datetime.now(UTC),
                "impacts": f"{{1:0.5,2:0.5}}/{DIMENSIONS}",
                "stages": [stage.name for stage in self.learning.stages],
            }
            async with self.where.database.engine.begin() as connection:
                # Without the foreign keys' checks: what is written here fits.
                await connection.execute(text("SET LOCAL session_replication_role = replica"))
                for statement in FILL:
                    named = {name: value for name, value in values.items() if f":{name}" in statement}
                    await connection.execute(text(statement), named)
            bars.update(bar, completed=last + 1)

    async def prepare(self) -> None:
        """Capture the new episodes, each of two events, a tool call and an outcome."""
        self.rounds += 1
        caller = replace(trust(), tenant=self.tenant.name)
        for first in range(0, self.new, CAPTURED_AT_ONCE):
            requests = [
                request
                for number in range(first, min(self.new, first + CAPTURED_AT_ONCE))
                for request in self._episode(f"{self.rounds}.{number}")
            ]
            await self.capture.capture(caller, requests, batch=True)

    def _episode(self, thread: str) -> list[CaptureRequest]:
        events = [
            {"thread_id": thread, "event_kind": "step", "summary": f"went through door {self.pick.randrange(200)}"}
            for _ in range(2)
        ]
        call = {"thread_id": thread, "tool_name": "search", "args": {"q": thread}, "result": {"found": 1}}
        done = {"thread_id": thread, "outcome_status": "success" if self.pick.random() < 0.7 else "failure"}
        return [
            *(CaptureRequest(source="bench", source_kind=SourceKind.EVENT, content=event) for event in events),
            CaptureRequest(source="bench", source_kind=SourceKind.TOOL_OUTPUT, content=call),
            CaptureRequest(source="bench", source_kind=SourceKind.OUTCOME, content=done),
        ]

    async def learn(self) -> None:
        """Learn from everything that is due, in batches as the job `consolidate` does."""
        learned = 0
        run = await self.learning.open_run(self.learning.now())
        assert run is not None  # the new episodes are due
        while (batch := await self.learning.run_batch(run)) is not None:
            learned += batch.episodes
            self.peak_mb = max(self.peak_mb, _pss_mb())
        await self.learning.close_run(run)
        self.learned.append(learned)


def _pss_mb() -> float:
    """Return the proportional set size of this process in MB."""
    found = _PSS.search(Path("/proc/self/smaps_rollup").read_text())
    assert found is not None
    return int(found[1]) / 1_000


async def _measure(url: str, *, sizes: tuple[int, int], new: int, rounds: int) -> tuple[dict[str, Any], list[Bound]]:
    async with AsyncExitStack() as stack:
        stores = await filled_stores(stack, url, sizes, lambda where, tenant, size: Filled(where, tenant, size, new))
        cases = {size: Case(run=filled.learn, prepare=filled.prepare) for size, filled in stores.items()}
        await interleaved(cases, WARM_UP, title="warming up")
        took = await interleaved(cases, rounds, title=f"learning from {new:,}")
    smaller, larger = sizes
    ratio = round(percentile(took[larger], 0.5) / percentile(took[smaller], 0.5), 3)
    growth = round(stores[larger].peak_mb - stores[smaller].peak_mb, 1)
    figures = {
        "new": new,
        "larger_over_smaller": ratio,
        "episodes": {
            f"{size}": {"pass_ms": summary(took[size]), "peak_pss_mb": round(stores[size].peak_mb, 1)} for size in sizes
        },
    }
    missed = sum(abs(learned - new) for filled in stores.values() for learned in filled.learned)
    return figures, [
        Bound(name="median pass of larger over smaller store", value=ratio, limit=LIMIT),
        Bound(name="peak memory of larger over smaller store, MB more", value=growth, limit=GROWTH_MB),
        Bound(name="episodes due and not learned from", value=missed, limit=0),
    ]


async def _growth(url: str, *, slices: int, size: int) -> tuple[dict[str, Any], list[Bound]]:
    """Learn from slices of episodes, one after the other; compare the last with the second, which is warm."""
    async with store(url, "bench_growth") as where:
        tenant = await where.directory.tenant("bench", create=True)
        assert tenant is not None  # create=True
        with progress() as bars:
            found = await grow(where, tenant, slices=slices, size=size, bars=bars)
    early, late = found[1], found[-1]
    return {"slices": found}, [
        Bound(
            name="time of an episode, last slice over the second",
            value=round(late["ms_an_episode"] / early["ms_an_episode"], 3),
            limit=GROWN_LIMIT,
        ),
        Bound(
            name="statements of an episode, last slice over the second",
            value=round(late["statements_an_episode"] / early["statements_an_episode"], 3),
            limit=STATEMENTS_LIMIT,
        ),
        Bound(
            name="episodes of slices not learned from", value=sum(abs(one["learned"] - size) for one in found), limit=0
        ),
    ]


async def _first_pass(url: str, sizes: tuple[int, int]) -> tuple[dict[str, Any], list[Bound]]:
    """Compare all records of a smaller and a larger store for the first time."""
    found = []
    for size in sizes:
        async with store(url, f"bench_first_{size}") as where:
            tenant = await where.directory.tenant("bench", create=True)
            assert tenant is not None  # create=True
            with progress() as bars:
                found.append(await first_pass(where, tenant, records=size, bars=bars))
    smaller, larger = found
    compared = larger["seconds"]["total"] - larger["seconds"].get("links", 0.0)
    return {"passes": found}, [
        Bound(
            name="comparing a record, larger over smaller store",
            value=round(larger["compared_ms_a_record"] / smaller["compared_ms_a_record"], 3),
            limit=GROWN_LIMIT,
        ),
        Bound(
            name="seconds of a first pass over 200,000 records, at this rate, without linking",
            value=round(compared / larger["records"] * 200_000, 1),
            limit=FIRST_PASS_S,
        ),
    ]


def main(
    smaller: Annotated[int, typer.Option(help="Old episodes in the smaller store.")] = 1_000,
    larger: Annotated[int, typer.Option(help="Old episodes in the larger store.")] = 100_000,
    new: Annotated[int, typer.Option(help="New episodes in each pass.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Timed passes in each store.")] = 5,
    slices: Annotated[int, typer.Option(help="Slices of episodes in the growing store; 0 to leave it out.")] = 6,
    slice_size: Annotated[int, typer.Option("--slice", help="Episodes in a slice.")] = 250,
    records: Annotated[
        int, typer.Option(help="Records of a first pass, also over a tenth; 0 to leave it out.")
    ] = 20_000,
) -> None:
    """Learn from a thousand new episodes among 10³ and 10⁵ old ones, in two databases of one server, in turn.

    Then learn from slices of episodes of one growing store, and compare all records of a store for the first time.

    Bounds: the median pass in the larger store takes at most 1.5 times that in the smaller, memory stays bounded, and
    every pass learns from all that is due; an episode of the last slice takes at most 1.5 times as long as one of the
    second, and to compare a record of the larger first pass 1.5 times as long as one of the smaller. One JSON document
    on standard output; exit code 1 if a bound is missed.
    """
    with server() as url:
        figures: dict[str, Any] = {}
        bounds: list[Bound] = []
        measures: list[tuple[str, Callable[[], Measured], bool]] = [
            ("beside", lambda: _measure(url, sizes=(smaller, larger), new=new, rounds=rounds), bool(rounds)),
            ("growth", lambda: _growth(url, slices=slices, size=slice_size), bool(slices)),
            ("first_pass", lambda: _first_pass(url, (records // 10, records)), bool(records)),
        ]
        for name, measure, is_wanted in measures:
            if is_wanted:
                figures[name], more = asyncio.run(measure())
                bounds += more
        about = machine(url)
    report("consolidate", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
