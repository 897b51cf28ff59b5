"""Receipts of what was erased: who, when, how much, and keyed hashes; never what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Tenant
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows


class Erased(IntEnum):
    RECORD = 1
    ENTITY = 2
    SCOPE = 3
    TENANT = 4

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What went. `counts` has `records.<type>` and what went with them; `hashes` names the first of them, `digest` all.

    `elsewhere` are records that stay and still say the name of an erased entity; `elsewhere_complete` tells whether
    these are all that the index of words knows. Without `finished_at` it was interrupted.
    """

    id: UUID
    tenant: int
    kind: Erased
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


def target_hash(tenant: Tenant, kind: Erased, target: str) -> bytes:
    """By what a receipt names its target. A tenant's key goes with it, so its own is a plain hash of its name."""
    if kind is Erased.TENANT:
        return hashlib.sha256(f"tenant\x00{target}".encode()).digest()
    return keyed_hash(tenant.index_key, f"erased:{kind.label}", target.encode())


async def find_erasure(connection: AsyncConnection, *, key_hash: bytes) -> Receipt | None:
    """The receipt that an idempotency key stands for."""
    return await _one(connection, tables.erasure.c.key_hash == key_hash)


async def find_receipt(connection: AsyncConnection, tenant: Tenant, id_: UUID) -> Receipt | None:
    table = tables.erasure
    return await _one(connection, (table.c.tenant == tenant.id) & (table.c.id == id_))


async def find_running(connection: AsyncConnection, *, target: bytes) -> Receipt | None:
    """What was begun on a target and not finished, locked."""
    table = tables.erasure
    return await _one(connection, (table.c.target_hash == target) & table.c.finished_at.is_(None), lock=True)


async def _one(connection: AsyncConnection, where: Any, *, lock: bool = False) -> Receipt | None:
    asked = select(tables.erasure).where(where)
    row = (await connection.execute(asked.with_for_update() if lock else asked)).mappings().one_or_none()
    return _receipt(row) if row is not None else None


async def erasures(connection: AsyncConnection, *, limit: int) -> Sequence[Receipt]:
    """The newest receipts of all tenants, for whoever runs the database."""
    table = tables.erasure
    rows = await connection.execute(select(table).order_by(table.c.started_at.desc(), table.c.id.desc()).limit(limit))
    return [_receipt(row) for row in rows.mappings()]


def _receipt(row: Any) -> Receipt:
    values = dict(row)
    values["kind"] = Erased(row["kind"])
    for name in ("target_hash", "digest", "key_hash", "request_hash"):
        values[name] = bytes(row[name]) if row[name] is not None else None
    values["hashes"] = tuple(bytes(one) for one in row["hashes"])
    values["elsewhere"] = tuple(row["elsewhere"])
    return Receipt(**values)


async def forget_rationales(connection: AsyncConnection, tenant: Tenant, *, but: UUID) -> None:
    """With a tenant goes what its own callers wrote into earlier receipts."""
    table = tables.erasure
    await connection.execute(
        update(table).where(table.c.tenant == tenant.id, table.c.id != but).values(rationale="", actor="")
    )


async def insert_erasure(connection: AsyncConnection, receipt: Receipt) -> None:
    await insert_rows(connection, tables.erasure, [_row(receipt)])


async def update_erasure(connection: AsyncConnection, receipt: Receipt) -> None:
    table, row = tables.erasure, _row(receipt)
    key = {name: row.pop(name) for name in ("tenant", "id")}
    row["hashes"], row["elsewhere"] = list(receipt.hashes), list(receipt.elsewhere)
    await connection.execute(
        update(table).where(table.c.tenant == key["tenant"], table.c.id == key["id"]).values(**row)
    )


def _row(receipt: Receipt) -> dict[str, Any]:
    names = [column.name for column in tables.erasure.columns]
    return {name: getattr(receipt, name) for name in names} | {"kind": int(receipt.kind)}
