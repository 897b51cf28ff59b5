"""The state of all tables of a store, to see that a refused request has changed none."""

from __future__ import annotations

from typing import Any

import psycopg

# Tables that a refused request may change: names are interned in transactions of their own, reads are logged, with
# those of lessons, and the windows of the feed are closed in the background.
INTERNED = {"scope", "predicate", "tenant", "data_key", "retrieval", "lesson_use"}
INTERNED |= {"sync_tick", "sync_feed", "sync_snapshot"}
PAID = {"rate_bucket", "rate_lease"}  # by requests that are refused, too


class Tables:
    """The state of all tables: for each, the number of rows and the newest transaction that wrote one of them."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        tables = sorted({name for (name,) in names} - INTERNED - PAID)
        self._query = " UNION ALL ".join(
            f"SELECT '{name}', count(*), max(xmin::text::bigint) FROM {name}"  # noqa: S608 - names of the catalogue
            for name in tables
        )

    def state(self) -> dict[str, Any]:
        return {name: rest for name, *rest in self._connection.execute(self._query.encode()).fetchall()}


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the tables that differ, each with both states."""
    return {table: (before[table], after[table]) for table in after if after[table] != before[table]}
