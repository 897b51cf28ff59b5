"""Sealing and opening the content of rows.

The blob of a record holds its content columns as JSON. The blob of a failed
candidate holds its source and input as JSON, that of a span the span as JSON, that of an audit note its rationale as
text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Column, ColumnElement, Table, bindparam, null, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.vault import Keyring, Sealed, Sealer
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.postgres.schema import tables

FIELDS = ("name", "text", "payload", "provenance", "interpretation", "learned_state")  # content columns of a record
RECORD = "record"  # purpose of a record's blob; the same in its history, to which the blob is copied unchanged
CANDIDATE = "candidate"  # purpose of a candidate's blob
SPAN = "span"  # purpose of the blob of a span that was received
_EMPTY: dict[str, None] = dict.fromkeys(FIELDS)


def note_purpose(seq: int) -> str:
    """Return the purpose with which the blob of audit note `seq` of a record is sealed."""
    return f"note {seq}"


def plain_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the content columns of a record that is stored in plain text: `sealed` is None."""
    return {**{name: values[name] for name in FIELDS}, "sealed": None}


def sealed_columns(sealer: Sealer, id_: UUID, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the content columns of a record that is stored sealed: all None except `sealed`."""
    content = orjson.dumps({name: values[name] for name in FIELDS})
    return {**_EMPTY, "sealed": sealer.seal(id_, RECORD, content)}


def seal_rationale(sealer: Sealer, id_: UUID, seq: int, rationale: str) -> bytes:
    """Return the rationale of audit entry `seq` of the record `id_`, sealed."""
    return sealer.seal(id_, note_purpose(seq), rationale.encode())


async def open_contents(
    keyring: Keyring, rows: Sequence[Mapping[Any, Any]], *, key: str = "id"
) -> list[dict[str, Any] | None]:
    """Return the decrypted content of each row, in order; None for a row that is not sealed.

    `key` names the column with the record's id. The calling code has checked that the records may be read in full.
    Raises StratagraphError if a blob does not open, Misconfigured if the master key for it was not given.
    """
    blobs = [
        Sealed(id=row[key], purpose=RECORD, blob=bytes(row["sealed"])) for row in rows if row["sealed"] is not None
    ]
    if not blobs:
        return [None] * len(rows)
    contents = iter(await keyring.open(blobs))
    return [_opened(next(contents)) if row["sealed"] is not None else None for row in rows]


def _opened(blob: bytes) -> dict[str, Any]:
    """Return the content of a record's blob.

    A blob of an earlier release has the state of learning in the payload. What a caller wrote under that key stays
    there, as a text of the caller's.
    """
    content: dict[str, Any] = orjson.loads(blob)
    if "learned_state" not in content:
        provenance, payload = content["provenance"] or {}, content["payload"]
        was_learned = str(provenance.get("created_by")).startswith(LEARNED_BY) and isinstance(payload, dict)
        content["learned_state"] = payload.pop("learned", None) if was_learned else None
    return content


async def seal_copies(connection: AsyncConnection, keyring: Keyring, ids: Collection[UUID]) -> None:
    """Seal the history and audit notes of the newly sealed records `ids`, and delete the source of their captures."""
    if not ids:
        return
    sealer = await keyring.sealer(connection)
    history, notes, traces = tables.record_history, tables.audit_note, tables.candidate
    await reseal(connection, keyring, sealer, history, history.c.id.in_(ids) & history.c.sealed.is_(None))
    await reseal(connection, keyring, sealer, notes, notes.c.id.in_(ids) & notes.c.sealed.is_(None))
    await connection.execute(
        update(traces).where(traces.c.tenant == keyring.tenant, traces.c.record.in_(ids)).values(source=None)
    )


async def reseal(
    connection: AsyncConnection,
    keyring: Keyring,
    sealer: Sealer,
    table: Table,
    where: ColumnElement[bool],
    *,
    limit: int | None = None,
) -> list[tuple[Any, ...]]:
    """Seal the rows of one table that match `where`, at most `limit`, with `sealer`; return their keys without tenant.

    Sealed rows are opened and sealed again, plain ones sealed for the first time. Locks the rows in key order. Their
    version and row_version stay the same, because their content does.
    """
    keys = key_columns(table)
    fields = [table.c[name] for name in _fields(table)]
    rows = (
        (
            await connection.execute(
                select(*keys, *fields, table.c.sealed)
                .where(table.c.tenant == keyring.tenant, where)
                .order_by(*keys)
                .limit(limit)
                .with_for_update()
            )
        )
        .mappings()
        .all()
    )
    if not rows:
        return []
    sealed = [row for row in rows if row["sealed"] is not None]
    found = await keyring.open(
        [Sealed(id=row["id"], purpose=_purpose(table, row), blob=bytes(row["sealed"])) for row in sealed]
    )
    contents = {_key(keys, row): content for row, content in zip(sealed, found, strict=True)}
    written = [
        {
            **{f"at_{column.name}": row[column.name] for column in keys},
            "blob": sealer.seal(row["id"], _purpose(table, row), contents.get(_key(keys, row)) or _content(table, row)),
        }
        for row in rows
    ]
    await connection.execute(
        update(table)
        .where(table.c.tenant == keyring.tenant, *(column == bindparam(f"at_{column.name}") for column in keys))
        .values(sealed=bindparam("blob"), **{column.name: null() for column in fields}),
        written,
    )
    return [_key(keys, row) for row in rows]


def key_columns(table: Table) -> list[Column[Any]]:
    """Return the columns of the primary key except the tenant."""
    return [column for column in table.primary_key if column.name != "tenant"]


def _key(keys: Sequence[Any], row: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in keys)


def _fields(table: Table) -> tuple[str, ...]:
    if table is tables.audit_note:
        return ("rationale",)
    if table is tables.candidate:
        return ("source", "input")
    return ("content",) if table is tables.received_span else FIELDS


def _purpose(table: Table, row: Mapping[Any, Any]) -> str:
    if table is tables.audit_note:
        return note_purpose(row["seq"])
    if table is tables.received_span:
        return SPAN
    return CANDIDATE if table is tables.candidate else RECORD


def _content(table: Table, row: Mapping[Any, Any]) -> bytes:
    if table is tables.audit_note:
        return str(row["rationale"]).encode()
    return orjson.dumps({name: row[name] for name in _fields(table)})
