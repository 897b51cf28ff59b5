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

from stratagraph.store.postgres.tables.base import SparseVec

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
    arrays = tuple(array_literal(_wire(table.c[name], [row[name] for row in rows])) for name in columns)
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


def _wire(column: Column[Any], values: Sequence[Any]) -> Sequence[Any]:
    if isinstance(column.type, JSONB):
        return [None if value is None else orjson.dumps(value).decode() for value in values]
    if isinstance(column.type, ARRAY):
        return [None if value is None else array_literal(value) for value in values]
    return values


def array_literal(values: Sequence[Any]) -> str:
    """PostgreSQL's text form of a one-dimensional array. Written here: the driver takes several times as long.

    >>> array_literal(["a", 'say "b"', None, 3])
    '{"a","say \\\\"b\\\\"",NULL,3}'
    """
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes):
        return rf'"\\x{value.hex()}"'
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
