"""Failed captures: candidates that are kept with their input, retried with growing pauses, and listed without content.

The captures of one request are one batch, which is retried as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import bindparam, func, null, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import CANDIDATE
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables

FIRST_PAUSE = timedelta(seconds=30)  # before the first retry; doubles with each further one
MAX_ATTEMPTS = 12  # in all, within about 17 hours; later ones are made by hand

BatchKey = tuple[int, UUID]  # tenant and batch


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCapture:
    """A failed capture without its content. `scope` None is unknown; `next_try_at` None means that it was given up."""

    id: UUID
    tenant: int
    batch: UUID
    position: int
    actor: str
    identity: str
    source_kind: str
    scope: int | None
    sensitivity: Sensitivity
    stage: str
    error: str
    attempts: int
    next_try_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedBatch:
    """The inputs of a batch by id, in their order, plain or sealed, and what its caller was allowed.

    `ceiling` None means that this is unknown; `scopes` None means all scopes of the tenant.
    """

    stored: Mapping[UUID, Mapping[str, Any] | bytes]
    actor: str
    key_identity: str | None
    access: Access
    scopes: frozenset[str] | None
    ceiling: Sensitivity | None
    attempts: int
    created_at: datetime


async def insert_failed_captures(
    connection: AsyncConnection,
    caller: Caller,
    rows: Sequence[Mapping[str, Any]],
    *,
    stage: str,
    error: str,
    at: datetime,
) -> None:
    """Insert the captures of one request that failed through no fault of their input, with the input, for a retry.

    Each row has id, source, source_kind, scope, sensitivity and input. The content is sealed if the record would be.
    """
    tenant = caller.tenant
    to_seal = {row["id"] for row in rows if tenant.keyring.seals(row["sensitivity"])}
    sealer = await tenant.keyring.sealer(connection) if to_seal else None
    blobs = {}
    for row in rows:
        if sealer is not None and row["id"] in to_seal:
            content = orjson.dumps({"source": row["source"], "input": row["input"]})
            blobs[row["id"]] = sealer.seal(row["id"], CANDIDATE, content)
    await insert_rows(
        connection,
        tables.candidate,
        [
            {
                "tenant": tenant.id,
                "id": row["id"],
                "state": "failed",
                "stage": stage,
                "actor": caller.trust.actor,
                "source": None if row["id"] in blobs else row["source"],
                "source_kind": row["source_kind"],
                "input": None if row["id"] in blobs else row["input"],
                "sealed": blobs.get(row["id"]),
                "error": error,
                "attempts": 1,
                "next_try_at": at + FIRST_PAUSE,
                "created_at": at,
                "created_records": (),
                "edges": (),
                "batch": rows[0]["id"],
                "position": position,
                "scope": row["scope"],
                "sensitivity": int(row["sensitivity"]),
                "caller_scopes": None if caller.trust.scopes is None else sorted(caller.trust.scopes),
                "caller_ceiling": int(caller.ceiling),
                "caller_access": int(caller.trust.access),
                "caller_identity": caller.trust.key_identity,
            }
            for position, row in enumerate(rows)
        ],
    )


async def claim_failed_captures(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> bool:
    """Lock failed captures until the transaction ends; return False if one was stored or deleted before."""
    rows = await fetch(connection, "claim_failed_captures", tenant=tenant.id, ids=list(ids))
    return len(rows) == len(ids)


async def commit_failed_captures(
    connection: AsyncConnection, tenant: Tenant, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Turn claimed failed captures into committed ones and delete their input.

    Each row has id, source (None where the record is sealed), record, created and edges.
    """
    table = tables.candidate
    await connection.execute(
        update(table)
        .where(table.c.tenant == tenant.id, table.c.id == bindparam("of"))
        .values(
            state="committed",
            stage="commit",
            source=bindparam("from_source"),
            record=bindparam("became"),
            created_records=bindparam("made"),
            edges=bindparam("linked"),
            attempts=table.c.attempts + 1,
            sequence=func.pg_current_xact_id(),
            input=null(),
            sealed=null(),
            error=null(),
            next_try_at=null(),
        ),
        [
            {
                "of": row["id"],
                "from_source": row["source"],
                "became": row["record"],
                "made": list(row["created"]),
                "linked": list(row["edges"]),
            }
            for row in rows
        ],
    )


async def fail_again(
    connection: AsyncConnection,
    key: BatchKey,
    *,
    attempts: int,
    stage: str,
    error: str,
    at: datetime,
    is_final: bool,
) -> datetime | None:
    """Count a failed attempt of a batch of which `attempts` were counted; return the instant of the next one.

    None if the batch is given up, since `is_final` or MAX_ATTEMPTS is reached. Does nothing if the attempt was counted.
    """
    tenant, batch = key
    next_try_at = None if is_final or attempts + 1 >= MAX_ATTEMPTS else at + FIRST_PAUSE * 2**attempts
    await run(
        connection,
        "fail_captures_again",
        tenant=tenant,
        batch=batch,
        attempts=attempts,
        stage=stage,
        error=error,
        next_try_at=next_try_at,
    )
    return next_try_at


async def fetch_failed_batch(connection: AsyncConnection, key: BatchKey) -> FailedBatch | None:
    """Return a batch as it is stored; None if it was stored as records, or dropped."""
    tenant, batch = key
    rows = await fetch(connection, "fetch_batch_inputs", tenant=tenant, batch=batch)
    if not rows:
        return None
    first = rows[0]
    return FailedBatch(
        stored={row["id"]: row["input"] if row["sealed"] is None else bytes(row["sealed"]) for row in rows},
        actor=first["actor"],
        key_identity=first["caller_identity"],
        access=Access.WRITE if first["caller_access"] is None else Access(first["caller_access"]),
        scopes=None if first["caller_scopes"] is None else frozenset(first["caller_scopes"]),
        ceiling=None if first["caller_ceiling"] is None else Sensitivity(first["caller_ceiling"]),
        attempts=first["attempts"],
        created_at=first["created_at"],
    )


async def open_inputs(tenant: Tenant, batch: FailedBatch) -> dict[UUID, Mapping[str, Any]]:
    """Return the inputs of a batch by id, in their order, decrypted.

    Raises StratagraphError if one does not open, Misconfigured if the master key for it was not given.
    """
    blobs = [
        Sealed(id=id_, purpose=CANDIDATE, blob=stored)
        for id_, stored in batch.stored.items()
        if isinstance(stored, bytes)
    ]
    opened = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    return {
        id_: orjson.loads(next(opened))["input"] if isinstance(stored, bytes) else stored
        for id_, stored in batch.stored.items()
    }


async def due_batches(connection: AsyncConnection, *, now: datetime, limit: int) -> list[BatchKey]:
    """Return at most `limit` batches of all tenants that are due at `now`, the longest due first."""
    rows = await fetch(connection, "find_due_batches", now=now, limit=limit)
    return [(row["tenant"], row["batch"]) for row in rows]


async def batches_of(connection: AsyncConnection, ids: Collection[UUID] | None, *, limit: int) -> list[BatchKey]:
    """Return the batches, of any tenant, of the failed captures with these ids; of all failed captures with None."""
    rows = await fetch(connection, "find_batches", ids=None if ids is None else list(ids), limit=limit)
    return [(row["tenant"], row["batch"]) for row in rows]


async def drop_batches(connection: AsyncConnection, keys: Collection[BatchKey]) -> list[UUID]:
    """Delete the failed captures of these batches; return the ids of the captures deleted."""
    rows = await fetch(
        connection,
        "drop_failed_captures",
        tenants=[tenant for tenant, _ in keys],
        batches=[batch for _, batch in keys],
    )
    return [row["id"] for row in rows]


async def list_failed_captures(connection: AsyncConnection, *, limit: int) -> list[FailedCapture]:
    """Return at most `limit` failed captures of all tenants, the oldest first."""
    return [_failed(row) for row in await fetch(connection, "list_failed_captures", limit=limit)]


async def visible_failed_captures(
    connection: AsyncConnection, caller: Caller, *, after: UUID | None, limit: int
) -> list[FailedCapture]:
    """Return at most `limit` failed captures that a caller may see, in the order of their ids, those after `after`.

    They are the caller's own, and those whose record the caller could read in full. `batch` is the id of the first
    capture of the batch that the caller may see, and `position` counts those only.
    """
    rows = await fetch(
        connection,
        "list_visible_failed_captures",
        **caller.parameters(),
        identity=caller.trust.identity,
        after=after,
        limit=limit,
    )
    return [replace(_failed(row), batch=row["shown_batch"], position=row["shown_position"]) for row in rows]


async def batch_of(connection: AsyncConnection, caller: Caller, id_: UUID) -> list[tuple[FailedCapture, bool]]:
    """Return the captures of the batch of the failed capture `id_`, each with whether the caller may see it.

    The list is empty if there is no such failed capture in the caller's tenant.
    """
    rows = await fetch(connection, "list_batch", **caller.parameters(), identity=caller.trust.identity, id=id_)
    return [(_failed(row), row["is_visible"]) for row in rows]


async def split_batch(
    connection: AsyncConnection, key: BatchKey, ids: Sequence[UUID], others: Sequence[UUID]
) -> BatchKey:
    """Make two batches of one, of the captures `ids` and of `others`, both in their order; return that of `ids`."""
    tenant, batch = key
    await run(connection, "split_batch", tenant=tenant, batch=batch, ids=list(ids), first=ids[0], rest=others[0])
    return tenant, ids[0]


def _failed(row: Mapping[Any, Any]) -> FailedCapture:
    values = {name: row[name] for name in FailedCapture.__slots__}
    return FailedCapture(**{**values, "sensitivity": Sensitivity(row["sensitivity"])})
