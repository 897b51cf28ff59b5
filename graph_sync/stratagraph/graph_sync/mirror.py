"""The mirror itself: one Neo4j database, written idempotently and read for its checkpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, Query
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from stratagraph.graph_sync.mapping import as_columns, relationship_type
from stratagraph.graph_sync.statements import SCHEMA, of_each_type, of_type, relation_constraint, statement
from stratagraph.store.feed.consumer import Kind
from stratagraph.store.mirror.generations import Numbers, Start
from stratagraph.store.mirror.source import Place, Sums, Told
from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

CONNECT_TIMEOUT_S = 5.0
WRITE_RETRY_S = 3.0  # for deadlocks; an outage is waited out by the worker, which looks again sooner than the driver


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far the mirror has come in one cursor's shards, in whose history, for which generation."""

    tick: int
    nonce: UUID
    incarnation: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a generation has been written: after `place` the next page of `kind` begins."""

    generation: int
    kind: Kind
    place: Place | None
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """As whom a transaction writes: the checkpoints it locks, and the generations that its rows carry."""

    keys: tuple[str, ...]
    numbers: Numbers


class GenerationChanged(Exception):
    """Another generation has begun than the one that the rows to be written carry."""


@dataclass(slots=True, kw_only=True)
class MirrorBatch:
    """Changes to write in one transaction. Relations are grouped by predicate, and so are their deletions, but for
    those whose predicate is gone with them."""

    tenants: set[int] = field(default_factory=set)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    dead_nodes: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    dead_relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    lost_relations: list[dict[str, Any]] = field(default_factory=list)


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
        self.forget_types()
        for line in SCHEMA:
            await self._shape(line)

    def forget_types(self) -> None:
        """It may be another database by now, without the constraints that were made."""
        self._constrained.clear()

    async def prepare_types(self, predicates: Sequence[str]) -> None:
        """A relationship type has its constraint before its first use, or its first relations are unguarded."""
        for predicate in predicates:
            name = relationship_type(predicate)
            if name not in self._constrained:
                await self._shape(relation_constraint(name))
                self._constrained.add(name)

    async def apply(
        self,
        batch: MirrorBatch,
        hold: Hold,
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write `batch` and how far it reaches, in one transaction; again is harmless.

        Raises GenerationChanged; MirrorUnavailable when Neo4j cannot be reached or was emptied; and the driver's
        Neo4jError when it refuses the data.
        """
        await self.prepare_types([*batch.relations, *batch.dead_relations])
        types = await self.relationship_types() if batch.lost_relations else ()

        async def work(transaction: AsyncManagedTransaction) -> None:
            await _take_hold(transaction, hold, batch.tenants)
            await _write(transaction, batch, types)
            if checkpoint is not None:
                await transaction.run(
                    statement("checkpoint"),
                    keys=sorted(hold.keys),
                    tick=checkpoint.tick,
                    nonce=str(checkpoint.nonce),
                    incarnation=checkpoint.incarnation,
                )
            if progress is not None:
                place = progress.place
                await transaction.run(
                    statement("progress"),
                    gen=progress.generation,
                    kind=int(progress.kind),
                    ten=place.tenant if place is not None else None,
                    id=str(place.id) if place is not None else None,
                    done=progress.done,
                )

        async with translated(), self.driver.session(database=self.database) as session:
            await session.execute_write(work)

    async def checkpoints(self) -> dict[str, Checkpoint]:
        """All that are whole, by key."""
        found = (await self.read(statement("read_checkpoints"), {}))[0]["found"]
        return {
            row["k"]: Checkpoint(
                tick=row["tick"], nonce=UUID(row["nonce"]), incarnation=row["incarnation"], generation=row["gen"]
            )
            for row in found
            if row["tick"] is not None and row["nonce"] is not None
        }

    async def newest_generation(self) -> int:
        """The highest generation the mirror has seen, also one that a lost database started."""
        return int((await self.read(statement("newest_generation"), {}))[0]["gen"])

    async def begin_generation(self, keys: Sequence[str], generation: int, start: Start) -> None:
        """Turn older generations away, and stand at `start`."""
        await self._commit_alone(
            statement("begin_generation"),
            keys=sorted(keys),
            gen=generation,
            tick=start.tick,
            nonce=str(start.nonce),
            incarnation=start.incarnation,
        )

    async def renew_generation(self, keys: Sequence[str], generation: int, *, tenant: int | None) -> None:
        """Turn older generations away, of one tenant or of all, and stay where it is."""
        if tenant is None:
            await self._commit_alone(statement("renew_generation"), keys=sorted(keys), gen=generation)
        else:
            await self._commit_alone(
                statement("begin_tenant_generation"), keys=sorted(keys), gen=generation, ten=tenant
            )

    async def progress(self, generation: int) -> Progress | None:
        """How far a generation has been written, None where nothing of it has."""
        rows = await self.read(statement("read_progress"), {"gen": generation})
        if not rows:
            return None
        row = rows[0]
        place = Place(tenant=row["ten"], id=UUID(row["id"])) if row["id"] is not None else None
        return Progress(generation=generation, kind=Kind(row["kind"]), place=place, done=row["done"])

    async def end_progress(self, generation: int) -> None:
        await self._commit_alone(statement("end_progress"), gen=generation)

    async def next_tenant(self, after: int) -> int | None:
        """The next tenant of whom the mirror holds anything."""
        rows = await self.read(statement("next_tenant"), {"after": after})
        return int(rows[0]["ten"]) if rows else None

    async def relationship_types(self) -> tuple[str, ...]:
        """The types that relations have here, or had."""
        found = (await self.read(statement("relationship_types"), {}))[0]["types"]
        return tuple(sorted(found))

    async def sweep(self, tenant: int, generation: int) -> None:
        """Remove what older generations left of a tenant."""
        for one in await self.relationship_types():
            await self._commit_alone(of_type("sweep_relations", one), ten=tenant, gen=generation)
        for name in ("sweep_ends", "sweep_nodes", "sweep_tombstones"):
            await self._commit_alone(statement(name), ten=tenant, gen=generation)

    async def bury(self, *, most: int) -> int:
        """Remove tombstones that guard against nothing any more; returns how many."""
        async with translated(), self.driver.session(database=self.database) as session:
            result = await session.run(statement("bury_tombstones"), most=most)
            return int((await result.single(strict=True))["buried"])

    async def tell(self, **properties: Any) -> None:
        """Write the node that tells people how fresh the mirror is."""
        await self._commit_alone(statement("tell"), **properties)

    async def counts(self) -> tuple[int, int]:
        """Nodes and relations that readers can see."""
        row = (await self.read(statement("count"), {}))[0]
        return row["nodes"], row["relations"]

    async def sums(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> Sums:
        """A bucket, as the mirror has it."""
        text = statement("sum_nodes")
        if kind is Kind.RELATION:
            types = await self.relationship_types()
            if not types:
                return Sums(count=0, versions=0, digests=0)
            text = of_each_type("sum_relations", types, count="sum", versions="sum", digests="sum")
        row = (await self.read(text, _range(tenant, after, upto)))[0]
        return Sums(count=row["count"], versions=row["versions"], digests=row["digests"])

    async def told(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> dict[UUID, Told]:
        """A bucket, one by one, as the mirror has it."""
        texts = [statement("list_nodes")]
        if kind is Kind.RELATION:
            texts = [of_type("list_relations", one) for one in await self.relationship_types()]
        found = {}
        for text in texts:
            row = (await self.read(text, _range(tenant, after, upto)))[0]
            for id_, version, digest in zip(row["id"], row["version"], row["digest"], strict=True):
                found[UUID(id_)] = Told(version=version, digest=digest)
        return found

    async def shown_nodes(self, tenant: int, ids: Sequence[UUID]) -> list[dict[str, Any]]:
        """Everything shown of some records: labels, properties, steps and their links."""
        rows = await self.read(statement("show_nodes"), {"ten": tenant, "ids": [str(id_) for id_ in ids]})
        return list(rows[0]["found"])

    async def shown_relations(self, tenant: int, predicate: str, ids: Sequence[UUID]) -> list[dict[str, Any]]:
        """Everything shown of some relations of one predicate: ends and properties."""
        name = relationship_type(predicate)
        if name not in await self.relationship_types():
            return []
        text = of_type("show_relations", name)
        return list((await self.read(text, {"ten": tenant, "ids": [str(id_) for id_ in ids]}))[0]["found"])

    async def read(
        self, text: str, parameters: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> list[dict[str, Any]]:
        """One read, not retried: the caller has another way. Raises MirrorUnavailable, also when it takes too long."""
        try:
            async with translated(), self.driver.session(database=self.database, default_access_mode="READ") as session:
                result = await session.run(Query(text, timeout=timeout_s), dict(parameters))
                return [dict(record) for record in await result.fetch(1_000)]
        except Neo4jError as error:
            raise MirrorUnavailable(f"Neo4j does not answer: {error.code}") from error

    async def _shape(self, text: str) -> None:
        """Create a constraint or an index where there is none. A crash of Neo4j in the middle of creating a constraint
        leaves its index, which bears the name and belongs to nothing: it goes first."""
        try:
            await self._commit_alone(text)
        except Neo4jError as error:
            if error.code != "Neo.ClientError.Schema.IndexWithNameAlreadyExists":
                raise
            await self._commit_alone(f"DROP INDEX {text.split()[2]} IF EXISTS")
            await self._commit_alone(text)

    async def _commit_alone(self, text: str, **parameters: Any) -> None:
        async with translated(), self.driver.session(database=self.database) as session:
            result = await session.run(text, parameters)
            await result.consume()


async def _take_hold(transaction: AsyncManagedTransaction, hold: Hold, tenants: set[int]) -> None:
    result = await transaction.run(statement("hold"), keys=sorted(hold.keys), tenants=sorted(tenants))
    held = await result.single()
    if held is None or len(held["gens"]) < len(hold.keys):
        raise MirrorUnavailable("The mirror has lost its place in the change feed: it was emptied or replaced.")
    own = dict(zip(held["tenants"], held["own"], strict=True))
    for tenant in tenants or {0}:
        if max(*held["gens"], own.get(tenant, 0)) != hold.numbers.of(tenant):
            raise GenerationChanged


async def _write(transaction: AsyncManagedTransaction, batch: MirrorBatch, types: Sequence[str]) -> None:
    """Nodes before relations, each sorted by key: transactions that meet take their locks in one order."""
    if batch.nodes:
        nodes = [as_columns(row) for row in _sorted(batch.nodes)]
        result = await transaction.run(statement("upsert_nodes"), rows=nodes)
        record = await result.single(strict=True)
        written = set(record["written"])
        plans = [plan for plan in batch.plans if plan["id"] in written]
        if plans:
            await transaction.run(statement("replace_plans"), rows=plans)
    if batch.dead_nodes:
        await transaction.run(statement("delete_nodes"), rows=_sorted(batch.dead_nodes))
    for predicate, rows in sorted(batch.relations.items()):
        columns = [as_columns(row) for row in _sorted(rows)]
        await transaction.run(of_type("upsert_relations", relationship_type(predicate)), rows=columns)
    dead = [row for rows in batch.dead_relations.values() for row in rows] + batch.lost_relations
    if dead:
        await transaction.run(statement("bury_relations"), rows=_sorted(dead))
    for predicate, rows in sorted(batch.dead_relations.items()):
        await transaction.run(of_type("cut_relations", relationship_type(predicate)), rows=_sorted(rows))
    if batch.lost_relations:
        for one in types:
            await transaction.run(of_type("cut_relations", one), rows=_sorted(batch.lost_relations))


def _range(tenant: int, after: UUID, upto: UUID | None) -> dict[str, Any]:
    """Keys after one and up to another; without that, `~` comes after every id."""
    return {"ten": tenant, "after": str(after), "upto": "~" if upto is None else str(upto)}


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
