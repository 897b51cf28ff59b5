"""Receipts of erasures: who erased, when, how many rows, and keyed hashes of the ids; never any content."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows


class ErasureKind(IntEnum):
    """What an erasure is asked for: a record, an entity, a scope or a tenant."""

    RECORD = 1
    ENTITY = 2
    SCOPE = 3
    TENANT = 4

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The receipt of one erasure; one without `finished_at` has not finished.

    `counts` has the number of records as `records.<type>`, and of the rows deleted with them. `hashes` are the hashes
    of the first records, and `digest` covers all of them. `elsewhere` lists records that stay and still contain a name
    of an erased entity; `elsewhere_complete` is False if the index of words may have more of them.
    """

    id: UUID
    tenant: int
    kind: ErasureKind
    actor: str
    rationale: str
    started_at: datetime
    finished_at: datetime | None
    target_hash: bytes
    counts: dict[str, int]
    hashes: tuple[bytes, ...]
    digest: bytes
    elsewhere: tuple[UUID, ...] = ()
    elsewhere_complete: bool = True
    key_hash: bytes | None = None
    request_hash: bytes | None = None


@dataclass(slots=True)
class Tally:
    """The counts and hashes of an erasure so far."""

    counts: dict[str, int] = field(default_factory=dict)
    hashes: list[bytes] = field(default_factory=list)
    digest: bytes = bytes(32)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts to those of the same name, leaving out zeros."""
        for name, number in counts.items():
            if number:
                self.counts[name] = self.counts.get(name, 0) + number

    def add_hashes(self, hashes: Collection[bytes], *, limit: int) -> None:
        """Add hashes, in order, to the digest, and to the list while that has fewer than `limit`."""
        for one in sorted(hashes):
            self.digest = hashlib.sha256(self.digest + one).digest()
            if len(self.hashes) < limit:
                self.hashes.append(one)


def record_hash(tenant: Tenant, id_: UUID) -> bytes:
    """Return the hash by which a receipt names a record; finding a record in it takes its id and the tenant's key."""
    return keyed_hash(tenant.index_key, "erased", id_.bytes)


def target_hash(tenant: Tenant, kind: ErasureKind, target: str) -> bytes:
    """Return the hash by which a receipt names its target: keyed, except that of a tenant.

    A tenant's key is deleted with the tenant, so a tenant's hash is a plain one of its name.
    """
    if kind is ErasureKind.TENANT:
        return hashlib.sha256(f"tenant\x00{target}".encode()).digest()
    return keyed_hash(tenant.index_key, f"erased:{kind.label}", target.encode())


async def find_by_key(connection: AsyncConnection, *, key_hash: bytes) -> Receipt | None:
    """Return the receipt of the erasure with this idempotency key, or None."""
    return await _one(connection, tables.erasure.c.key_hash == key_hash)


async def find_receipt(connection: AsyncConnection, tenant: Tenant, id_: UUID) -> Receipt | None:
    """Return the receipt `id_` of a tenant, or None."""
    table = tables.erasure
    return await _one(connection, (table.c.tenant == tenant.id) & (table.c.id == id_))


async def lock_unfinished(connection: AsyncConnection, *, target: bytes) -> Receipt | None:
    """Lock and return the receipt of an erasure of the target with this hash that has not finished, or None."""
    table = tables.erasure
    return await _one(connection, (table.c.target_hash == target) & table.c.finished_at.is_(None), lock=True)


async def _one(connection: AsyncConnection, where: Any, *, lock: bool = False) -> Receipt | None:
    statement = select(tables.erasure).where(where)
    row = (await connection.execute(statement.with_for_update() if lock else statement)).mappings().one_or_none()
    return _receipt(row) if row is not None else None


async def newest_receipts(connection: AsyncConnection, *, limit: int) -> Sequence[Receipt]:
    """Return the newest receipts of all tenants, newest first, for the operator of the database."""
    table = tables.erasure
    rows = await connection.execute(select(table).order_by(table.c.started_at.desc(), table.c.id.desc()).limit(limit))
    return [_receipt(row) for row in rows.mappings()]


def _receipt(row: Any) -> Receipt:
    values = dict(row)
    values["kind"] = ErasureKind(row["kind"])
    for name in ("target_hash", "digest", "key_hash", "request_hash"):
        values[name] = bytes(row[name]) if row[name] is not None else None
    values["hashes"] = tuple(bytes(one) for one in row["hashes"])
    values["elsewhere"] = tuple(row["elsewhere"])
    return Receipt(**values)


async def blank_earlier_receipts(connection: AsyncConnection, tenant: Tenant, *, except_for: UUID) -> None:
    """Blank the rationale and actor in the tenant's receipts other than `except_for`."""
    table = tables.erasure
    await connection.execute(
        update(table).where(table.c.tenant == tenant.id, table.c.id != except_for).values(rationale="", actor="")
    )


async def insert_receipt(connection: AsyncConnection, receipt: Receipt) -> None:
    """Write a new receipt."""
    await insert_rows(connection, tables.erasure, [_row(receipt)])


async def update_receipt(connection: AsyncConnection, receipt: Receipt) -> None:
    """Write all columns of an existing receipt."""
    table, row = tables.erasure, _row(receipt)
    key = {name: row.pop(name) for name in ("tenant", "id")}
    row["hashes"], row["elsewhere"] = list(receipt.hashes), list(receipt.elsewhere)
    await connection.execute(
        update(table).where(table.c.tenant == key["tenant"], table.c.id == key["id"]).values(**row)
    )


def _row(receipt: Receipt) -> dict[str, Any]:
    names = [column.name for column in tables.erasure.columns]
    return {name: getattr(receipt, name) for name in names} | {"kind": int(receipt.kind)}
