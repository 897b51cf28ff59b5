"""The audit log: writing and reading it. It is insert-only, and the entries of a record are chained by hashes.

Rationales are in notes beside the entries, which hold only a salted hash of them. So a rationale can be erased and the
chain stays valid. See docs/data-model.md, Audit.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.chain import GENESIS, link
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import note_purpose, seal_rationale
from stratagraph.store.keys.sealing.vault import Sealed, Sealer
from stratagraph.store.model.enums import AuditAction, Sensitivity
from stratagraph.store.model.records import AuditEntry
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import Row, fetch
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One action on one record, to be appended to the audit log.

    `salience` is the record's salience after the action; None if the action does not change it. `sensitivity` is that
    of the most sensitive record that the rationale is about, which a reader of it must reach; None stands for the
    record's own.
    """

    record: UUID
    action: AuditAction
    rationale: str | None = None
    salience: float | None = None
    sensitivity: Sensitivity | None = None


async def write_audit(
    connection: AsyncConnection,
    tenant: Tenant,
    events: Sequence[AuditEvent],
    *,
    actor: str,
    at: datetime,
    new: Iterable[UUID] = (),
    sealed: Collection[UUID] = (),
) -> None:
    """Append one audit entry for each of `events`, all by `actor` and at `at`, to the chains of their records.

    Locks the heads of existing chains in id order. `new` are the ids of records that have no chain yet, so that no head
    is read for them. A rationale is sealed if a record that it is about is; `sealed` are the ids of sealed records
    among the new ones.
    """
    if not events:
        return
    fresh = set(new)
    heads, known = await lock_heads(connection, tenant, {event.record for event in events} - fresh)
    secret = known | set(sealed)
    sealer: Sealer | None = None

    def is_secret(event: AuditEvent) -> bool:
        about = event.sensitivity is not None and tenant.keyring.seals(event.sensitivity)
        return event.rationale is not None and (about or event.record in secret)

    if any(is_secret(event) for event in events):
        sealer = await tenant.keyring.sealer(connection)
    entries = ChainedEntries(tenant, heads)
    for event in events:
        entries.add(
            event.record,
            event.action,
            actor,
            at,
            salience=event.salience,
            rationale=event.rationale,
            sensitivity=event.sensitivity,
            sealer=sealer if is_secret(event) else None,
        )
    await entries.insert(connection)


@dataclass(slots=True)
class ChainedEntries:
    """Entries that are to be appended to logs, each with the hash that chains it to the one before it.

    `heads` has the number and the hash of the last entry of each log that is not empty; they must be locked.
    """

    tenant: Tenant
    heads: dict[UUID, tuple[int, bytes]]
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _notes: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        record: UUID,
        action: AuditAction,
        actor: str,
        at: datetime,
        *,
        salience: float | None,
        rationale: str | None,
        sensitivity: Sensitivity | None,
        sealer: Sealer | None,
    ) -> None:
        """Append an entry to the log of a record; `sealer` seals its rationale, which is plain text without one."""
        before, previous = self.heads.get(record, (0, GENESIS))
        seq = before + 1
        note_hash = None
        if rationale:
            salt = secrets.token_bytes(16)
            note_hash = hashlib.sha256(salt + rationale.encode()).digest()
            blob = None if sealer is None else seal_rationale(sealer, record, seq, rationale)
            self._notes.append(
                {
                    "tenant": self.tenant.id,
                    "id": record,
                    "seq": seq,
                    "salt": salt,
                    "rationale": rationale if blob is None else None,
                    "sealed": blob,
                    "sensitivity": None if sensitivity is None else int(sensitivity),
                }
            )
        event = (action.value, actor, at, salience, note_hash)
        hashed = link(previous, tenant=self.tenant.id, record=record, seq=seq, event=event)
        self.heads[record] = (seq, hashed)
        self._rows.append(
            {
                "tenant": self.tenant.id,
                "id": record,
                "seq": seq,
                "action": action.value,
                "actor": actor,
                "at": at,
                "salience": salience,
                "note_hash": note_hash,
                "hash": hashed,
            }
        )

    async def insert(self, connection: AsyncConnection) -> None:
        """Insert the entries, and the new ends of their chains."""
        tenant = self.tenant.id
        await insert_rows(connection, tables.audit, self._rows)
        await insert_rows(connection, tables.audit_note, self._notes)
        await insert_rows(
            connection,
            tables.audit_head,
            [{"tenant": tenant, "id": id_, "seq": seq, "hash": hashed} for id_, (seq, hashed) in self.heads.items()],
            suffix="ON CONFLICT (tenant, id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        )


async def lock_heads(
    connection: AsyncConnection, tenant: Tenant, ids: set[UUID]
) -> tuple[dict[UUID, tuple[int, bytes]], set[UUID]]:
    """Lock the heads of the chains; return their (seq, hash) by record, and the records whose rationale is sealed.

    For a deleted record it is unknown whether it was sealed, so its rationale is sealed if the tenant seals anything.
    """
    if not ids:
        return {}, set()
    rows = await fetch(connection, "lock_audit_heads", tenant=tenant.id, ids=list(ids))
    seals_any = tenant.keyring.seal_from is not None
    sealed_ids = {row["id"] for row in rows if (seals_any if row["is_sealed"] is None else row["is_sealed"])}
    return {row["id"]: (row["seq"], row["hash"]) for row in rows}, sealed_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a record changed: what was done, by whom, and the reason given, as far as a caller may read it."""

    action: str
    actor: str
    rationale: str | None


async def fetch_causes(
    connection: AsyncConnection, caller: Caller, asked: Sequence[tuple[UUID, datetime | None]]
) -> dict[int, Cause]:
    """Return the causes of changes to records, by their place in `asked`; changes whose cause is unknown are left out.

    A change is given by the record and the instant of the change, or None for its deletion. Row-level security leaves
    out the entries of records that the caller may not read in full. Raises StratagraphError if a sealed rationale
    cannot be opened.
    """
    if not asked:
        return {}
    rows = await fetch(
        connection,
        "fetch_causes",
        tenant=caller.tenant.id,
        ceiling=int(caller.ceiling),
        ids=[id_ for id_, _ in asked],
        instants=[at for _, at in asked],
    )
    opened = await _open_rationales(caller, rows)
    return {
        row["place"] - 1: Cause(action=row["action"], actor=row["actor"], rationale=rationale)
        for row, rationale in zip(rows, opened, strict=True)
    }


async def _open_rationales(caller: Caller, rows: Sequence[Row]) -> list[str | None]:
    """Return the rationale of each row; sealed ones are opened together."""
    blobs = [
        Sealed(id=row["id"], purpose=note_purpose(row["seq"]), blob=bytes(row["sealed"]))
        for row in rows
        if row["sealed"] is not None
    ]
    contents = iter(await caller.tenant.keyring.open(blobs)) if blobs else iter(())
    return [row["rationale"] if row["sealed"] is None else next(contents).decode() for row in rows]


async def fetch_audit(
    connection: AsyncConnection, caller: Caller, ids: Iterable[UUID], *, after: int = 0, limit: int | None = None
) -> Mapping[UUID, list[AuditEntry]]:
    """Return the audit entries of each record, oldest first, keyed by its id. Records without entries are left out.

    Entries up to the number `after` are left out; `limit` bounds the number of entries, for the log of one record. The
    calling code has checked that the records may be read in full, or might have been before they were removed. A
    rationale about a record above the caller's ceiling is None. Raises StratagraphError if a sealed rationale cannot be
    opened.
    """
    entries, notes = tables.audit, tables.audit_note
    result = await connection.execute(
        select(
            entries.c.id,
            entries.c.seq,
            entries.c.action,
            entries.c.actor,
            entries.c.at,
            notes.c.rationale,
            notes.c.sealed,
        )
        .select_from(
            entries.outerjoin(
                notes,
                (entries.c.tenant == notes.c.tenant)
                & (entries.c.id == notes.c.id)
                & (entries.c.seq == notes.c.seq)
                & (func.coalesce(notes.c.sensitivity, 0) <= int(caller.ceiling)),
            )
        )
        .where(entries.c.tenant == caller.tenant.id, entries.c.id.in_(list(ids)), entries.c.seq > after)
        .order_by(entries.c.id, entries.c.seq)
        .limit(limit)
    )
    rows = result.all()
    found: dict[UUID, list[AuditEntry]] = {}
    for row, rationale in zip(rows, await _open_rationales(caller, [row._mapping for row in rows]), strict=True):
        found.setdefault(row.id, []).append(
            AuditEntry(seq=row.seq, action=row.action, actor=row.actor, timestamp=row.at, rationale=rationale)
        )
    return found
