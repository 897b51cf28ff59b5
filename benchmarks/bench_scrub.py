"""Measure how long edits by hand stay in the mirror until the running scrub undoes them, and what the scrub costs."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import psutil
import psycopg
import typer
from bench_visible import Writer, following
from graphs import Filled, mirror_in, neo4j_server
from harness import Bound, machine, progress, report, server, store, summary, trust
from psycopg.rows import dict_row

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker
from stratagraph.service.local_neo4j import LocalServer

UNDONE_S = 600.0  # an edit must be undone within this time, at 10⁵ records
SPREAD_S = 300.0  # time over which the edits are made: a round of the scrub
GIVE_UP_S = 2 * UNDONE_S  # after the last edit
POLL_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of edit: the Cypher that makes it, and the Cypher that returns whether it is undone, as `undone`."""

    make: str
    undone: str


_RECORD = "MATCH (n:Mirrored {ten: $ten, id: $id}) "
_RELATION = _RECORD + "MATCH (n)-[r:USES|MENTIONS]->() WITH r ORDER BY r.id LIMIT 1 "
_BY_RELATION = "MATCH ()-[r:USES|MENTIONS]->() WHERE r.ten = $ten AND r.id = $relation "
KINDS = {
    "name changed": Kind(
        make=_RECORD + "SET n.name = 'by hand'", undone=_RECORD + "RETURN coalesce(n.name, '') <> 'by hand' AS undone"
    ),
    "record deleted": Kind(
        make=_RECORD + "DETACH DELETE n",
        undone="OPTIONAL MATCH (n:Mirrored {ten: $ten, id: $id}) WITH n LIMIT 1"
        " RETURN coalesce(n:Memory, false) AND COUNT { (n)-[:USES|MENTIONS]->() } = $relations AS undone",
    ),
    "label removed": Kind(make=_RECORD + "REMOVE n:Memory", undone=_RECORD + "RETURN n:Memory AS undone"),
    "all labels removed": Kind(
        make=_RECORD + "SET n.note = 1 REMOVE n:Mirrored:Memory:Episodic:Episode:Event",
        undone="OPTIONAL MATCH (n:Mirrored {ten: $ten, id: $id}) WITH n LIMIT 1"
        " RETURN coalesce(n:Memory AND n.note IS NULL, false) AS undone",
    ),
    "relation deleted": Kind(
        make=_RELATION + "DELETE r",
        undone=_RECORD + "RETURN COUNT { (n)-[:USES|MENTIONS]->() } = $relations AS undone",
    ),
    "weight changed": Kind(
        make=_RELATION + "SET r.w = 7.5",
        undone=_RECORD + "RETURN NOT EXISTS { (n)-[r:USES|MENTIONS]->() WHERE r.w = 7.5 } AS undone",
    ),
    "foreign record": Kind(
        make="CREATE (:Mirrored:Memory {ten: $ten, id: $other, name: 'by hand'})",
        undone="RETURN NOT EXISTS { (n:Mirrored {ten: $ten, id: $other}) WHERE NOT n:Tomb } AS undone",
    ),
    "foreign relationship": Kind(
        make=_RECORD + "CREATE (n)-[:USES]->(n)",
        undone=_RECORD + "RETURN NOT EXISTS { (n)-[r:USES]->(n) WHERE r.id IS NULL } AS undone",
    ),
}


@dataclass(slots=True)
class Made:
    """An edit: the record that it concerns, how many relations begin there, and when it was made and undone."""

    kind: str
    parameters: dict[str, Any]
    at: float
    took_s: float | None = None


class Processor:
    """The processor time of Postgres, Neo4j and the worker, with their child processes, in seconds."""

    def __init__(self, url: str, neo4j: LocalServer, worker: int) -> None:
        with psycopg.connect(url) as connection:
            row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None  # SHOW always answers
        postgres = int((Path(row[0]) / "postmaster.pid").read_text().split()[0])
        pids = {"worker": worker, "postgres": postgres, "neo4j": neo4j.pid}
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}

    def used(self) -> dict[str, float]:
        """Return the time used so far, by name, that of child processes that have ended included."""
        return {name: _used(process) for name, process in self._processes.items()}


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in process.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return float(total)


@dataclass(slots=True)
class Watch:
    """Makes edits in Neo4j, notes when each is undone, and notes the duration and the cost of the scrub's rounds."""

    mirror: Mirror
    url: str
    tenant: int
    processor: Processor
    made: list[Made]
    rounds: list[dict[str, Any]]

    async def run(self, records: Sequence[int], *, spread_s: float) -> None:
        """Edit the records, given by number, in turn over `spread_s`; return when all edits are undone.

        At least one round is waited for. Gives up GIVE_UP_S after the last edit.
        """
        began = time.monotonic()
        seen, cpu = await self._last_round(), self.processor.used()
        seen_at = began
        with progress() as bars:
            bar = bars.add_task("edits undone", total=len(records))
            while time.monotonic() < began + spread_s + GIVE_UP_S:
                now = time.monotonic()
                while len(self.made) < len(records) and now - began >= len(self.made) * spread_s / len(records):
                    await self._edit(records[len(self.made)])
                await self._look()
                bars.update(bar, completed=sum(one.took_s is not None for one in self.made))
                latest = await self._last_round()
                if latest["at"] != seen["at"]:
                    used, at = self.processor.used(), time.monotonic()
                    spent = {name: round(used[name] - cpu[name], 1) for name in used}
                    share = {name: round(value / (at - seen_at), 3) for name, value in spent.items()}
                    self.rounds.append({**latest, "cpu_s": spent, "share_of_one_core": share})
                    seen, cpu, seen_at = latest, used, at
                if self.rounds and len(self.made) == len(records) and all(one.took_s is not None for one in self.made):
                    return
                await asyncio.sleep(POLL_S)

    async def _edit(self, number: int) -> None:
        kind = list(KINDS)[len(self.made) % len(KINDS)]
        key = {"ten": self.tenant, "id": str(_id_of(number))}
        count = _RECORD + "RETURN COUNT { (n)-[:USES|MENTIONS]->() } AS relations"
        key |= (await self.mirror.read(count, key))[0]
        key["other"] = str(UUID(int=number))
        await self.mirror.write(KINDS[kind].make, **key)
        self.made.append(Made(kind=kind, parameters=key, at=time.monotonic()))

    async def _look(self) -> None:
        for one in self.made:
            if one.took_s is None:
                rows = await self.mirror.read(KINDS[one.kind].undone, one.parameters)
                if rows and rows[0]["undone"]:
                    one.took_s = time.monotonic() - one.at

    async def _last_round(self) -> dict[str, Any]:
        async with await psycopg.AsyncConnection.connect(self.url, row_factory=dict_row) as connection:
            found = await connection.execute(
                "SELECT last_checked_at AS at, last_check_rows AS compared, last_drift AS found,"
                " round(extract(epoch FROM last_checked_at - last_check_began_at), 1)::float8 AS seconds"
                " FROM mirror_leader WHERE mirror = %s",
                [CONSUMER],
            )
            row = await found.fetchone()
        assert row is not None
        return row


async def _measure(
    url: str, neo4j: LocalServer, *, records: int, per_record: int, edits: int, writes: float, spread_s: float
) -> tuple[dict[str, Any], Bound]:
    async with store(url, "scrub") as where, mirror_in(neo4j, Mirror) as mirror:
        caller = await where.directory.resolve(trust())
        filled = Filled(where=where, mirror=mirror, caller=caller, records=records, per_record=per_record)
        with progress() as bars:
            await filled.fill_truth(bars)
        worker = SyncWorker(where.database, where.directory, mirror, SyncConfig())
        await worker.run_once()  # rebuilds the mirror
        await worker.release()
        # Half of the records are written to, the others are edited.
        writer = Writer(where.url, caller.tenant.id, range(records // 2), writes, 1)
        chosen = random.Random(13).sample(range(records // 2, records), edits)
        with following(where.url, neo4j) as process:
            writing = asyncio.create_task(asyncio.to_thread(writer.run)) if writes else None
            processor = Processor(where.url, neo4j, process)
            watch = Watch(mirror, where.url, caller.tenant.id, processor, [], [])
            began = time.monotonic()
            try:
                await watch.run(chosen, spread_s=spread_s)
            finally:
                writer.stopped = True
                if writing is not None:
                    await writing
            took = time.monotonic() - began
    undone = {
        kind: summary([one.took_s for one in watch.made if one.kind == kind and one.took_s is not None])
        for kind in KINDS
        if any(one.kind == kind and one.took_s is not None for one in watch.made)
    }
    left = [one.kind for one in watch.made if one.took_s is None]
    slowest = max(GIVE_UP_S if one.took_s is None else one.took_s for one in watch.made)
    figures = {
        "records": records,
        "relations": records * per_record,
        "writes_per_s": round(writer.written / took, 1),
        "rounds": watch.rounds,
        "undone_after_s": undone,
        "never_undone": left,
    }
    return figures, Bound(name="s until the last edit was undone", value=round(slowest, 1), limit=UNDONE_S)


def _id_of(number: int) -> UUID:
    """Return the id that FILL_RECORDS gives to a record."""
    return UUID(hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest())


def main(
    records: Annotated[int, typer.Option(help="Number of records.", min=1_000)] = 100_000,
    per_record: Annotated[int, typer.Option(help="Relations from each record.", min=1)] = 2,
    edits: Annotated[int, typer.Option(help="Number of edits by hand.", min=1)] = 40,
    writes: Annotated[float, typer.Option(help="Records written each second during the scrub; 0 for none.")] = 50.0,
    heap: Annotated[str, typer.Option(help="Heap of Neo4j.")] = "1g",
    page_cache: Annotated[str, typer.Option(help="Page cache of Neo4j.")] = "512m",
    quick: Annotated[bool, typer.Option("--quick", help="Use 2,000 records, and make the edits within 60 s.")] = False,
) -> None:
    """Edit the mirror by hand while its worker runs, in a process of its own, and records are written.

    Prints how long the edits stayed, how long the scrub's rounds took, and the processor time of Postgres, Neo4j and
    the worker from one round's end to the next, the following of the writes included. Bound: every edit is undone
    within ten minutes. Prints one JSON document; exits 1 if the bound is missed.
    """
    if quick:
        records = 2_000
    with server() as url, neo4j_server(heap, page_cache) as neo4j:
        figures, bound = asyncio.run(
            _measure(
                url,
                neo4j,
                records=records,
                per_record=per_record,
                edits=edits,
                writes=writes,
                spread_s=60.0 if quick else SPREAD_S,
            )
        )
        about = machine(url)
    report("scrub", figures, bounds=[bound], machine=about)


if __name__ == "__main__":
    typer.run(main)
