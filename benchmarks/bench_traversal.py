"""Measure the time of a walk by both engines and by `STRATAGRAPH_TRAVERSAL=auto`, for each number of hops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from uuid import UUID

import typer
from graphs import SCOPES, SNAPSHOT, Filled, mirror_in, neo4j_server
from harness import (
    Bound,
    Case,
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
from neo4j_import import GENERATION

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.expand import Walk
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.traversal.neighbourhood import Limits, SqlGraphReader

RELATIONS = 5  # relations from each record, so that a record has ten on average
SOME_SCOPES = 12
CALLERS = {
    "all scopes": trust(),
    "some scopes": trust(scopes=SCOPES[1 : 1 + SOME_SCOPES], ceiling=Sensitivity.MEDIUM),
}
HOPS = range(1, 7)
NODES, EDGES = 1_000, 5_000  # the greatest limits of a request
CHOICE_LIMIT = 1.2  # median of `auto`, as a multiple of that of the faster engine
NEO4J_LIMIT_MS = 30.0  # median of Neo4j at three hops, with at most NEO4J_LIMIT_RECORDS
NEO4J_LIMIT_RECORDS = 200_000


class Whole(MirrorFreshness):
    """The freshness of a mirror that is written once, with nothing written afterwards."""

    async def of(self, tenant: int) -> Freshness:
        return Freshness(whole=True, generation=GENERATION, snapshot=SNAPSHOT, seconds=0.0)


@dataclass
class Walker:
    """Walks from the next of the roots, which are the same for all engines compared."""

    walks: Callable[[Walk], Awaitable[object]]
    roots: Iterator[UUID]
    caller: Caller
    hops: int

    async def __call__(self) -> None:
        limits = Limits(nodes=NODES, edges=EDGES, hops=self.hops)
        await self.walks(Walk(self.caller, [next(self.roots)], limits, {}, datetime.now(UTC)))


def _roots(records: int, seed: str) -> Iterator[UUID]:
    """Yield records that all callers may read in full."""
    pick = Random(seed)
    while True:
        n = pick.randrange(records)
        if n % 20 and n % 5 <= Sensitivity.MEDIUM and n % len(SCOPES) <= SOME_SCOPES:
            yield UUID(bytes=md5(str(n).encode(), usedforsecurity=False).digest())


async def _compared(filled: Filled, caller: str, rounds: int) -> dict[tuple[int, str], list[float]]:
    """Return how long each engine and `auto` took, in milliseconds, by hops."""
    where, freshness = filled.where, Whole(filled.where.database, "neo4j")
    mirror = Neo4jEngine(filled.neo4j, plans_up_to=Sensitivity.LOW)
    async with (
        Engines(mirror=mirror, freshness=freshness, preference="auto") as auto,
        where.database.reading(filled.caller.bounds) as connection,
    ):
        sql = SqlGraphReader(connection=connection)
        least = await freshness.of(filled.caller.tenant.id)
        neo4j = Neo4jGraphReader(filled.neo4j, least=least, timeout_s=60.0)

        async def chosen(walk: Walk) -> object:
            return await auto.ask(
                walk.caller,
                in_mirror=lambda mirror, least, _: walk.by(mirror.graph_reader(least)),
                in_sql=lambda _: walk.by(sql),
            )

        ways: dict[str, Callable[[Walk], Awaitable[object]]] = {
            "sql": lambda walk: walk.by(sql),
            "neo4j": lambda walk: walk.by(neo4j),
            "auto": chosen,
        }

        def cases() -> dict[tuple[int, str], Case]:
            return {
                (hops, name): Case(run=Walker(way, _roots(filled.records, f"measure {hops}"), filled.caller, hops))
                for hops in HOPS
                for name, way in ways.items()
            }

        # The same roots once more, so that all of them are cached for all engines.
        await interleaved(cases(), rounds, title=f"warming up, {caller}")
        return await interleaved(cases(), rounds, title=caller)


@asynccontextmanager
async def _graph(url: str, records: int, heap: str, page_cache: str) -> AsyncIterator[Filled]:
    async with store(url, "bench") as where:
        caller = await where.directory.resolve(CALLERS["all scopes"])
        filled = Filled(where=where, mirror=None, caller=caller, records=records, per_record=RELATIONS)
        with TemporaryDirectory(prefix="stratagraph-bench-import-") as path:
            with progress() as bars:
                await filled.fill_truth(bars)
                await filled.write_files(Path(path), bars)
            with neo4j_server(heap, page_cache, Path(path)) as neo4j:
                async with mirror_in(neo4j, Mirror) as mirror:
                    filled = replace(filled, mirror=mirror)
                    await filled.make_mirror()
                    yield filled


async def _measure(
    url: str, *, records: int, rounds: int, heap: str, page_cache: str
) -> tuple[dict[str, Any], list[Bound]]:
    async with _graph(url, records, heap, page_cache) as everything:
        where = everything.where
        figures: dict[str, Any] = {"records": records, "relations": RELATIONS * records}
        bounds = []
        for caller, trusted in CALLERS.items():
            filled = replace(everything, caller=await where.directory.resolve(trusted))
            took = await _compared(filled, caller, rounds)
            figures[caller] = {}
            for hops in HOPS:
                better = min(percentile(took[hops, name], 0.5) for name in ("sql", "neo4j"))
                ratio = round(percentile(took[hops, "auto"], 0.5) / better, 3)
                figures[caller][f"{hops} hops"] = {
                    **{f"{name}_ms": summary(took[hops, name]) for name in ("sql", "neo4j", "auto")},
                    "auto_over_faster": ratio,
                }
                bounds.append(
                    Bound(name=f"{caller}, {hops} hops: auto over faster engine", value=ratio, limit=CHOICE_LIMIT)
                )
            if records <= NEO4J_LIMIT_RECORDS:
                median = round(percentile(took[3, "neo4j"], 0.5), 3)
                bounds.append(Bound(name=f"{caller}, 3 hops in Neo4j, ms", value=median, limit=NEO4J_LIMIT_MS))
    return figures, bounds


def main(
    records: Annotated[int, typer.Option(help="Number of records, with five relations each.", min=1_000)] = 100_000,
    rounds: Annotated[int, typer.Option(help="Number of timed walks for each number of hops.")] = 60,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "1g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "512m",
    quick: Annotated[bool, typer.Option("--quick", help="5,000 records, 20 walks.")] = False,
) -> None:
    """Walk 1 to 6 hops from random records, for at most 1,000 records and 5,000 relations, by each engine and by
    `auto`, in turn, over the same graph in both stores.

    Bounds: the median of `auto` is at most 1.2 times that of the faster engine, at each number of hops, for callers
    with all scopes and with some (docs/decisions.md); with up to 200,000 records (a million
    relations) Neo4j takes at most 30 ms at three hops. Prints one JSON document on standard output; exit code 1 if a
    bound is missed.
    """
    if quick:
        records, rounds = 5_000, 20
    with server() as url:
        figures, bounds = asyncio.run(_measure(url, records=records, rounds=rounds, heap=heap, page_cache=page_cache))
        about = machine(url)
    report("traversal", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
