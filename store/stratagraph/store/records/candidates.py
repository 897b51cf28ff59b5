"""Capture candidates: every capture's trace, and what an idempotency key stands for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.contents import CANDIDATE
from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.errors import IdempotencyMismatch
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows

RETRY_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a capture left: the candidate, its records and edges, and the token of its transaction."""

    candidate: UUID
    record: UUID
    created: tuple[UUID, ...]
    edges: tuple[UUID, ...]
    sequence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """An idempotency key that was used, with the hash of the request it was used for."""

    request_hash: bytes
    committed: Committed


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An idempotency key and the request it is used for, as hashes; both None without a key."""

    key_hash: bytes | None
    request_hash: bytes | None

    @classmethod
    def of(cls, tenant: Tenant, key: str | None, request: Mapping[str, Any]) -> RequestKey:
        if key is None:
            return cls(None, None)
        body = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
        return cls(keyed_hash(tenant.index_key, "idempotency", key.encode()), hashed_request(tenant, body))

    def replay(self, used: Mapping[bytes, Keyed], *, path: list[str]) -> Committed | None:
        """What the key stands for among those `used`, or None. Raises IdempotencyMismatch for another request."""
        known = used.get(self.key_hash) if self.key_hash is not None else None
        if known is None:
            return None
        if known.request_hash != self.request_hash:
            raise IdempotencyMismatch(
                "idempotencyKey: this key was used for another request; choose a new one", path=path
            )
        return known.committed


def hashed_request(tenant: Tenant, request: bytes) -> bytes:
    return keyed_hash(tenant.index_key, "request", request)


async def find_keyed(
    connection: AsyncConnection, tenant: Tenant, actor: str, hashes: Collection[bytes]
) -> dict[bytes, Keyed]:
    if not hashes:
        return {}
    keys, trace = tables.idempotency, tables.candidate
    rows = await connection.execute(
        select(
            keys.c.key_hash,
            keys.c.request_hash,
            trace.c.id,
            trace.c.record,
            trace.c.created_records,
            trace.c.edges,
            trace.c.sequence,
        )
        .join(trace, (trace.c.tenant == keys.c.tenant) & (trace.c.id == keys.c.candidate))
        .where(keys.c.tenant == tenant.id, keys.c.actor == actor, keys.c.key_hash.in_(list(hashes)))
    )
    return {
        bytes(row.key_hash): Keyed(
            request_hash=bytes(row.request_hash),
            committed=Committed(
                candidate=row.id,
                record=row.record,
                created=tuple(row.created_records),
                edges=tuple(row.edges),
                sequence=str(row.sequence),
            ),
        )
        for row in rows
    }


async def insert_candidates(
    connection: AsyncConnection,
    tenant: Tenant,
    rows: Sequence[Mapping[str, Any]],
    *,
    actor: str,
    at: datetime,
) -> None:
    """Committed candidates with their idempotency keys. Rows: id, source, source_kind, sensitivity, record, created,
    edges, key_hash and request_hash (both None without a key). Where the record is sealed, it alone keeps the source.
    """
    await insert_rows(
        connection,
        tables.candidate,
        [
            {
                "tenant": tenant.id,
                "id": row["id"],
                "state": "committed",
                "stage": "commit",
                "actor": actor,
                "source": None if tenant.keyring.seals(row["sensitivity"]) else row["source"],
                "source_kind": row["source_kind"],
                "attempts": 1,
                "created_at": at,
                "record": row["record"],
                "created_records": row["created"],
                "edges": row["edges"],
            }
            for row in rows
        ],
    )
    await insert_rows(
        connection,
        tables.idempotency,
        [
            {
                "tenant": tenant.id,
                "actor": actor,
                "key_hash": row["key_hash"],
                "request_hash": row["request_hash"],
                "candidate": row["id"],
                "created_at": at,
            }
            for row in rows
            if row["key_hash"] is not None
        ],
    )


async def insert_failed(
    connection: AsyncConnection,
    tenant: Tenant,
    rows: Sequence[Mapping[str, Any]],
    *,
    actor: str,
    stage: str,
    error: str,
    at: datetime,
) -> None:
    """What could not be committed for a reason of ours, kept whole so that it can be tried again.

    Rows: id, source, source_kind, sensitivity, input; sealed where the record would be.
    """
    secret = {row["id"] for row in rows if tenant.keyring.seals(row["sensitivity"])}
    sealer = await tenant.keyring.sealer(connection) if secret else None
    blobs = {}
    for row in rows:
        if sealer is not None and row["id"] in secret:
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
                "actor": actor,
                "source": None if row["id"] in blobs else row["source"],
                "source_kind": row["source_kind"],
                "input": None if row["id"] in blobs else row["input"],
                "sealed": blobs.get(row["id"]),
                "error": error,
                "attempts": 1,
                "next_try_at": at + RETRY_AFTER,
                "created_at": at,
                "created_records": (),
                "edges": (),
            }
            for row in rows
        ],
    )
