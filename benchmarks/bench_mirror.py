"""Measure the mirror worker's throughput, against plain driver calls that only create the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import typer
from graphs import Filled, neo4j_server
from harness import Bound, Case, Store, interleaved, machine, percentile, progress, report, server, store, trust
from sqlalchemy import text

from stratagraph.graph_sync.applying import FIRST_BATCH
from stratagraph.graph_sync.mapping import node, relation, relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity

THROUGHPUT = 0.9  # least rate of the worker, as a share of that of the plain driver
BARE_BATCH = 1_000
ROUNDS = 5
_RECORDS = "UNWIND $rows AS row CREATE (n:Mirrored) SET n = row.p SET n:$(row.labels)"
_RELATIONS = """
    UNWIND $rows AS row
    MATCH (a:Mirrored {ten: row.ten, id: row.src})
    MATCH (b:Mirrored {ten: row.ten, id: row.dst})
    CREATE (a)-[r:`TYPE`]->(b) SET r = row.p
"""
_EMPTY = "MATCH (n) WHERE NOT n:SyncCheckpoint CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """A graph in Postgres, all of it in the log, and a Neo4j to mirror it into."""

    filled: Filled
    worker: SyncWorker
    rows: dict[Kind, list[dict[str, Any]]]
    names: dict[tuple[int, int], str]

    async def empty(self) -> None:
        """Empty the mirror, and move the worker to the start of the log."""
        await self.worker.release()
        async with self.filled.neo4j.driver.session() as session:
            await (await session.run(_EMPTY)).consume()
            first = "MATCH (c:SyncCheckpoint) WHERE c.snapshot IS NOT NULL SET c.snapshot = $snapshot, c.nonce = $nonce"
            snapshot, nonce = await self._first_snapshot()
            await (await session.run(first, snapshot=snapshot, nonce=str(nonce))).consume()
        async with self.filled.where.database.engine.begin() as connection:
            await connection.execute(
                text(
                    "UPDATE sync_cursor SET snapshot = :snapshot, window_snapshot = NULL, window_seq = 0"
                    " WHERE consumer = :consumer"
                ),
                {"snapshot": snapshot, "consumer": CONSUMER},
            )

    async def _first_snapshot(self) -> tuple[int, UUID]:
        async with self.filled.where.database.engine.begin() as connection:
            row = (await connection.execute(text("SELECT id, nonce FROM sync_snapshot ORDER BY id LIMIT 1"))).one()
        return row.id, row.nonce

    async def follow(self) -> None:
        result = await self.worker.follow_once()
        assert result.applied == sum(len(rows) for rows in self.rows.values()), result

    async def create(self) -> None:
        """Write the rows with the plain driver: no version guard, no checkpoint, no reading from Postgres."""
        nodes = [node(row, generation=1, names_up_to=Sensitivity.LOW) for row in self.rows[Kind.RECORD]]
        async with self.filled.neo4j.driver.session() as session:
            for first in range(0, len(nodes), BARE_BATCH):
                await (await session.run(_RECORDS, rows=nodes[first : first + BARE_BATCH])).consume()
            for name in sorted(set(self.names.values())):
                statement = _RELATIONS.replace("TYPE", relationship_type(name))
                edges = [
                    relation(row, generation=1)
                    for row in self.rows[Kind.RELATION]
                    if self.names[row["tenant"], row["predicate"]] == name
                ]
                for first in range(0, len(edges), BARE_BATCH):
                    await (await session.run(statement, rows=edges[first : first + BARE_BATCH])).consume()


@asynccontextmanager
async def both(url: str, bolt: str, records: int) -> AsyncIterator[Both]:
    async with store(url, "mirror") as where, Mirror(bolt, user=None, password=None, database="neo4j") as mirror:
        filled = Filled(
            where=where, mirror=mirror, caller=await where.directory.resolve(trust()), records=records, per_record=2
        )
        worker = SyncWorker(where.database, where.directory, mirror, SyncConfig())
        await worker.run_once()  # with an empty store: creates constraints and checkpoints
        with progress() as bars:
            await filled.fill_truth(bars)
        await _log_everything(where)
        source = MirrorSource(where.database, names_up_to=Sensitivity.LOW)
        rows = {kind: (await source.scan(kind, None, tenant=None, page=10_000_000))[0] for kind in Kind}
        names = await where.directory.predicate_names(
            {(row["tenant"], row["predicate"]) for row in rows[Kind.RELATION]}
        )
        await mirror.prepare_types(sorted(set(names.values())))
        try:
            yield Both(filled=filled, worker=worker, rows=rows, names=names)
        finally:
            await worker.release()


async def _log_everything(where: Store) -> None:
    """Fill the log as if transactions of twenty rows had written all rows."""
    for kind, table in ((1, "record"), (2, "relation")):
        async with where.database.engine.begin() as connection:
            await connection.execute(
                text(
                    "INSERT INTO sync_log (shard, tenant, kind, id, version, op)"  # noqa: S608 - our own names
                    f" SELECT get_byte(uuid_send(id), 15) & 15, tenant, {kind}, id, row_version, 'U' FROM {table}"
                    " ORDER BY id"
                )
            )


async def _throughput(url: str, bolt: str, *, records: int) -> tuple[dict[str, Any], Bound]:
    async with both(url, bolt, records) as two:
        cases = {
            "ours": Case(run=two.follow, prepare=two.empty),
            "bare": Case(run=two.create, prepare=two.empty),
        }
        await interleaved(cases, 1, title="warming up")
        took = await interleaved(cases, ROUNDS, title="writing everything")
        rows = sum(len(of_kind) for of_kind in two.rows.values())
    rates = {name: round(rows / (percentile(values, 0.5) / 1_000)) for name, values in took.items()}
    ratio = round(rates["ours"] / rates["bare"], 3)
    figures = {"rows": rows, "rows_per_s": rates, "ours_over_bare": ratio, "first_batch": FIRST_BATCH}
    return figures, Bound(
        name="bare driver's rate over ours", value=round(1 / ratio, 3), limit=round(1 / THROUGHPUT, 3)
    )


def main(
    records: Annotated[int, typer.Option(help="Number of records, with two relations each.", min=100)] = 20_000,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "1g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "512m",
    quick: Annotated[bool, typer.Option("--quick", help="Use 2,000 records.")] = False,
) -> None:
    """Write the same rows by the worker, from the log, and by the plain driver, from memory, in turn, both warmed up.

    The worker reads log and rows, guards each row by its version, and stores its position. Bound: its rate is at least
    0.9 times that of UNWIND … CREATE. Prints one JSON document; exits 1 if the bound is missed.
    """
    with server() as url, neo4j_server(heap, page_cache) as bolt:
        figures, bound = asyncio.run(_throughput(url, bolt, records=2_000 if quick else records))
        about = machine(url)
    report("mirror", figures, bounds=[bound], machine=about)


if __name__ == "__main__":
    typer.run(main)
