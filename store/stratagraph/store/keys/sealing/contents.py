"""What is sealed of a row, and the row's columns without it.

A blob holds JSON: of a record its name, text, payload, provenance and interpretation; of an audit note the rationale;
of a failed candidate its source and input.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Column, ColumnElement, Table, bindparam, null, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.vault import Keyring, Sealed, Sealer
from stratagraph.store.postgres import tables

FIELDS = ("name", "text", "payload", "provenance", "interpretation")
RECORD = "record"  # the purpose of a record's blob, also in its history: what it was is copied as it lies
CANDIDATE = "candidate"
_EMPTY: dict[str, None] = dict.fromkeys(FIELDS)


def note(seq: int) -> str:
    """The purpose of the blob of an audit note."""
    return f"note {seq}"


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The content columns of a record that is not sealed."""
    return {**{name: values[name] for name in FIELDS}, "sealed": None}


def sealed(sealer: Sealer, id_: UUID, values: Mapping[str, Any]) -> dict[str, Any]:
    """The content columns of a record that is: all of it in one blob."""
    content = orjson.dumps({name: values[name] for name in FIELDS})
    return {**_EMPTY, "sealed": sealer.seal(id_, RECORD, content)}


def seal_rationale(sealer: Sealer, id_: UUID, seq: int, rationale: str) -> bytes:
    return sealer.seal(id_, note(seq), rationale.encode())


async def opened(
    keyring: Keyring, rows: Sequence[Mapping[Any, Any]], *, key: str = "id"
) -> list[dict[str, Any] | None]:
    """For each row the content of its blob, None where it has none. The caller has checked that it may be seen."""
    blobs = [
        Sealed(id=row[key], purpose=RECORD, blob=bytes(row["sealed"])) for row in rows if row["sealed"] is not None
    ]
    if not blobs:
        return [None] * len(rows)
    contents = iter(await keyring.open(blobs))
    return [orjson.loads(next(contents)) if row["sealed"] is not None else None for row in rows]


async def seal_copies(connection: AsyncConnection, keyring: Keyring, ids: Collection[UUID]) -> None:
    """Seal what else is kept of records that are sealed from now on: their history, their notes, their source."""
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
    """Lock the rows of one table, in the order of their key, and seal their content anew; returns the keys.

    Moves neither version nor row_version: what the rows say is the same.
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
    closed = [row for row in rows if row["sealed"] is not None]
    found = await keyring.open(
        [Sealed(id=row["id"], purpose=_purpose(table, row), blob=bytes(row["sealed"])) for row in closed]
    )
    contents = {_key(keys, row): content for row, content in zip(closed, found, strict=True)}
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
    """What identifies a row within its tenant."""
    return [column for column in table.primary_key if column.name != "tenant"]


def _key(keys: Sequence[Any], row: Mapping[Any, Any]) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in keys)


def _fields(table: Table) -> tuple[str, ...]:
    if table is tables.audit_note:
        return ("rationale",)
    if table is tables.candidate:
        return ("source", "input")
    return FIELDS


def _purpose(table: Table, row: Mapping[Any, Any]) -> str:
    if table is tables.audit_note:
        return note(row["seq"])
    return CANDIDATE if table is tables.candidate else RECORD


def _content(table: Table, row: Mapping[Any, Any]) -> bytes:
    if table is tables.audit_note:
        return str(row["rationale"]).encode()
    return orjson.dumps({name: row[name] for name in _fields(table)})
