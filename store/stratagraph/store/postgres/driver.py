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
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import count
from typing import Any, TypeVar

import psycopg
from psycopg.rows import AsyncRowFactory, dict_row, tuple_row
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util.concurrency import await_

R = TypeVar("R")
_SESSION = "session"  # the key of a connection's `info`
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with the server's placeholders, `$1` and so on, and the names of their parameters.

    Sending it costs no translation: psycopg keeps none of a statement with more than 50 parameters.
    """

    sql: bytes
    names: tuple[str, ...]

    @classmethod
    @lru_cache(maxsize=1_024)
    def of(cls, text: str) -> Statement:
        """Return the statement that `text` is, in which parameters are named as `:name`.

        >>> Statement.of("UPDATE t SET a = :a::int WHERE b = :b OR c = :a")
        Statement(sql=b'UPDATE t SET a = $1::int WHERE b = $2 OR c = $1', names=('a', 'b'))
        """
        names = tuple(dict.fromkeys(match[1] for match in PARAMETER.finditer(text)))
        numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
        return cls(PARAMETER.sub(lambda match: numbers[match[1]], text).encode(), names)


@dataclass(frozen=True, slots=True)
class Sending:
    """A statement with its parameters, by name. With `prepare`, the server keeps the parsed statement (see `send`).

    With `binary`, rows are sent in binary form: for those with long byte strings, which take twice the bytes as text.
    """

    statement: Statement
    parameters: Mapping[str, Any]
    _: KW_ONLY
    prepare: bool = False
    binary: bool = False

    @property
    def values(self) -> list[Any]:
        return [self.parameters[name] for name in self.statement.names]


@dataclass(slots=True)
class _Deferred:
    """An insert or update of `table` that is still to be sent."""

    table: str
    statement: str
    parameters: Sequence[Any]


@dataclass(slots=True)
class _Session:
    """What belongs to the transaction that is open on a connection.

    `count` is called with the number of statements of each round trip.
    """

    count: Callable[[int], None]
    is_deferring: bool
    deferred: list[_Deferred]


def begin_session(connection: AsyncConnection, count: Callable[[int], None], *, is_deferring: bool) -> None:
    """Note that a transaction begins on the connection, and whether its inserts are deferred."""
    connection.info[_SESSION] = _Session(count, is_deferring, [])


async def send(connection: AsyncConnection, sending: Sending) -> psycopg.AsyncCursor[dict[str, Any]]:
    """Run a statement and return its cursor, which gives rows as dictionaries.

    With `prepare`, the server keeps the parsed statement for the connection, and its plan where that does not depend on
    the parameters. Raises KeyError if a parameter is missing.
    """
    driver, session = _known(connection.sync_connection)
    await _flush(driver, session)
    return await _send(
        driver,
        session,
        sending.statement.sql,
        sending.values,
        prepare=sending.prepare,
        row_factory=dict_row,
        binary=sending.binary,
    )


async def send_together(connection: AsyncConnection, sendings: Sequence[Sending]) -> list[list[dict[str, Any]]]:
    """Run statements in their order, in one round trip, and return the rows of each.

    The server runs each as if it had been sent alone: the first that fails ends the transaction, and its error is
    raised. Raises KeyError if a parameter is missing.
    """
    if len(sendings) == 1:
        return [
            await _rows(await send(connection, sendings[0]))
        ]  # the driver's pipeline takes longer than one statement
    driver, session = _known(connection.sync_connection)
    await _flush(driver, session)
    session.count(len(sendings))
    cursors = []
    async with driver.pipeline():
        for one in sendings:
            cursor = psycopg.AsyncRawCursor(driver, row_factory=dict_row)
            cursors.append(await cursor.execute(one.statement.sql, one.values, prepare=one.prepare, binary=one.binary))
    return [await _rows(cursor) for cursor in cursors]


async def send_for_tuples(connection: AsyncConnection, sending: Sending) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows as tuples, sent in the binary format, which takes half of the time to read.

    For statements with hundreds of rows. Raises KeyError if a parameter is missing.
    """
    driver, session = _known(connection.sync_connection)
    await _flush(driver, session)
    session.count(1)
    cursor = psycopg.AsyncRawCursor(driver, row_factory=tuple_row)
    await cursor.execute(sending.statement.sql, sending.values, prepare=sending.prepare, binary=True)
    return await cursor.fetchall()


async def write(
    connection: AsyncConnection, table: str, statement: str, parameters: Sequence[Any], *, returns: bool
) -> list[tuple[Any, ...]]:
    """Run an insert into `table`, or an update of it, and return the rows of RETURNING, if it has that.

    Its parameters are written as `%s`, each once. Deferred if it returns nothing and the transaction defers.
    """
    driver, session = _known(connection.sync_connection)
    if not session.is_deferring or returns:
        await _flush(driver, session)
        cursor = await _send(driver, session, _together((statement,)), parameters, prepare=True, row_factory=tuple_row)
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


def end_session(info: dict[Any, Any]) -> None:
    """Note that the transaction ends, given the `info` of its connection; what it still defers is dropped."""
    info.pop(_SESSION, None)


def discard(info: Mapping[str, Any]) -> None:
    """Drop what a savepoint deferred that is rolled back, given the `info` of its connection."""
    session = info.get(_SESSION)
    if session is not None:
        session.deferred.clear()


def _known(connection: Connection | None) -> tuple[psycopg.AsyncConnection[Any], _Session]:
    """Return the driver's connection and what belongs to its transaction; one that nothing is known of defers none."""
    assert connection is not None  # it is None only before SQLAlchemy's connection is opened
    pooled = connection.connection
    driver: psycopg.AsyncConnection[Any] = pooled.driver_connection  # type: ignore[assignment]  # typed as Any | None
    session = pooled.info.get(_SESSION)
    return driver, session or _Session(lambda _: None, is_deferring=False, deferred=[])


async def _rows(cursor: psycopg.AsyncCursor[R]) -> list[R]:
    """Return the rows of a statement, none if it returns nothing."""
    return [] if cursor.rownumber is None else await cursor.fetchall()


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
def _together(statements: tuple[str, ...]) -> bytes:
    """Return one statement that runs all of `statements`, on one snapshot; foreign keys are checked at its end.

    >>> _together(("INSERT INTO a VALUES (%s, %s)", "INSERT INTO b VALUES (%s)"))
    b'WITH part_0 AS (INSERT INTO a VALUES ($1, $2)) INSERT INTO b VALUES ($3)'
    """
    *others, last = statements
    parts = ", ".join(f"part_{number} AS ({statement})" for number, statement in enumerate(others))
    whole = f"WITH {parts} {last}" if others else last
    numbers = count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", whole).encode()


async def _send(
    driver: psycopg.AsyncConnection[Any],
    session: _Session,
    statement: bytes,
    parameters: Sequence[Any],
    *,
    prepare: bool,
    row_factory: AsyncRowFactory[R],
    binary: bool = False,
) -> psycopg.AsyncCursor[R]:
    session.count(1)
    cursor = psycopg.AsyncRawCursor(driver, row_factory=row_factory)
    await cursor.execute(statement, parameters, prepare=prepare, binary=binary)
    return cursor
