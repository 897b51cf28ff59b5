"""The named SQL statements of the store, and the functions that run them.

A statement is a block of a `.sql` file beside the modules that use it: a line `-- name --`, a line that describes it,
further comment lines where needed, then the SQL. Names are unique in the whole store. `{name}` inside a statement is
replaced by the block of that name, so that several statements can share a fragment.

A statement with a comment line that begins with `-- Prepared` is parsed once per connection, and planned without its
parameters where that is no dearer. The others are planned anew each time, because generic plans misjudge array
parameters (terms, frontiers). Prepare a statement only if one plan is right for all parameters. Booleans are an
exception: they are written into the text of a prepared statement, since they decide which indexes can be used.

The server keeps the plan of a prepared statement only if it estimates it no dearer than one made with the parameters.
For short arrays it would not: it counts their elements, and assumes ten where it does not know them. So frequent
statements read an array as `(SELECT CAST(:ids AS uuid[]))`, whose elements it never counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.bulk import array_literal
from stratagraph.store.postgres.driver import PARAMETER, Sending, Statement, send, send_for_tuples, send_together, write

Row = Mapping[Any, Any]  # a row, by column
_PACKAGE = "stratagraph.store"
_HEADER = re.compile(r"^-- ([a-z_]+) --$", re.MULTILINE)
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")
_PREPARED = "-- Prepared"


@dataclass(frozen=True, slots=True)
class _Block:
    """A named block of a `.sql` file, and whether the server keeps it prepared."""

    sql: str
    is_prepared: bool


@cache
def query(name: str) -> TextClause:
    """Return the named statement for SQLAlchemy. Raises KeyError if no `.sql` file of the store has it."""
    return text(_filled(name))


async def fetch(connection: AsyncConnection, statement: str, /, **parameters: Any) -> list[dict[str, Any]]:
    """Run a named statement and return its rows. Raises KeyError if there is no statement of this name."""
    return (await send(connection, sending(statement, parameters))).rows()


async def run(connection: AsyncConnection, statement: str, /, **parameters: Any) -> int:
    """Run a named statement and return the number of rows that it inserted, updated or deleted."""
    return (await send(connection, sending(statement, parameters))).rowcount


async def fetch_together(
    connection: AsyncConnection,
    *sendings: Sending,
    ends: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> list[list[dict[str, Any]]]:
    """Run statements of `sending` in their order, in one round trip, and return the rows of each.

    None of them can depend on the rows of another. With `ends`, the transaction, a reader's, ends with them.
    `meanwhile` is called while the server works: what it computes costs the caller no time of its own.
    """
    return await send_together(connection, sendings, ends=ends, meanwhile=meanwhile)


async def fetch_tuples(connection: AsyncConnection, sending: Sending) -> list[tuple[Any, ...]]:
    """Run a statement of `sending` and return its rows as tuples, in the order of its columns.

    For hundreds of rows: a dictionary of each, and of each value the text, take twice as long.
    """
    return await send_for_tuples(connection, sending)


async def defer(connection: AsyncConnection, statement: str, table: str, /, **parameters: Any) -> None:
    """Run a named insert into `table`, or update of it, that returns nothing; deferred if the transaction defers."""
    sql, names = _deferrable(statement)
    await write(connection, table, sql, [_wire(parameters[name]) for name in names], returns=False)


def sending(statement: str, parameters: Mapping[str, Any], *, binary: bool = False) -> Sending:
    """Return a named statement for the driver. Raises KeyError if there is no statement of this name.

    Flat lists become arrays in PostgreSQL's text form, so a statement casts them to its type: `CAST(:ids AS uuid[])`.
    """
    parameters = {name: _wire(value) for name, value in parameters.items()}
    if not _blocks()[statement].is_prepared:
        return Sending(Statement.of(_filled(statement)), parameters, binary=binary)
    booleans = tuple([(name, value) for name, value in parameters.items() if isinstance(value, bool)])
    return Sending(_with_booleans(statement, booleans), parameters, prepare=True, binary=binary)


def _wire(value: Any) -> Any:
    """Return a parameter as it is sent: an array as text, since the driver's own form takes several times as long.

    Arrays of arrays, which must be rectangular, are left to the driver.
    """
    is_flat = type(value) is list and not (value and isinstance(value[0], list | tuple))
    return array_literal(value) if is_flat else value


@lru_cache(maxsize=1_024)
def _with_booleans(name: str, booleans: tuple[tuple[str, bool], ...]) -> Statement:
    """Return a named statement in which these booleans are constants."""
    values = dict(booleans)
    return Statement.of(PARAMETER.sub(lambda match: str(values.get(match[1], match[0])), _filled(name)))


@cache
def _deferrable(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a named statement in the form of `driver.write`, and the names of its parameters."""
    names: list[str] = []

    def placeholder(match: re.Match[str]) -> str:
        names.append(match[1])
        return "%s"

    return PARAMETER.sub(placeholder, _filled(name)), tuple(names)


@cache
def _filled(name: str) -> str:
    """Return the named statement, its fragments filled in."""
    whole = _blocks()[name].sql
    while (filled := _FRAGMENT.sub(lambda fragment: _blocks()[fragment[1]].sql, whole)) != whole:
        whole = filled
    return whole


@cache
def _blocks() -> dict[str, _Block]:
    """Return all blocks of the store's `.sql` files by name."""
    blocks: dict[str, _Block] = {}
    for directory in files(_PACKAGE).iterdir():
        if not directory.is_dir():
            continue
        for file in directory.iterdir():
            if file.name.endswith(".sql"):
                source = file.read_text(encoding="utf-8")
                prepared = _prepared(source)
                for name, body in split(source).items():
                    if name in blocks:
                        raise ValueError(
                            f"Two statements are named {name!r}; the second is in {file.name}. Rename one."
                        )
                    blocks[name] = _Block(body, name in prepared)
    return blocks


def split(source: str) -> dict[str, str]:
    """Return the statements of one `.sql` file by name, without their comments.

    >>> split("-- count_rows --\\n-- Count the rows.\\nSELECT count(*) FROM record\\n")
    {'count_rows': 'SELECT count(*) FROM record'}
    """
    return {
        name: "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
        for name, body in _bodies(source)
    }


def _prepared(source: str) -> set[str]:
    """Return the names of the statements of one `.sql` file that are to be prepared."""
    return {name for name, body in _bodies(source) if any(line.startswith(_PREPARED) for line in body.splitlines())}


def _bodies(source: str) -> list[tuple[str, str]]:
    _, *parts = _HEADER.split(source)
    return list(zip(parts[::2], parts[1::2], strict=True))
