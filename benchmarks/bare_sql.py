"""The floor of a capture: the rows that it wrote, written again by psycopg alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from secrets import token_bytes
from time import perf_counter
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Column, Table
from sqlalchemy.dialects.postgresql import JSONB

from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.schema import tables

CHUNK = 1_000  # rows in one INSERT
# In an order that satisfies the foreign keys.
WRITTEN = (
    *(tables.fact_slot, tables.record, tables.salience, tables.entity_term, tables.episode, tables.episode_event),
    *(tables.relation, tables.audit, tables.audit_note, tables.audit_head, tables.candidate, tables.idempotency),
    tables.sync_log,
)
# Columns that the database fills in.
DEFAULTED = {("sync_log", "xid"), ("sync_log", "seq"), ("sync_log", "day"), ("candidate", "sequence")}
# Unique columns, for which plain SQL needs values of its own.
KEYS = {"term_key", "thread_key", "fact_key", "handle_key", "call_key", "key_hash"}
Rows = Mapping[Table, Sequence[Mapping[str, Any]]]
Statement = tuple[sql.Composed, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """The rows of one transaction with new ids and keys: one INSERT for up to 1,000 rows of a table."""

    rows: int
    records: Sequence[UUID]
    statements: Sequence[Statement]


class BareSql:
    """Writes copies of the rows of captures by multi-row INSERTs, and deletes them again."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self._numbers = count(1_000_000_000)

    def __enter__(self) -> BareSql:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def copies(self, candidates: Sequence[str]) -> list[Copy]:
        """Return copies of all that the transactions with these candidates have written, one of each transaction."""
        found = self.connection.execute("SELECT xmin::text FROM candidate WHERE id = ANY(%s::uuid[])", [[*candidates]])
        numbers = [number for (number,) in found]
        written: defaultdict[str, dict[Table, list[dict[str, Any]]]] = defaultdict(dict)
        for table in WRITTEN:
            columns = [column.name for column in table.columns if (table.name, column.name) not in DEFAULTED]
            statement = sql.SQL("SELECT xmin::text, {} FROM {} WHERE xmin = ANY(%s::xid[])").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(table.name)
            )
            for number, *values in self.connection.execute(statement, [numbers]):
                written[number].setdefault(table, []).append(dict(zip(columns, values, strict=True)))
        return [self._copy(rows) for rows in written.values()]

    def _copy(self, rows: dict[Table, list[dict[str, Any]]]) -> Copy:
        # Leave out episodes that existed before: the capture only updated them, and a copy would need a record.
        new = {row["id"] for row in rows.get(tables.record, ())}
        rows[tables.episode] = [row for row in rows.get(tables.episode, ()) if row["id"] in new]
        renewed = self._renewed(rows)
        return Copy(
            rows=sum(map(len, rows.values())),
            records=[row["id"] for row in renewed.get(tables.record, ())],
            statements=[
                (_insert(table, chunk), [_adapted(table.c[name], row[name]) for row in chunk for name in row])
                for table in WRITTEN
                for chunk in _chunks(renewed.get(table, ()))
            ],
        )

    def _renewed(self, rows: Rows) -> Rows:
        """Copy the rows with new ids and keys. References to older rows stay."""
        salt = token_bytes(8)
        identified = (tables.record, tables.relation, tables.candidate)
        ids = {row["id"]: new_id() for table in identified for row in rows.get(table, ())}
        slots = {row["slot_key"] for row in rows.get(tables.fact_slot, ())}

        def renew(name: str, value: Any) -> Any:
            if isinstance(value, UUID):
                return ids.get(value, value)
            if isinstance(value, list):
                return [ids.get(item, item) if isinstance(item, UUID) else item for item in value]
            if name in KEYS or (name == "slot_key" and value in slots):
                return value and sha256(salt + value).digest()
            return next(self._numbers) if name == "position" else value

        return {
            table: [{name: renew(name, value) for name, value in row.items()} for row in found]
            for table, found in rows.items()
        }

    def write(self, copy: Copy) -> float:
        """Write the rows in one transaction, with their values as parameters; return milliseconds."""
        return self._write(copy, list(copy.statements))

    def write_text(self, copy: Copy) -> float:
        """Write the rows with their values in the statements' text, made beforehand: what the server alone needs."""
        cursor = psycopg.ClientCursor(self.connection)
        return self._write(copy, [(cursor.mogrify(*statement).encode(), None) for statement in copy.statements])

    def _write(self, copy: Copy, statements: Sequence[tuple[sql.Composed | bytes, list[Any] | None]]) -> float:
        began = perf_counter()
        with self.connection.transaction():
            for statement, values in statements:
                self.connection.execute(statement, values)
        took = perf_counter() - began
        self._delete(copy)
        return took * 1_000

    def _delete(self, copy: Copy) -> None:
        """Delete the copies, so that they can be written again and the service does not meet them."""
        with self.connection.transaction():
            # Without the checks of foreign keys: everything that refers to the rows is deleted with them.
            self.connection.execute("SET LOCAL session_replication_role = replica")
            row = self.connection.execute("SELECT max(xmin::text) FROM record WHERE id = ANY(%s)", [list(copy.records)])
            number = row.fetchone()
            assert number is not None  # an aggregate has a row
            for table in WRITTEN:
                self.connection.execute(
                    sql.SQL("DELETE FROM {} WHERE xmin = %s::xid").format(sql.Identifier(table.name)), number
                )


def _chunks(rows: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def _insert(table: Table, rows: Sequence[Mapping[str, Any]]) -> sql.Composed:
    one: LiteralString = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
    return sql.SQL("INSERT INTO {} ({}) VALUES {}").format(
        sql.Identifier(table.name),
        sql.SQL(", ").join(map(sql.Identifier, rows[0])),
        sql.SQL(", ").join([sql.SQL(one)] * len(rows)),
    )


def _adapted(column: Column[Any], value: Any) -> Any:
    return Jsonb(value) if isinstance(column.type, JSONB) and value is not None else value
