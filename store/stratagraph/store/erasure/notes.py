"""Deleting audit notes of records that are kept, where a note repeats or names what is erased."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import note_purpose
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    record: UUID
    seq: int
    at: datetime
    rationale: str


async def delete_shared_notes(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], others: Collection[UUID]
) -> int:
    """Delete the audit notes of the records `others` that repeat a note of the records `ids`; return their number.

    Two notes repeat each other if they have the same instant and the text of one contains that of the other, because a
    revision writes its rationale, at one instant, on all records that it changes.
    """
    if not others:
        return 0
    rationales: dict[datetime, list[str]] = {}
    for one in await _fetch_notes(connection, tenant, ids):
        rationales.setdefault(one.at, []).append(one.rationale)
    repeated = [
        other
        for other in await _fetch_notes(connection, tenant, others)
        if any(one in other.rationale or other.rationale in one for one in rationales.get(other.at, ()))
    ]
    return await _delete_notes(connection, tenant, repeated)


async def delete_notes_naming(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], contains_name: Callable[[str], bool]
) -> int:
    """Delete the audit notes of the records `ids` for whose text `contains_name` returns True; return their number."""
    if not ids:
        return 0
    found = [one for one in await _fetch_notes(connection, tenant, ids) if contains_name(one.rationale)]
    return await _delete_notes(connection, tenant, found)


async def _fetch_notes(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[_Note]:
    notes, audit = tables.audit_note, tables.audit
    rows = (
        await connection.execute(
            select(notes.c.id, notes.c.seq, notes.c.rationale, notes.c.sealed, audit.c.at)
            .join(
                audit,
                (audit.c.tenant == notes.c.tenant) & (audit.c.id == notes.c.id) & (audit.c.seq == notes.c.seq),
            )
            .where(notes.c.tenant == tenant.id, notes.c.id == text("ANY(:ids)").bindparams(ids=list(ids)))
        )
    ).all()
    blobs = [
        Sealed(id=row.id, purpose=note_purpose(row.seq), blob=bytes(row.sealed))
        for row in rows
        if row.sealed is not None
    ]
    texts = iter(await tenant.keyring.open(blobs)) if blobs else iter(())
    return [
        _Note(
            record=row.id,
            seq=row.seq,
            at=row.at,
            rationale=row.rationale if row.sealed is None else next(texts).decode(),
        )
        for row in rows
    ]


async def _delete_notes(connection: AsyncConnection, tenant: Tenant, notes: Collection[_Note]) -> int:
    table, deleted = tables.audit_note, 0
    for one in notes:
        where = (table.c.tenant == tenant.id, table.c.id == one.record, table.c.seq == one.seq)
        deleted += (await connection.execute(delete(table).where(*where))).rowcount
    return deleted
