"""Measure the mirror worker's throughput against plain driver calls that only create the same rows, and its delay."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import typer
from bench_visible import Rate, measure_visible
from graphs import Filled, mirror_in, neo4j_server
from harness import Bound, Case, Store, interleaved, machine, percentile, progress, report, server, store, trust
from sqlalchemy import text

from stratagraph.graph_sync.batches import Checkpoint, CheckpointLock, MirrorBatch, Progress
from stratagraph.graph_sync.mapping import as_columns, node, relation, relationship_type
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.service.local_neo4j import LocalServer
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity

THROUGHPUT = 0.6  # least rate of the worker, as a share of that of the prepared rows
VISIBLE_MS = 1_000  # greatest p95 from a commit until the change is in the mirror
RATE, BATCH = 500, 25  # records a second, and records in one transaction, while that is measured
BARE_BATCH = 1_000
WARM_UP, ROUNDS = 3, 5
# Rows of one set of labels, as lists of values: the same values, labels and constraints as the worker's.
_NODES = """
    UNWIND $rows AS row
    CREATE (:LABELS {
      ten: row[0], id: row[1], gen: row[2], type: row[5], state: row[6], acl: row[7],
      created_at: datetime({epochSeconds: row[8], nanosecond: row[9]}),
      occurred_at: datetime({epochSeconds: row[10], nanosecond: row[11]}),
      ver: row[12], d: row[13], name: row[14], valid_from: row[15], valid_to: row[16], tool: row[17], failed: row[18]
    })
"""
_EDGES = """
    UNWIND $rows AS row
    MATCH (a:Mirrored {ten: row[0], id: row[4]}) USING INDEX SEEK a:Mirrored(ten, id)
    MATCH (b:Mirrored {ten: row[0], id: row[5]}) USING INDEX SEEK b:Mirrored(ten, id)
    CREATE (a)-[:`TYPE` {
      ten: row[0], id: row[1], gen: row[2], w: row[6],
      created_at: datetime({epochSeconds: row[7], nanosecond: row[8]}),
      ver: row[9], d: row[10]
    }]->(b)
"""
# The same by dictionaries, made while the time runs, and with labels chosen by each row.
_NODES_BY_NAME = "UNWIND $rows AS row CREATE (n:Mirrored) SET n = row.p SET n:$(row.labels)"
_EDGES_BY_NAME = """
    UNWIND $rows AS row
    MATCH (a:Mirrored {ten: row.ten, id: row.src}) USING INDEX SEEK a:Mirrored(ten, id)
    MATCH (b:Mirrored {ten: row.ten, id: row.dst}) USING INDEX SEEK b:Mirrored(ten, id)
    CREATE (a)-[r:`TYPE`]->(b) SET r = row.p
"""
_EMPTY = "MATCH (n) WHERE NOT n:SyncCheckpoint CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS"


Rows = dict[Kind, list[dict[str, Any]]]
Names = dict[tuple[int, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that one statement creates, a batch at a time."""

    statement: str
    rows: Sequence[Any]


class Watched(Mirror):
    """A mirror that records the transactions that its worker writes, or discards them."""

    recorded: list[tuple[MirrorBatch, CheckpointLock, Checkpoint | None]] | None = None
    discards: bool = False

    async def apply(
        self,
        batch: MirrorBatch,
        lock: CheckpointLock,
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> None:
        if self.recorded is not None:
            self.recorded.append((batch, lock, checkpoint))
        if not self.discards:
            await super().apply(batch, lock, checkpoint=checkpoint, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """A graph in Postgres, all of it in the log, and a Neo4j to mirror it into."""

    filled: Filled
    mirror: Watched
    worker: SyncWorker
    rows: Rows
    names: Names
    prepared: list[Group]

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

    async def read_only(self) -> None:
        """Let the worker do everything but write to Neo4j: read the log and the rows, convert, advance the cursors."""
        self.mirror.discards = True
        try:
            await self.follow()
        finally:
            self.mirror.discards = False

    async def record(self) -> list[tuple[MirrorBatch, CheckpointLock, Checkpoint | None]]:
        """Return the transactions that the worker writes."""
        await self.empty()
        recorded: list[tuple[MirrorBatch, CheckpointLock, Checkpoint | None]] = []
        self.mirror.recorded = recorded
        await self.follow()
        self.mirror.recorded = None
        return recorded

    async def create(self) -> None:
        """Write the prepared rows with the plain driver: no version guard, no checkpoint, no reading from Postgres."""
        await self._write(self.prepared)

    async def convert_and_create(self) -> None:
        """Convert the rows to dictionaries and write those with the plain driver."""
        await self._write(_by_name(self.rows, self.names))

    async def _write(self, groups: Sequence[Group]) -> None:
        async with self.filled.neo4j.driver.session() as session:
            for group in groups:
                for first in range(0, len(group.rows), BARE_BATCH):
                    rows = group.rows[first : first + BARE_BATCH]
                    await (await session.run(group.statement, rows=rows)).consume()


def _prepare(rows: Rows, names: Names) -> list[Group]:
    """Return the statements that create everything the worker writes, with their rows."""
    nodes: dict[tuple[str, ...], list[list[Any]]] = {}
    for row in rows[Kind.RECORD]:
        converted = node(row, generation=1, names_up_to=Sensitivity.LOW)
        nodes.setdefault(("Mirrored", *converted["labels"]), []).append(as_columns(converted))
    edges: dict[str, list[list[Any]]] = {}
    for row in rows[Kind.RELATION]:
        relation_type = relationship_type(names[row["tenant"], row["predicate"]])
        edges.setdefault(relation_type, []).append(as_columns(relation(row, generation=1)))
    return [
        *(Group(statement=_NODES.replace("LABELS", ":".join(labels)), rows=group) for labels, group in nodes.items()),
        *(Group(statement=_EDGES.replace("TYPE", relation_type), rows=group) for relation_type, group in edges.items()),
    ]


def _by_name(rows: Rows, names: Names) -> list[Group]:
    nodes = [node(row, generation=1, names_up_to=Sensitivity.LOW) for row in rows[Kind.RECORD]]
    edges: dict[str, list[dict[str, Any]]] = {}
    for row in rows[Kind.RELATION]:
        relation_type = relationship_type(names[row["tenant"], row["predicate"]])
        edges.setdefault(relation_type, []).append(relation(row, generation=1))
    return [
        Group(statement=_NODES_BY_NAME, rows=nodes),
        *(
            Group(statement=_EDGES_BY_NAME.replace("TYPE", relation_type), rows=group)
            for relation_type, group in edges.items()
        ),
    ]


@asynccontextmanager
async def both(url: str, neo4j: LocalServer, records: int) -> AsyncIterator[Both]:
    async with store(url, "mirror") as where, mirror_in(neo4j, Watched) as mirror:
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
            yield Both(
                filled=filled, mirror=mirror, worker=worker, rows=rows, names=names, prepared=_prepare(rows, names)
            )
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


async def _throughput(url: str, neo4j: LocalServer, *, records: int) -> tuple[dict[str, Any], Bound]:
    async with both(url, neo4j, records) as two:
        recorded = await two.record()

        async def write_only() -> None:
            for batch, lock, checkpoint in recorded:
                await two.mirror.apply(batch, lock, checkpoint=checkpoint)

        # The rows held here are the benchmark's; a service does the same with what it has loaded when it starts.
        gc.collect()
        gc.freeze()
        cases = {
            "worker": Case(run=two.follow, prepare=two.empty),
            "prepared rows": Case(run=two.create, prepare=two.empty),
            "rows converted while timed": Case(run=two.convert_and_create, prepare=two.empty),
            "worker without Neo4j": Case(run=two.read_only, prepare=two.empty),
            "worker's transactions alone": Case(run=write_only, prepare=two.empty),
        }
        await interleaved(cases, WARM_UP, title="warming up")
        took = await interleaved(cases, ROUNDS, title="writing everything")
        rows = sum(len(of_kind) for of_kind in two.rows.values())
    rates = {name: round(rows / (percentile(values, 0.5) / 1_000)) for name, values in took.items()}
    worker = rates.pop("worker")
    ratios = {name: round(worker / rate, 3) for name, rate in rates.items()}
    # Machines that do other work change their speed from round to round, but less between two runs of one round.
    pairs = [bare / ours for ours, bare in zip(took["worker"], took["prepared rows"], strict=True)]
    figures = {
        "rows": rows,
        "sessions": 1,
        "rows_per_s": {"worker": worker, **rates},
        "worker_over": ratios,
        "worker_over_prepared_by_round": [round(pair, 3) for pair in pairs],
    }
    least = percentile(pairs, 0.5)
    return figures, Bound(
        name="prepared rows' rate over the worker's", value=round(1 / least, 3), limit=round(1 / THROUGHPUT, 3)
    )


async def _visible(url: str, neo4j: LocalServer, *, records: int, seconds: float) -> tuple[dict[str, Any], Bound]:
    figures = await measure_visible(url, neo4j, rates=(Rate(RATE, batch=BATCH),), records=records, seconds=seconds)
    p95 = figures[f"{RATE} writes/s, {BATCH} a transaction"]["p95_ms"]
    return figures, Bound(name="p95 until visible, ms", value=p95, limit=VISIBLE_MS)


def main(
    records: Annotated[int, typer.Option(help="Number of records, with two relations each.", min=100)] = 20_000,
    seconds: Annotated[float, typer.Option(help="Duration of the steady writes, seconds.")] = 30.0,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "1g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "512m",
    quick: Annotated[bool, typer.Option("--quick", help="Use 2,000 records and 10 seconds.")] = False,
) -> None:
    """Write the same rows by the worker, from a backlog, and by the plain driver, from memory, in turn, both warm.

    The worker reads log and rows, guards each row by its version, and stores its position. The plain driver creates
    rows that were converted before, with literal labels. Each uses one session. Bound: the worker's rate is at least
    0.6 times that of the plain driver. The halves of the worker's work are timed too: reading and converting without
    writing, and the same transactions without reading. Then the worker follows 500 writes a second in a process of its
    own. Bound: 95 % are in the mirror within 1 s. Prints one JSON document; exits 1 if a bound is missed.
    """
    if quick:
        records, seconds = 2_000, 10.0
    with server() as url:
        with neo4j_server(heap, page_cache) as neo4j:
            throughput, least = asyncio.run(_throughput(url, neo4j, records=records))
        with neo4j_server(heap, page_cache) as neo4j:
            visible, most = asyncio.run(_visible(url, neo4j, records=min(records, 10_000), seconds=seconds))
        about = machine(url)
    report("mirror", {"throughput": throughput, "visible": visible}, bounds=[least, most], machine=about)


if __name__ == "__main__":
    typer.run(main)
