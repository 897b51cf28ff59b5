"""Many rows in one statement: the columns travel as arrays and are unnested on the server.

One round trip and one plan for a batch of any size, and the same path for a single row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import ARRAY, Column, Row, Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import JSONB, TSTZRANGE
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.tables.base import SparseVec

_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves this one untyped


async def insert_rows(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]], *, suffix: str = ""
) -> Sequence[Row[Any]]:
    """Insert `rows`, which all have the same keys; `suffix` may hold ON CONFLICT and RETURNING.

    Returns what RETURNING gives, else nothing. Arrays and JSON are given as Python values.
    """
    if not rows:
        return ()
    columns = tuple(rows[0])
    arrays = tuple([_wire(table.c[name], row[name]) for row in rows] for name in columns)
    result = await connection.exec_driver_sql(_statement(table, columns, suffix), arrays)
    return result.all() if result.returns_rows else ()


@lru_cache(maxsize=256)
def _statement(table: Table, columns: tuple[str, ...], suffix: str) -> str:
    names = ", ".join(columns)
    wire = ", ".join(f"%s::{_wire_type(table.c[name])}[]" for name in columns)
    casts = ", ".join(f"r.{name}::{_type(table.c[name])}" for name in columns)
    return f"INSERT INTO {table.name} ({names}) SELECT {casts} FROM unnest({wire}) AS r({names}) {suffix}"  # noqa: S608 - names come from our own metadata


def _type(column: Column[Any]) -> str:
    return str(column.type.compile(dialect=_DIALECT))


def _as_text(column: Column[Any]) -> bool:
    """Arrays of arrays must be rectangular, and JSON is quicker as text: these travel as their text form."""
    return isinstance(column.type, ARRAY | JSONB | SparseVec | TSTZRANGE)


def _wire_type(column: Column[Any]) -> str:
    return "text" if _as_text(column) else _type(column)


def _wire(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, JSONB):
        return orjson.dumps(value).decode()
    if isinstance(column.type, ARRAY):
        return array_literal(value)
    return value


def array_literal(values: Sequence[Any]) -> str:
    """PostgreSQL's text form of a one-dimensional array.

    >>> array_literal(["a", 'say "b"'])
    '{"a","say \\\\"b\\\\""}'
    """
    quoted = (
        str(value) if isinstance(value, int) else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        for value in values
    )
    return "{" + ",".join(quoted) + "}"
