"""A graph in both stores, for benchmarks: the same records and relations, loaded in bulk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import platformdirs
import psycopg
from harness import Store, people
from neo4j_import import GENERATION, import_files, write_files
from rich.progress import Progress
from sqlalchemy import text

from stratagraph.graph_sync.checkpoints import checkpoint_key
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import SCHEMA
from stratagraph.service.local_neo4j import LINES, LocalNeo4j, LocalServer
from stratagraph.service.local_neo4j.password import credentials
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.words import DIMENSIONS

SCOPES = ("", *(f"team/{number}" for number in range(29)))
PREDICATES = ("uses", "mentions")
SNAPSHOT = 1
WRITTEN_AT_ONCE = 50_000  # rows in one transaction of Postgres

# The smallest change, and the same change with its row of the log, in one statement each.
BARE_WRITE = "UPDATE record SET row_version = row_version + 1 WHERE tenant = {tenant} AND id = md5(({n})::text)::uuid"
LOGGED_WRITE = (
    "WITH written AS ("  # noqa: S608 - contains no input
    + BARE_WRITE
    + " RETURNING tenant, id, row_version) INSERT INTO sync_log"
    " (shard, tenant, kind, id, version, op)"
    " SELECT get_byte(uuid_send(id), 15) & 15, tenant, 1, id, row_version, 'U' FROM written"
)

# Targets are skewed by the cube: among 200,000 records, one has 1.7 % of the edges, and a tenth of the edges lead to
# hubs with more edges than a walk follows. Ids are computed from the numbers.
FILL_RECORDS = """
    INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload,
      provenance, created_at, occurred_at, updated_at, version, row_version, terms, impacts)
    SELECT :tenant, md5(n::text)::uuid, 1, (CAST(:scopes AS integer[]))[1 + n % :spread], n % 5,
      CASE WHEN n % 20 = 0 THEN 3 ELSE 1 END, 0.8, '{}', 'event ' || n, 'what happened', '{"kind": "episodic"}',
      '{"sources": []}', :at, :at, :at, 1, 1, '{}', CAST(:impacts AS sparsevec)
    FROM generate_series(CAST(:first AS bigint), :last) AS n
"""
FILL_RELATIONS = """
    INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version)
    SELECT :tenant, md5('r' || n)::uuid, md5((n % :records)::text)::uuid, md5(target::text)::uuid,
      (CAST(:predicates AS integer[]))[1 + n % 2], random(), :at, 1
    FROM generate_series(CAST(:first AS bigint), :last) AS n,
      LATERAL (SELECT floor(:records * power(random() + 0 * n, 3))::bigint AS target) AS skewed
    ON CONFLICT DO NOTHING
"""
MIRROR_POSITION = "UNWIND $keys AS k CREATE (:SyncCheckpoint {k: k, gen: $gen, snapshot: $snapshot})"

M = TypeVar("M", bound=Mirror)


@contextmanager
def neo4j_server(heap: str, page_cache: str, files: Path | None = None) -> Iterator[LocalServer]:
    """Run a Neo4j of the long-term line in a temporary directory.

    With `files`, import the graph that `Filled.write_files` wrote there.
    """
    home = Path(tempfile.mkdtemp(prefix="stratagraph-bench-neo4j-"))
    cache = platformdirs.user_cache_path("stratagraph") / "neo4j"
    local = LocalNeo4j(home, cache)
    try:
        if files is not None:
            people.print("importing into Neo4j")
            import_files(home, cache, files)
        yield local.start(version=LINES[1].version, heap=heap, page_cache=page_cache)
    finally:
        local.stop()
        shutil.rmtree(home, ignore_errors=True)


def mirror_in(server: LocalServer, kind: type[M]) -> M:
    """Return a mirror of the class `kind` in a server."""
    return kind(server.bolt, user=None, password=None, database="neo4j", credentials=lambda: credentials(server.home))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The same graph in Postgres and Neo4j."""

    where: Store
    mirror: Mirror | None  # None where only Postgres is filled
    caller: Caller
    records: int
    per_record: int

    @property
    def neo4j(self) -> Mirror:
        assert self.mirror is not None
        return self.mirror

    async def fill_truth(self, bars: Progress) -> None:
        tenant = self.caller.tenant
        scopes = await self.where.directory.scopes(tenant, SCOPES, create=True)
        predicates = await self.where.directory.predicates(tenant, PREDICATES)
        values: dict[str, Any] = {
            "tenant": tenant.id,
            "records": self.records,
            "scopes": [scopes[name] for name in SCOPES],
            "spread": len(SCOPES),
            "predicates": [predicates[name] for name in PREDICATES],
            "at": datetime.now(UTC),
            "impacts": f"{{1:0.5}}/{DIMENSIONS}",
        }
        for statement, rows in ((FILL_RECORDS, self.records), (FILL_RELATIONS, self.per_record * self.records)):
            bar = bars.add_task("filling Postgres", total=rows)
            for first in range(0, rows, WRITTEN_AT_ONCE):
                values |= {"first": first, "last": min(rows, first + WRITTEN_AT_ONCE) - 1}
                named = {name: value for name, value in values.items() if f":{name}" in statement}
                async with self.where.database.engine.begin() as connection:
                    # Skips the checks of foreign keys, which these rows satisfy.
                    await connection.execute(text("SET LOCAL session_replication_role = replica"))
                    await connection.execute(text("SELECT setseed(:seed)"), {"seed": first / (2 * rows)})
                    await connection.execute(text(statement), named)
                bars.update(bar, completed=values["last"] + 1)
        async with await psycopg.AsyncConnection.connect(self.where.url, autocommit=True) as connection:
            await connection.execute("VACUUM (ANALYZE) record, relation")  # as autovacuum does after a while

    async def write_files(self, directory: Path, bars: Progress) -> None:
        """Write the graph to files from which `neo4j_server` can import it."""
        predicates = await self.where.directory.predicates(self.caller.tenant, PREDICATES)
        await write_files(
            self.where.database,
            self.caller.tenant.id,
            {number: name for name, number in predicates.items()},
            directory,
            total=(1 + self.per_record) * self.records,
            bars=bars,
        )

    async def make_mirror(self) -> None:
        """Create the mirror's indexes and checkpoints."""
        for line in SCHEMA:
            await self._commit(line)
        await self._commit("CALL db.awaitIndexes(600)")
        keys = [checkpoint_key(cursor) for cursor in range(SHARDS)]
        await self._commit(MIRROR_POSITION, keys=keys, gen=GENERATION, snapshot=SNAPSHOT)

    async def _commit(self, statement: str, **parameters: object) -> None:
        async with self.neo4j.driver.session(database=self.neo4j.database) as session:
            await (await session.run(statement, parameters)).consume()
