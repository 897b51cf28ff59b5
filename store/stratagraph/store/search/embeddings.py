"""The vectors of records, and the models that made them.

A vector is always that of the record's present text: the statement that changes or seals a text deletes its vectors,
and a new one is stored only if the record is still as it was when its text was read. Sealed records have none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.consumer import Feed, list_consumers
from stratagraph.store.feed.leases import Lease, LogPage
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.postgres.bulk import array_literal
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.search.vector_search import vector_literal

CONSUMER = "embeddings"  # of the change feed
MAX_DIMENSIONS = 4_000  # of a halfvec with an HNSW index
LOCK_TIMEOUT_MS = 2_000  # for which the making of an index waits for writers of vectors
# Entities are found by their names, and by a vector would come before the records that say something about them.
EMBEDDED_TYPES = tuple(memory_type for memory_type in MemoryType if memory_type is not MemoryType.ENTITY)


class ModelState(IntEnum):
    """How far the vectors of a model are."""

    FILLING = 1  # existing records are being embedded; new ones are too
    COMPLETE = 2  # every record that should have a vector has one, but for those of the last seconds
    LEFT = 3  # another model is configured: new and edited records get no vector of this one


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """A model whose vectors are stored.

    While it is filled, `looked_at` of about `records` records have been looked at, up to the key `after`. `filled_at`
    is when all records first had a vector; None while that has not been reached. `nonce` is that of the snapshot up to
    which the change log was followed.
    """

    id: int
    name: str
    dimensions: int
    state: ModelState
    nonce: UUID | None
    after_tenant: int | None
    after_id: UUID | None
    records: int
    looked_at: int
    filled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A record that needs a vector, as it was when it was read. `updated_at` tells whether it has changed since."""

    tenant: int
    id: UUID
    updated_at: datetime
    name: str
    text: str


async def list_models(database: Database) -> list[EmbeddingModel]:
    """Return the models that have vectors, the oldest first."""
    async with database.background(Role.FEED) as connection:
        rows = await fetch(connection, "list_embedding_models")
    return [EmbeddingModel(**{**row, "state": ModelState(row["state"])}) for row in rows]


async def add_model(database: Database, name: str, dimensions: int) -> EmbeddingModel:
    """Return the model of this name and number of dimensions; create it, and its index, if they are missing.

    While the index is made, reading goes on, and deletions of records that have vectors wait: none of this model's are
    there yet, and those of other models are passed over once.
    """
    async with database.background(Role.FEED) as connection:
        await run(connection, "insert_embedding_model", name=name, dimensions=dimensions)
    found = next(one for one in await list_models(database) if (one.name, one.dimensions) == (name, dimensions))
    async with database.background(Role.MAINTENANCE) as connection:
        await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
        await connection.execute(
            text(
                f"CREATE INDEX IF NOT EXISTS {_index(found.id)} ON embedding"
                f" USING hnsw ((vector\\:\\:halfvec({dimensions})) halfvec_ip_ops) WHERE model = {found.id}"
            )
        )
    return found


async def keep_up_to_date(database: Database, model: EmbeddingModel) -> None:
    """Note that `model` alone is kept up to date from now on. If another one was, all records are looked at again."""
    async with database.background(Role.FEED) as connection:
        await run(connection, "leave_embedding_models", id=model.id)
    if model.state is ModelState.LEFT:
        await begin_filling(database, model)


async def begin_filling(database: Database, model: EmbeddingModel) -> None:
    """Look at all records again. Those that have a vector of `model` keep it, and a complete model answers on."""
    async with database.background(Role.FEED) as connection:
        await run(connection, "begin_filling", id=model.id)


async def move_filling(database: Database, model: EmbeddingModel, keys: Sequence[tuple[int, UUID]]) -> None:
    """Note that the records `keys`, the next ones in order, have been looked at."""
    tenant, id_ = keys[-1]
    async with database.background(Role.FEED) as connection:
        await run(connection, "advance_filling", id=model.id, after_tenant=tenant, after_id=id_, looked_at=len(keys))


async def finish_filling(database: Database, model: EmbeddingModel) -> None:
    """Note that all existing records have been looked at."""
    async with database.background(Role.FEED) as connection:
        await run(connection, "finish_filling", id=model.id)


async def advance_past(database: Database, feed: Feed, lease: Lease, page: LogPage, model: EmbeddingModel) -> bool:
    """Move the feed's cursor past a page whose records have been embedded; return whether it could be moved.

    It cannot if another server has taken over the lease; that one reads the page again.
    """
    async with database.background(Role.FEED) as connection:
        moved = await feed.advance(lease, page, connection=connection)
        if moved is None:
            await connection.rollback()
            return False
        nonce = page.nonce if page.last else page.earlier_nonce
        await run(connection, "note_followed", id=model.id, nonce=nonce)
    return True


async def remove_vectors(database: Database, model: EmbeddingModel, *, limit: int) -> int:
    """Delete at most `limit` vectors of a model, and the model itself with the last; return the number deleted."""
    async with database.background(Role.FEED) as connection:
        await run(connection, "empty_embedding_model", id=model.id)
    async with database.background(Role.FEED) as connection:
        deleted = await run(connection, "delete_embeddings", id=model.id, limit=limit)
    if deleted < limit:
        async with database.background(Role.MAINTENANCE) as connection:
            await connection.execute(text(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}"))
            await connection.execute(text(f"DROP INDEX IF EXISTS {_index(model.id)}"))
        async with database.background(Role.FEED) as connection:
            await run(connection, "delete_embedding_model", id=model.id)
    return deleted


def _index(model: int) -> str:
    return f"embedding_model_{model}_ix"


async def fetch_unembedded(
    connection: AsyncConnection,
    keys: Collection[tuple[int, UUID]],
    model: EmbeddingModel,
    *,
    below: Sensitivity | None,
) -> list[Unembedded]:
    """Return those of the records `keys` (tenant and id) that need a vector of `model`, the newest first.

    Sealed records never do, nor those of the level `below` and above; None bounds nothing.
    """
    rows = await fetch(
        connection,
        "fetch_records_to_embed",
        tenants=[tenant for tenant, _ in keys],
        ids=[id_ for _, id_ in keys],
        types=[int(one) for one in EMBEDDED_TYPES],
        model=model.id,
        below=_bound(below),
    )
    return [Unembedded(**row) for row in rows]


async def insert_vectors(
    connection: AsyncConnection,
    vectors: Sequence[tuple[Unembedded, Sequence[float]]],
    model: EmbeddingModel,
    *,
    below: Sensitivity | None,
) -> int:
    """Store the vectors, each of length 1, of records that are as they were read; return how many were stored."""
    return await run(
        connection,
        "insert_embeddings",
        tenants=[record.tenant for record, _ in vectors],
        ids=[record.id for record, _ in vectors],
        instants=[record.updated_at for record, _ in vectors],
        vectors=array_literal([vector_literal(vector) for _, vector in vectors]),
        model=model.id,
        below=_bound(below),
    )


async def list_older_records(
    connection: AsyncConnection, model: EmbeddingModel, *, limit: int
) -> list[tuple[int, UUID]]:
    """Return the keys of the newest `limit` records that the filling of `model` has not looked at."""
    rows = await fetch(
        connection, "list_older_records", after_tenant=model.after_tenant, after_id=model.after_id, limit=limit
    )
    return [(row["tenant"], row["id"]) for row in rows]


async def count_unembedded(
    database: Database, model: EmbeddingModel | None, given: Collection[tuple[int, UUID]], *, below: Sensitivity | None
) -> int:
    """Return how many records need a vector of `model` and have none, counted up to 10,000.

    Without a model none has one yet. `given` are records that may be missed by following the changes. Raises
    StoreUnavailable.
    """
    async with database.background(Role.FEED) as connection:
        follows = CONSUMER in await list_consumers(connection)
        # Without a cursor, all records are looked at again from the first.
        is_filling = model is None or model.state is not ModelState.COMPLETE or not follows
        goes_on = model is not None and model.state is ModelState.FILLING and follows
        (row,) = await fetch(
            connection,
            "count_unembedded",
            consumer=CONSUMER,
            shards=list(range(SHARDS)),
            tenants=[tenant for tenant, _ in given],
            ids=[id_ for _, id_ in given],
            types=[int(one) for one in EMBEDDED_TYPES],
            model=model.id if model is not None else None,
            below=_bound(below),
            is_filling=is_filling,
            after_tenant=model.after_tenant if model is not None and goes_on else None,
            after_id=model.after_id if model is not None and goes_on else None,
        )
    waiting: int = row["waiting"]
    return waiting


def _bound(below: Sensitivity | None) -> int:
    return len(Sensitivity) if below is None else int(below)
