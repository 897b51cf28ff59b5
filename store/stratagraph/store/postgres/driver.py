"""Statements that psycopg sends itself, within a transaction that SQLAlchemy opened.

SQLAlchemy's asynchronous layer takes three quarters of the client's time of a small statement (0.27 ms of 0.36 ms), so
the named statements and the bulk inserts do not pass through it.

Inserts that return nothing are **deferred** in a writer's transaction: they are sent as one statement, as soon as
anything else is sent on the connection and at the end of the transaction at the latest. So a capture's dozen of inserts
is one round trip, and what reads afterwards sees them. An error of an insert is then raised by what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.rows import AsyncRowFactory, dict_row, tuple_row
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util.concurrency import await_

R = TypeVar("R")
_SESSION = "session"  # the key of a connection's `info`
_PLACEHOLDER = re.compile(r"(?<![:\w]):([a-z_]+)")


@dataclass(slots=True)
class _Deferred:
    """An insert or update of `table` that is still to be sent."""

    table: str
    statement: str
    parameters: Sequence[Any]


@dataclass(slots=True)
class _Session:
    """What belongs to the transaction that is open on a connection. `count` is called for each statement sent."""

    count: Callable[[], None]
    is_deferring: bool
    deferred: list[_Deferred]


def begin_session(connection: AsyncConnection, count: Callable[[], None], *, is_deferring: bool) -> None:
    """Note that a transaction begins on the connection, and whether its inserts are deferred."""
    connection.info[_SESSION] = _Session(count, is_deferring, [])


async def send(
    connection: AsyncConnection, statement: str, parameters: Mapping[str, Any] | Sequence[Any], *, prepare: bool = False
) -> psycopg.AsyncCursor[dict[str, Any]]:
    """Run a statement with psycopg's placeholders and return its cursor, which gives rows as dictionaries.

    With `prepare`, the server keeps the parsed statement for the connection, and its plan where that does not depend on
    the parameters.
    """
    known = _known(connection.sync_connection)
    await _flush(*known)
    return await _send(*known, statement, parameters, prepare=prepare, row_factory=dict_row)


async def write(
    connection: AsyncConnection, table: str, statement: str, parameters: Sequence[Any], *, returns: bool
) -> list[tuple[Any, ...]]:
    """Run a bulk insert into `table`, or an update of it, and return the rows of RETURNING, if it has that.

    Deferred if it returns nothing and the transaction defers.
    """
    driver, session = _known(connection.sync_connection)
    if not session.is_deferring or returns:
        await _flush(driver, session)
        cursor = await _send(driver, session, statement, parameters, prepare=True, row_factory=tuple_row)
        return await cursor.fetchall() if returns else []
    if any(table == other.table for other in session.deferred):
        await _flush(driver, session)  # the parts of one statement do not see each other's rows
    session.deferred.append(_Deferred(table, statement, parameters))
    return []


async def flush(connection: AsyncConnection) -> None:
    """Send what the transaction has deferred."""
    await _flush(*_known(connection.sync_connection))


def flush_before(connection: Connection) -> None:
    """Send what the transaction has deferred, from a handler of SQLAlchemy's events."""
    session = connection.info.get(_SESSION)
    if session is not None and session.deferred:
        await_(_flush(*_known(connection)))


def discard(connection: AsyncConnection) -> None:
    """Drop what a savepoint deferred that is rolled back."""
    session = connection.info.get(_SESSION)
    if session is not None:
        session.deferred.clear()


@lru_cache(maxsize=1_024)
def named_placeholders(statement: str) -> str:
    """Return a statement with psycopg's placeholders in place of SQLAlchemy's.

    >>> named_placeholders("SELECT :a::int % 2, 'x:y' FROM t WHERE b = :b")
    "SELECT %(a)s::int %% 2, 'x:y' FROM t WHERE b = %(b)s"
    """
    return _PLACEHOLDER.sub(r"%(\1)s", statement.replace("%", "%%"))


@lru_cache(maxsize=64)
def numbered_placeholders(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with a placeholder for each use of a parameter, and the parameters' names in that order.

    >>> numbered_placeholders("UPDATE t SET a = :a WHERE b = :b OR c = :a")
    ('UPDATE t SET a = %s WHERE b = %s OR c = %s', ('a', 'b', 'a'))
    """
    names = tuple(match[1] for match in _PLACEHOLDER.finditer(statement))
    return _PLACEHOLDER.sub("%s", statement.replace("%", "%%")), names


def _known(connection: Connection | None) -> tuple[psycopg.AsyncConnection[Any], _Session]:
    """Return the driver's connection and what belongs to its transaction."""
    assert connection is not None  # it is None only before SQLAlchemy's connection is opened
    pooled = connection.connection
    driver: psycopg.AsyncConnection[Any] = pooled.driver_connection  # type: ignore[assignment]  # typed as Any | None
    return driver, pooled.info[_SESSION]


async def _flush(driver: psycopg.AsyncConnection[Any], session: _Session) -> None:
    if not session.deferred:
        return
    parts = list(session.deferred)
    session.deferred.clear()
    await _send(
        driver,
        session,
        _together(tuple(part.statement for part in parts)),
        [value for part in parts for value in part.parameters],
        prepare=True,
        row_factory=tuple_row,
    )


@lru_cache(maxsize=1_024)
def _together(statements: tuple[str, ...]) -> str:
    """Return one statement that runs all of `statements`, on one snapshot; foreign keys are checked at its end."""
    *others, last = statements
    parts = ", ".join(f"part_{number} AS ({statement})" for number, statement in enumerate(others))
    return f"WITH {parts} {last}" if others else last


async def _send(
    driver: psycopg.AsyncConnection[Any],
    session: _Session,
    statement: str,
    parameters: Mapping[str, Any] | Sequence[Any],
    *,
    prepare: bool,
    row_factory: AsyncRowFactory[R],
) -> psycopg.AsyncCursor[R]:
    session.count()
    cursor = driver.cursor(row_factory=row_factory)
    # The statements are those of the store's files and tables; only their parameters come from outside.
    await cursor.execute(statement.encode(), parameters, prepare=prepare)
    return cursor
