"""Receipts of erasures: who erased, when, how many rows, and salted hashes of the ids; never any content."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.receipt_hashes import NO_HASHES, digest_with, new_salt, receipt_hash
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.schema import tables

MAX_HASHES = 1_000  # in a receipt; its digest covers all


class ErasureKind(IntEnum):
    """The kind of thing that an erasure was requested for: a record, an entity, a scope or a tenant."""

    RECORD = 1
    ENTITY = 2
    SCOPE = 3
    TENANT = 4

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The receipt of one erasure; without `finished_at`, the erasure has not finished.

    `counts` has the number of erased records of each type, keyed by `records.<type>`, and of the rows deleted with
    them, keyed by kind. `hashes` are the hashes of the first erased ids, `digest` covers all of them, and `target_hash`
    is that of the requested id or name (`stratagraph.store.model.receipt_hashes`); `salt` is None in a receipt of an
    earlier release, whose hashes its holder cannot compute. `scope` is the number of the scope of what was requested,
    None for a tenant. `elsewhere` lists records that are kept although they contain a name of an erased entity;
    `elsewhere_complete` is False if there may be more of them.
    """

    id: UUID
    tenant: int
    kind: ErasureKind
    actor: str
    rationale: str
    started_at: datetime
    finished_at: datetime | None
    scope: int | None
    salt: bytes | None
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
    """Adds up the counts and hashes of an erasure over its batches; `salt` is that of its receipt."""

    salt: bytes = field(default_factory=new_salt)
    counts: dict[str, int] = field(default_factory=dict)
    hashes: list[bytes] = field(default_factory=list)
    digest: bytes = NO_HASHES

    def add(self, counts: Mapping[str, int]) -> None:
        """Add each count to that of the same key; zeros are left out."""
        for name, number in counts.items():
            if number:
                self.counts[name] = self.counts.get(name, 0) + number

    def add_ids(self, ids: Collection[UUID]) -> None:
        """Add the hashes of erased ids to the digest, and to the list `hashes` while that has fewer than MAX_HASHES."""
        hashes = sorted(receipt_hash(self.salt, str(id_)) for id_ in ids)
        self.digest = digest_with(self.digest, hashes)
        self.hashes += hashes[: MAX_HASHES - len(self.hashes)]


async def find_by_key(connection: AsyncConnection, *, key_hash: bytes) -> Receipt | None:
    """Return the receipt of the erasure whose idempotency key has this hash, or None if there is none."""
    return await _one(connection, tables.erasure.c.key_hash == key_hash)


async def lock_receipt(connection: AsyncConnection, tenant: Tenant, id_: UUID) -> Receipt | None:
    """Lock and return the receipt with this id, or None if the tenant has none."""
    table = tables.erasure
    return await _one(connection, (table.c.tenant == tenant.id) & (table.c.id == id_), lock=True)


async def lock_unfinished(
    connection: AsyncConnection, tenant: Tenant, kind: ErasureKind, scope: int | None = None
) -> Receipt | None:
    """Lock and return the receipt of the unfinished erasure of a tenant, or of one of its scopes; None without one."""
    table = tables.erasure
    where = (table.c.tenant == tenant.id) & (table.c.kind == int(kind)) & table.c.finished_at.is_(None)
    return await _one(connection, where if scope is None else where & (table.c.scope == scope), lock=True)


async def _one(connection: AsyncConnection, where: Any, *, lock: bool = False) -> Receipt | None:
    statement = select(tables.erasure).where(where)
    row = (await connection.execute(statement.with_for_update() if lock else statement)).mappings().one_or_none()
    return _receipt(row) if row is not None else None


async def newest_receipts(connection: AsyncConnection, *, limit: int) -> Sequence[Receipt]:
    """Return the `limit` newest receipts of all tenants, newest first, for the operator of the database."""
    table = tables.erasure
    rows = await connection.execute(select(table).order_by(table.c.started_at.desc(), table.c.id.desc()).limit(limit))
    return [_receipt(row) for row in rows.mappings()]


def _receipt(row: Any) -> Receipt:
    values = dict(row)
    values["kind"] = ErasureKind(row["kind"])
    for name in ("salt", "target_hash", "digest", "key_hash", "request_hash"):
        values[name] = bytes(row[name]) if row[name] is not None else None
    values["hashes"] = tuple(bytes(one) for one in row["hashes"])
    values["elsewhere"] = tuple(row["elsewhere"])
    return Receipt(**values)


async def blank_earlier_receipts(connection: AsyncConnection, tenant: Tenant, *, except_for: UUID) -> None:
    """Replace rationale and actor by empty text in all receipts of the tenant except the one with id `except_for`."""
    table = tables.erasure
    await connection.execute(
        update(table).where(table.c.tenant == tenant.id, table.c.id != except_for).values(rationale="", actor="")
    )


async def blank_scope_rationales(connection: AsyncConnection, tenant: Tenant, scope: int, *, except_for: UUID) -> None:
    """Replace the rationale by empty text in the receipts of a scope, except the one with id `except_for`."""
    table = tables.erasure
    await connection.execute(
        update(table)
        .where(table.c.tenant == tenant.id, table.c.scope == scope, table.c.id != except_for)
        .values(rationale="")
    )


async def blank_rationales(connection: AsyncConnection, tenant: Tenant, contains_name: Callable[[str], bool]) -> None:
    """Replace the rationale by empty text in the tenant's receipts where `contains_name` returns True for it."""
    table = tables.erasure
    rows = await connection.execute(
        select(table.c.id, table.c.rationale).where(table.c.tenant == tenant.id, table.c.rationale != "")
    )
    found = [row.id for row in rows if contains_name(row.rationale)]
    if found:
        await connection.execute(
            update(table).where(table.c.tenant == tenant.id, table.c.id.in_(found)).values(rationale="")
        )


async def insert_receipt(connection: AsyncConnection, receipt: Receipt) -> None:
    """Insert a new receipt."""
    await insert_rows(connection, tables.erasure, [_row(receipt)])


async def update_receipt(connection: AsyncConnection, receipt: Receipt) -> None:
    """Update all columns of the stored receipt with this tenant and id. Does nothing if there is none."""
    table, row = tables.erasure, _row(receipt)
    key = {name: row.pop(name) for name in ("tenant", "id")}
    row["hashes"], row["elsewhere"] = list(receipt.hashes), list(receipt.elsewhere)
    await connection.execute(
        update(table).where(table.c.tenant == key["tenant"], table.c.id == key["id"]).values(**row)
    )


def _row(receipt: Receipt) -> dict[str, Any]:
    names = [column.name for column in tables.erasure.columns]
    return {name: getattr(receipt, name) for name in names} | {"kind": int(receipt.kind)}
