"""The mirror itself: one Neo4j database, written idempotently and read for its checkpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, Query
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from stratagraph.graph_sync.mapping import relationship_type
from stratagraph.graph_sync.statements import SCHEMA, of_type, relation_constraint, statement
from stratagraph.store.errors import MirrorUnavailable, Misconfigured

CONNECT_TIMEOUT_S = 5.0
WRITE_RETRY_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far the mirror has come, in whose history: the tick, its nonce, the database's incarnation."""

    tick: int
    nonce: UUID
    incarnation: str
    generation: int


@dataclass(slots=True, kw_only=True)
class MirrorBatch:
    """Changes to write in one transaction. Relations and their deletions are grouped by predicate."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    dead_nodes: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    dead_relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


class Mirror:
    """One Neo4j database. Open with `async with`, in the event loop that will use it."""

    def __init__(self, uri: str, *, user: str | None, password: str | None, database: str) -> None:
        self.uri = uri
        self.database = database
        try:
            self.driver: AsyncDriver = AsyncGraphDatabase.driver(
                uri,
                auth=(user, password or "") if user else None,
                connection_timeout=CONNECT_TIMEOUT_S,
                connection_acquisition_timeout=CONNECT_TIMEOUT_S,
                max_transaction_retry_time=WRITE_RETRY_S,
                initial_retry_delay=0.05,
                # A relationship type nobody has used yet is no news to us.
                notifications_min_severity="OFF",
            )
        except (DriverError, ValueError) as error:
            raise Misconfigured(f"STRATAGRAPH_NEO4J_URI: {error}") from error
        self._constrained: set[str] = set()

    async def __aenter__(self) -> Mirror:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.driver.close()

    async def ping(self) -> None:
        async with translated():
            await self.driver.verify_connectivity()

    async def prepare(self) -> None:
        """Constraints and indexes. Harmless to repeat, and repeated after an outage: it may be another database."""
        self._constrained.clear()
        for line in SCHEMA:
            await self._commit_alone(line)

    async def prepare_types(self, predicates: Sequence[str]) -> None:
        """A relationship type has its constraint before its first use, or its first relations are unguarded."""
        for predicate in predicates:
            name = relationship_type(predicate)
            if name not in self._constrained:
                await self._commit_alone(relation_constraint(name))
                self._constrained.add(name)

    async def apply(self, batch: MirrorBatch, *, generation: int, checkpoint: Checkpoint | None, key: str) -> None:
        """Write `batch` and how far it reaches, in one transaction; again is harmless.

        Raises MirrorUnavailable when Neo4j cannot be reached or holds another generation (it was emptied, or another
        worker reads everything afresh), and the driver's Neo4jError when it refuses the data.
        """
        await self.prepare_types([*batch.relations, *batch.dead_relations])

        async def work(transaction: AsyncManagedTransaction) -> None:
            held = await (await transaction.run(statement("hold_generation"), k=key)).single()
            if held is None or held["gen"] != generation:
                raise MirrorUnavailable(f"The mirror does not hold generation {generation} of this worker (any more).")
            await _write(transaction, batch, generation)
            if checkpoint is not None:
                await transaction.run(
                    statement("checkpoint"),
                    k=key,
                    tick=checkpoint.tick,
                    nonce=str(checkpoint.nonce),
                    incarnation=checkpoint.incarnation,
                )

        async with translated(), self.driver.session(database=self.database) as session:
            await session.execute_write(work)

    async def checkpoint(self, key: str) -> Checkpoint | None:
        rows = await self.read(statement("read_checkpoint"), {"k": key})
        if not rows:
            return None
        row = rows[0]
        return Checkpoint(
            tick=row["tick"], nonce=UUID(row["nonce"]), incarnation=row["incarnation"], generation=row["gen"]
        )

    async def begin_generation(self, key: str, generation: int) -> None:
        """Forget how far the mirror is, and turn older generations away."""
        await self._commit_alone(statement("begin_generation"), k=key, gen=generation)

    async def newest_generation(self) -> int:
        """The highest generation the mirror has begun, also one that a lost database started."""
        rows = await self.read("MATCH (c:SyncCheckpoint) RETURN max(c.gen) AS gen", {})
        return int(rows[0]["gen"] or 0)

    async def sweep(self, generation: int) -> None:
        """Remove what older generations left."""
        for name in ("sweep_relations", "sweep_ends", "sweep_nodes", "sweep_tombstones"):
            await self._commit_alone(statement(name), gen=generation)

    async def counts(self) -> tuple[int, int]:
        """Nodes and relations that readers can see."""
        row = (await self.read(statement("count"), {}))[0]
        return row["nodes"], row["relations"]

    async def read(
        self, text: str, parameters: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> list[dict[str, Any]]:
        """One read, not retried: the caller has another way. Raises MirrorUnavailable, also when it takes too long."""
        try:
            async with translated(), self.driver.session(database=self.database, default_access_mode="READ") as session:
                result = await session.run(Query(text, timeout=timeout_s), dict(parameters))
                return [record.data() for record in await result.fetch(1_000)]
        except Neo4jError as error:
            raise MirrorUnavailable(f"Neo4j does not answer: {error.code}") from error

    async def _commit_alone(self, text: str, **parameters: Any) -> None:
        async with translated(), self.driver.session(database=self.database) as session:
            result = await session.run(text, parameters)
            await result.consume()


async def _write(transaction: AsyncManagedTransaction, batch: MirrorBatch, generation: int) -> None:
    """Nodes before relations, each sorted by key: transactions that meet take their locks in one order."""
    if batch.nodes:
        result = await transaction.run(statement("upsert_nodes"), rows=_sorted(batch.nodes), gen=generation)
        record = await result.single(strict=True)
        written = set(record["written"])
        plans = [plan for plan in batch.plans if plan["id"] in written]
        if plans:
            await transaction.run(statement("replace_plans"), rows=plans)
    if batch.dead_nodes:
        await transaction.run(statement("delete_nodes"), rows=_sorted(batch.dead_nodes), gen=generation)
    for name, groups in (("upsert_relations", batch.relations), ("delete_relations", batch.dead_relations)):
        for predicate, rows in sorted(groups.items()):
            await transaction.run(of_type(name, relationship_type(predicate)), rows=_sorted(rows), gen=generation)


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["ten"], row["id"]))


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    """An outage becomes MirrorUnavailable; a refusal of the data stays what it is, so that it can be parked."""
    try:
        yield
    except AuthError as error:
        raise MirrorUnavailable(
            "Neo4j refuses the credentials; check STRATAGRAPH_NEO4J_USER and STRATAGRAPH_NEO4J_PASSWORD."
        ) from error
    except Neo4jError as error:
        if error.is_retryable() or (error.code or "").startswith("Neo.TransientError"):
            raise MirrorUnavailable(f"Neo4j cannot answer now: {error.code}") from error
        raise
    except (DriverError, OSError) as error:
        raise MirrorUnavailable(f"Neo4j cannot be reached: {type(error).__name__}") from error
