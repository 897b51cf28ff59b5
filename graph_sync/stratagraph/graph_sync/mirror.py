"""The mirror: one Neo4j database, written idempotently, with its checkpoints and generations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import UUID

from neo4j import Address, AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, Query
from neo4j.exceptions import DriverError, Neo4jError

from stratagraph.graph_sync.batches import (
    Checkpoint,
    CheckpointLock,
    MirrorBatch,
    Progress,
    lock_checkpoints,
    save_progress,
    write_batch,
)
from stratagraph.graph_sync.driver import PresentCredentials, translated
from stratagraph.graph_sync.mapping import PLAN_PROPERTIES, RELATIONSHIP_TYPES, RESERVED, VERSION, relationship_type
from stratagraph.graph_sync.statements import SCHEMA, UUID_PATTERN, of_type, relation_constraint, statement
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.generations import GenerationNumbers, StartPosition
from stratagraph.store.mirror.source import ScanPosition
from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

CONNECT_TIMEOUT_S = 5.0
# After this time a connection is replaced. Names are resolved for each new connection, so this bounds how long a mirror
# is still read and written at an address that its name no longer has.
CONNECTION_LIFETIME_S = 60.0
FIND_S = 1.0  # between two looks whether the local server has been started
WRITE_WITHIN_S = 60.0  # of a batch; a server that vanished without closing its connections does not answer at all
_IN_THE_WAY = {
    f"Neo.ClientError.Schema.{one}"
    for one in ("ConstraintWithNameAlreadyExists", "IndexAlreadyExists", "ConstraintAlreadyExists")
}
WRITE_RETRY_S = 3.0  # for deadlocks; an outage is waited out by the worker, which retries sooner than the driver


class Mirror:
    """One Neo4j database. Open it with `async with`, in the event loop that uses it.

    The constructor raises Misconfigured for an invalid URI.
    """

    def __init__(
        self,
        uri: str,
        *,
        user: str | None,
        password: str | None,
        database: str,
        locate: Callable[[], str | None] | None = None,
        credentials: Callable[[], tuple[str, str] | None] | None = None,
    ) -> None:
        """Without `locate`, the server is at `uri`, whose host name is resolved for each new connection.

        With it, `uri` is only the form of the address. `locate` returns the present one, None while the server does not
        run, and is called for each new connection; it may not block. `credentials`, if given, returns the present user
        name and password in place of `user` and `password`, or None for a server that asks for none. It is called each
        time a connection is used; it may not block either.
        """
        self.uri = uri
        self.database = database
        self._locate = locate
        self._is_found = locate is None
        try:
            self.driver: AsyncDriver = AsyncGraphDatabase.driver(
                uri,
                auth=PresentCredentials(credentials) if credentials else (user, password or "") if user else None,
                resolver=self._resolve,
                connection_timeout=CONNECT_TIMEOUT_S,
                connection_acquisition_timeout=CONNECT_TIMEOUT_S,
                max_connection_lifetime=CONNECTION_LIFETIME_S,
                max_transaction_retry_time=WRITE_RETRY_S,
                initial_retry_delay=0.05,
                # Neo4j would warn of every relationship type that has not been used yet.
                notifications_min_severity="OFF",
            )
        except (DriverError, ValueError) as error:
            raise Misconfigured(
                f"STRATAGRAPH_NEO4J_URI: {error}. Write an address such as bolt://localhost:7687."
            ) from error
        self._constrained: set[str] = set()

    @property
    def is_found(self) -> bool:
        """Whether the server has run since this process began. True for good once it has, and for a configured one."""
        if not self._is_found:
            self._present_uri()
        return self._is_found

    async def found(self) -> None:
        """Wait until the server has run once."""
        while not self.is_found:  # noqa: ASYNC110 - another process starts it
            await asyncio.sleep(FIND_S)

    def _present_uri(self) -> str | None:
        uri = self._locate() if self._locate is not None else self.uri
        if uri is not None:
            self.uri, self._is_found = uri, True
        return uri

    def _resolve(self, address: Address) -> list[Address]:
        """Return the addresses for a new connection, in place of `address`; the driver then resolves their names.

        Raises MirrorUnavailable if the server does not run.
        """
        if self._locate is None:
            return [address]
        uri = self._present_uri()
        if uri is None:
            raise MirrorUnavailable("The local Neo4j does not run; start it with `stratagraph neo4j start`.")
        return [Address.parse(urlsplit(uri).netloc)]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.driver.close()

    async def ping(self) -> None:
        """Raise MirrorUnavailable if Neo4j does not answer."""
        async with translated():
            await self.driver.verify_connectivity()

    async def prepare(self) -> None:
        """Create the missing constraints and indexes, except those of relationship types (`prepare_types`), and names.

        Neo4j warns of names in a query that it has never seen, so all labels and types are created at once.
        Repeat it after an outage: the database may be another one.
        """
        self.forget_types()
        for line in SCHEMA:
            await self.create(line)
        names = {"labels": list(RESERVED), "types": list(RELATIONSHIP_TYPES), "properties": list(PLAN_PROPERTIES)}
        await self._commit_alone(statement("create_names"), **names)

    def forget_types(self) -> None:
        """Forget which relationship types have a constraint, because the database may be another one now."""
        self._constrained.clear()

    async def prepare_types(self, predicates: Sequence[str]) -> None:
        """Create the missing uniqueness constraints of the relationship types of `predicates`.

        Without them, two writers could create one relation twice.
        """
        for predicate in predicates:
            name = relationship_type(predicate)
            if name not in self._constrained:
                await self.create(relation_constraint(name))
                self._constrained.add(name)

    async def apply(
        self,
        batch: MirrorBatch,
        lock: CheckpointLock,
        *,
        checkpoint: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write a batch in one transaction, with the new `checkpoint` or `progress` if given.

        Repeating it changes nothing.

        Raises GenerationChanged; MirrorUnavailable if Neo4j cannot be reached or was emptied; and the driver's
        Neo4jError if Neo4j refuses the data.
        """
        await self.prepare_types([*batch.relations, *batch.deleted_relations])
        types = await self.relationship_types() if batch.untyped_deletions else ()

        async def work(transaction: AsyncManagedTransaction) -> None:
            await lock_checkpoints(transaction, lock, batch.tenants, checkpoint)
            await write_batch(transaction, batch, types)
            if progress is not None:
                await save_progress(transaction, progress)

        async with (
            translated(),
            asyncio.timeout(WRITE_WITHIN_S),
            self.driver.session(database=self.database) as session,
        ):
            await session.execute_write(work)

    async def checkpoints(self) -> dict[str, Checkpoint]:
        """Return the checkpoints, by key.

        A checkpoint without a snapshot is left out; so is one under which another version wrote the mirror.
        """
        found = (await self.read(statement("read_checkpoints"), {"uuid": UUID_PATTERN}))[0]["found"]
        return {
            row["k"]: Checkpoint(
                snapshot=row["snapshot"],
                nonce=UUID(row["nonce"]),
                incarnation=row["incarnation"],
                generation=row["gen"],
                seq=row["seq"] or 0,
            )
            for row in found
            if row["snapshot"] is not None and row["nonce"] is not None and row["mapping"] == VERSION
        }

    async def newest_generation(self) -> int:
        """Return the highest generation number stored in the mirror, including those that a lost database began."""
        return int((await self.read(statement("read_newest_generation"), {}))[0]["gen"])

    async def is_complete(self, numbers: GenerationNumbers) -> bool:
        """Return whether no rebuild is under way in the mirror, and its tenants' generations are those of `numbers`."""
        row = (await self.read(statement("read_rebuilds"), {}))[0]
        found = GenerationNumbers(whole=numbers.whole, by_tenant=dict(zip(row["tenants"], row["gens"], strict=True)))
        tenants = {*found.by_tenant, *numbers.by_tenant}
        return not row["rebuilding"] and all(found.of(tenant) == numbers.of(tenant) for tenant in tenants)

    async def begin_generation(self, keys: Sequence[str], generation: int, start: StartPosition) -> None:
        """Store a new generation in the checkpoints `keys` and move them to `start`.

        From then on, writers of older generations are refused.
        """
        await self._commit_alone(
            statement("begin_generation"),
            keys=sorted(keys),
            gen=generation,
            snapshot=start.snapshot,
            nonce=str(start.nonce),
            incarnation=start.incarnation,
            mapping=VERSION,
        )

    async def renew_generation(self, keys: Sequence[str], generation: int, *, tenant: int | None) -> None:
        """Store a new generation for one tenant or, with None, the whole mirror, without moving the checkpoints `keys`.

        From then on, writers of older generations are refused.
        """
        if tenant is None:
            await self._commit_alone(statement("renew_generation"), keys=sorted(keys), gen=generation)
        else:
            await self._commit_alone(
                statement("begin_tenant_generation"), keys=sorted(keys), gen=generation, ten=tenant
            )

    async def progress(self, generation: int) -> Progress | None:
        """Return how far a rebuild has written the generation; None if it has written no page."""
        rows = await self.read(statement("read_progress"), {"gen": generation, "uuid": UUID_PATTERN})
        if not rows:
            return None
        row = rows[0]
        position = ScanPosition(tenant=row["ten"], id=UUID(row["id"])) if row["id"] is not None else None
        return Progress(generation=generation, kind=Kind(row["kind"]), position=position, done=row["done"])

    async def delete_progress(self, generation: int) -> None:
        """Delete the stored progress of a completed generation and of all older ones."""
        await self._commit_alone(statement("delete_progress"), gen=generation)

    async def next_tenant(self, after: int) -> int | None:
        """Return the lowest tenant number above `after` that has a node in the mirror; None if there is none."""
        rows = await self.read(statement("fetch_next_tenant"), {"after": after})
        return int(rows[0]["ten"]) if rows else None

    async def relationship_types(self) -> tuple[str, ...]:
        """Return the relationship types of all relations that are or were in the mirror, sorted."""
        found = (await self.read(statement("list_relationship_types"), {}))[0]["types"]
        return tuple(sorted(found))

    async def used_types(self, names: Collection[str]) -> list[str]:
        """Return those of the relationship types `names` that any relationship has, sorted."""
        known = set(await self.all_types())
        wanted = sorted(known & set(names))
        if not wanted:
            return []
        counts = (f"MATCH ()-[x:`{one}`]->() RETURN '{one}' AS type, count(x) AS count" for one in wanted)
        text = (
            "CALL () {\n"
            + "\nUNION ALL\n".join(counts)
            + "\n}\nWITH type, count WHERE count > 0 RETURN collect(type) AS types"
        )
        return sorted((await self.read(text, {}))[0]["types"])

    async def all_types(self) -> list[str]:
        """Return all relationship types of the database, also those of other people."""
        text = "CALL db.relationshipTypes() YIELD relationshipType AS type RETURN collect(type) AS types"
        return sorted((await self.read(text, {}))[0]["types"])

    async def count_elements(self, element: str) -> int:
        """Return how many nodes or relationships the pattern `element` of one label or type has: (x:`Tool`).

        The pattern is inserted into the text. Neo4j keeps these counts, so that nothing is scanned.
        """
        return int((await self.read(f"MATCH {element} RETURN count(x) AS count", {}))[0]["count"])

    async def delete_elements(self, elements: Sequence[int], *, of_relationships: bool) -> None:
        """Delete relationships, or nodes with their relationships, by internal id, a thousand at a time."""
        if of_relationships:
            match = "MATCH ()-[x]->() WHERE id(x) = element"
        else:
            match = "MATCH (n) WHERE id(n) = element MATCH (n)-[x]-()"
        text = f"UNWIND $elements AS element {match} CALL (x) {{ DELETE x }} IN TRANSACTIONS OF 1000 ROWS"
        await self._commit_alone(text, elements=list(elements))
        if not of_relationships:
            text = "UNWIND $elements AS element MATCH (n) WHERE id(n) = element DETACH DELETE n"
            await self._commit_alone(text, elements=list(elements))

    async def write(self, text: str, **parameters: Any) -> None:
        """Run one writing statement, in a transaction of its own or in those that it begins itself.

        Raises MirrorUnavailable, or the driver's Neo4jError if Neo4j refuses it.
        """
        await self._commit_alone(text, **parameters)

    async def prune(self, tenant: int, generation: int) -> None:
        """Delete a tenant's nodes, relationships and tombstones whose generation is older than `generation`.

        Tools that nothing uses any longer are deleted as well.
        """
        for one in await self.relationship_types():
            await self._commit_alone(of_type("prune_relations", one), ten=tenant, gen=generation)
        for name in ("prune_relation_ends", "prune_nodes", "prune_tools", "prune_tombstones"):
            await self._commit_alone(statement(name), ten=tenant, gen=generation)

    async def delete_expired_tombstones(self, *, limit: int) -> int:
        """Delete tombstones that are older than a day, at most `limit` of each kind, and return their number."""
        async with translated(), self.driver.session(database=self.database) as session:
            result = await session.run(statement("delete_expired_tombstones"), limit=limit)
            return int((await result.single(strict=True))["deleted"])

    async def publish_status(self, **properties: Any) -> None:
        """Write `properties` to the one node that shows people how far the mirror is behind."""
        await self._commit_alone(statement("publish_status"), **properties)

    async def counts(self) -> tuple[int, int]:
        """Return the numbers of records and of relations that readers of the mirror can see."""
        row = (await self.read(statement("count_visible"), {}))[0]
        return row["nodes"], row["relations"]

    async def read(
        self, text: str, parameters: Mapping[str, Any], *, timeout_s: float | None = None
    ) -> list[dict[str, Any]]:
        """Run one reading statement and return its first rows, at most 1,000; further rows are dropped.

        Raises MirrorUnavailable for any error of Neo4j, also when the statement takes longer than `timeout_s` seconds
        (None: no limit). Nothing is retried, because the caller can read from Postgres instead.
        """
        try:
            async with translated(), self.driver.session(database=self.database, default_access_mode="READ") as session:
                result = await session.run(Query(text, timeout=timeout_s), dict(parameters))
                return [dict(record) for record in await result.fetch(1_000)]
        except Neo4jError as error:
            raise MirrorUnavailable(f"Neo4j refused to read: {error.code}; look in its log") from error

    async def create(self, text: str) -> None:
        """Create a constraint or an index, by one of the statements of SCHEMA, unless it exists.

        If Neo4j crashes while it creates a constraint, the index of that name is left over; it is dropped first.
        Nothing is created, and nothing raised, if an index or constraint that somebody created is in the way: the scrub
        drops it (`MirrorSchema.restore`), and until then the mirror does with what is there.
        """
        try:
            await self._commit_alone(text)
        except Neo4jError as error:
            if error.code == "Neo.ClientError.Schema.IndexWithNameAlreadyExists":
                name = text.split(" IF NOT EXISTS", 1)[0].rsplit(" ", 1)[-1]
                await self._commit_alone(f"DROP INDEX {name} IF EXISTS")
                await self._commit_alone(text)
            elif error.code not in _IN_THE_WAY:
                raise

    async def _commit_alone(self, text: str, **parameters: Any) -> None:
        async with translated(), self.driver.session(database=self.database) as session:
            result = await session.run(text, parameters)
            await result.consume()
