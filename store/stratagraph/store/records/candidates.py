"""Candidates, the traces of captures, and the idempotency keys that identify repeated requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.errors import IdempotencyMismatch
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The result of a committed capture: its candidate, records and relations, and the sequence of its transaction."""

    candidate: UUID
    record: UUID
    created: tuple[UUID, ...]
    edges: tuple[UUID, ...]
    sequence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedKey:
    """An idempotency key that was used: the hash of the request that carried it, and that request's result."""

    request_hash: bytes
    committed: Committed


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The hashes of an idempotency key and of the request that carries it; both None without a key."""

    key_hash: bytes | None
    request_hash: bytes | None

    @classmethod
    def of(cls, tenant: Tenant, key: str | None, request: Mapping[str, Any], *, is_import: bool = False) -> RequestKey:
        """Hash `key` and `request` with the tenant's index key. The keys of imports differ from those of callers."""
        if key is None:
            return cls(None, None)
        body = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
        kind = "import-idempotency" if is_import else "idempotency"
        return cls(keyed_hash(tenant.index_key, kind, key.encode()), hash_request(tenant, body))

    def replay(self, used: Mapping[bytes, UsedKey], *, path: list[str]) -> Committed | None:
        """Return the result of the earlier request with this key, or None if the key was not used before.

        Raises IdempotencyMismatch if the key was used for a different request.
        """
        known = used.get(self.key_hash) if self.key_hash is not None else None
        if known is None:
            return None
        if known.request_hash != self.request_hash:
            raise IdempotencyMismatch(
                "idempotencyKey: this key was used for another request; repeat that request unchanged, or choose a new"
                " key",
                path=path,
            )
        return known.committed


def hash_request(tenant: Tenant, request: bytes) -> bytes:
    """Return the keyed hash of a serialized request."""
    return keyed_hash(tenant.index_key, "request", request)


async def find_used_keys(
    connection: AsyncConnection, caller: Caller, hashes: Collection[bytes]
) -> dict[bytes, UsedKey]:
    """Return the idempotency keys with these hashes that the caller has used, keyed by hash; others are left out."""
    if not hashes:
        return {}
    rows = await fetch(
        connection, "find_used_keys", tenant=caller.tenant.id, actor=caller.trust.identity, hashes=list(hashes)
    )
    return {
        row["key_hash"]: UsedKey(
            request_hash=row["request_hash"],
            committed=Committed(
                candidate=row["id"],
                record=row["record"],
                created=tuple(row["created_records"]),
                edges=tuple(row["edges"]),
                sequence=row["sequence"],
            ),
        )
        for row in rows
    }


async def insert_candidates(
    connection: AsyncConnection, caller: Caller, rows: Sequence[Mapping[str, Any]], *, at: datetime
) -> None:
    """Insert committed candidates of the caller and their idempotency keys.

    Each row has id, source, source_kind, sensitivity, record, created, edges, key_hash and request_hash (the last two
    None without a key), and is_import, False if absent. If the record is sealed, the source is stored in the record
    only.
    """
    tenant = caller.tenant
    await insert_rows(
        connection,
        tables.candidate,
        [
            {
                "tenant": tenant.id,
                "id": row["id"],
                "state": "committed",
                "stage": "commit",
                "actor": caller.trust.actor,
                "source": None if tenant.keyring.seals(row["sensitivity"]) else row["source"],
                "source_kind": row["source_kind"],
                "attempts": 1,
                "created_at": at,
                "record": row["record"],
                "created_records": row["created"],
                "edges": row["edges"],
                "is_import": row.get("is_import", False),
            }
            for row in rows
        ],
    )
    await insert_used_keys(connection, caller, rows, at=at)


async def insert_used_keys(
    connection: AsyncConnection, caller: Caller, rows: Sequence[Mapping[str, Any]], *, at: datetime
) -> None:
    """Insert the caller's idempotency keys of committed candidates, given as for `insert_candidates`."""
    await insert_rows(
        connection,
        tables.idempotency,
        [
            {
                "tenant": caller.tenant.id,
                "actor": caller.trust.identity,
                "key_hash": row["key_hash"],
                "request_hash": row["request_hash"],
                "candidate": row["id"],
                "created_at": at,
            }
            for row in rows
            if row["key_hash"] is not None
        ],
    )
