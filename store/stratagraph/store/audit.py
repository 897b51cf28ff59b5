"""The audit chain: insert-only, salted, linked by hashes, complete even when the rationale's text is erased."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store import tables
from stratagraph.store.bulk import insert_rows
from stratagraph.store.clock import rfc3339
from stratagraph.store.enums import AuditAction
from stratagraph.store.records import AuditEntry
from stratagraph.store.tenancy import Tenant

GENESIS = bytes(32)  # what the first entry of every record links to


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing done to one record. `salience` is the value it left, for salience events."""

    record: UUID
    action: AuditAction
    rationale: str | None = None
    salience: float | None = None


def link(
    previous: bytes, *, tenant: int, record: UUID, seq: int, deed: tuple[str, str, datetime, float | None, bytes | None]
) -> bytes:
    """The hash of an entry: SHA-256 over the one before it and all that the entry says."""
    action, actor, at, salience, note_hash = deed
    said = "\x1f".join(
        (str(tenant), record.hex, str(seq), action, actor, rfc3339(at), "" if salience is None else repr(salience))
    )
    return hashlib.sha256(previous + (note_hash or b"") + said.encode()).digest()


async def write_audit(
    connection: AsyncConnection,
    tenant: Tenant,
    deeds: Sequence[Deed],
    *,
    actor: str,
    at: datetime,
    new: Iterable[UUID] = (),
) -> None:
    """Append `deeds` to the chains of their records. Records in `new` have no chain yet, so none is looked up."""
    if not deeds:
        return
    fresh = set(new)
    heads = await _heads(connection, tenant, {deed.record for deed in deeds} - fresh)
    rows: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for deed in deeds:
        seq, previous = heads.get(deed.record, (0, GENESIS))
        note_hash = None
        if deed.rationale:
            salt = secrets.token_bytes(16)
            note_hash = hashlib.sha256(salt + deed.rationale.encode()).digest()
            notes.append(
                {"tenant": tenant.id, "id": deed.record, "seq": seq + 1, "salt": salt, "rationale": deed.rationale}
            )
        hashed = link(
            previous,
            tenant=tenant.id,
            record=deed.record,
            seq=seq + 1,
            deed=(deed.action, actor, at, deed.salience, note_hash),
        )
        heads[deed.record] = (seq + 1, hashed)
        rows.append(
            {
                "tenant": tenant.id,
                "id": deed.record,
                "seq": seq + 1,
                "action": deed.action.value,
                "actor": actor,
                "at": at,
                "salience": deed.salience,
                "note_hash": note_hash,
                "hash": hashed,
            }
        )
    await insert_rows(connection, tables.audit, rows)
    await insert_rows(connection, tables.audit_note, notes)
    await insert_rows(
        connection,
        tables.audit_head,
        [{"tenant": tenant.id, "id": id_, "seq": seq, "hash": hashed} for id_, (seq, hashed) in heads.items()],
        suffix="ON CONFLICT (tenant, id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
    )


async def _heads(connection: AsyncConnection, tenant: Tenant, ids: set[UUID]) -> dict[UUID, tuple[int, bytes]]:
    if not ids:
        return {}
    table = tables.audit_head
    rows = await connection.execute(
        select(table.c.id, table.c.seq, table.c.hash)
        .where(table.c.tenant == tenant.id, table.c.id.in_(ids))
        .order_by(table.c.id)
        .with_for_update()
    )
    return {row.id: (row.seq, bytes(row.hash)) for row in rows}


async def fetch_audit(
    connection: AsyncConnection, tenant: Tenant, ids: Iterable[UUID]
) -> Mapping[UUID, list[AuditEntry]]:
    """The log of each record, oldest first. The caller has checked that they may be seen in full."""
    entries, notes = tables.audit, tables.audit_note
    rows = await connection.execute(
        select(entries.c.id, entries.c.action, entries.c.actor, entries.c.at, notes.c.rationale)
        .select_from(
            entries.outerjoin(
                notes,
                (entries.c.tenant == notes.c.tenant) & (entries.c.id == notes.c.id) & (entries.c.seq == notes.c.seq),
            )
        )
        .where(entries.c.tenant == tenant.id, entries.c.id.in_(list(ids)))
        .order_by(entries.c.id, entries.c.seq)
    )
    found: dict[UUID, list[AuditEntry]] = {}
    for row in rows:
        found.setdefault(row.id, []).append(
            AuditEntry(action=row.action, actor=row.actor, timestamp=row.at, rationale=row.rationale)
        )
    return found
