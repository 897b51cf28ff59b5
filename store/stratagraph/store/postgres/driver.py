"""Statements that psycopg sends itself, within a transaction that SQLAlchemy opened.

SQLAlchemy's asynchronous layer takes three quarters of the client's time of a small statement (0.27 ms of 0.36 ms), so
the named statements and the bulk inserts do not pass through it.

Inserts that return nothing are **deferred** in a writer's transaction: they are sent as one statement, together with
whatever else is sent next on the connection, and with the commit at the latest. So a capture's dozen of inserts is one
statement, and what reads afterwards sees them. An error of an insert is then raised by what follows it.

The **entry** of a reader's transaction, which sets its role and its bounds, is sent with its first statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

from psycopg import AsyncConnection as Driver
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util.concurrency import await_

from stratagraph.store.postgres.exchange import Answer, Exchange, Query

_SESSION, _EXCHANGE = "session", "exchange"  # keys of a connection's `info`
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
    def query(self) -> Query:
        values = [self.parameters[name] for name in self.statement.names]
        return Query(self.statement.sql, values, self.prepare, self.binary)


@dataclass(frozen=True, slots=True)
class Entry:
    """The first statement of a transaction. `entered` is called with its row, `refused` with an error of it.

    Both may raise what is to be raised in place of the answer.
    """

    statement: Sending
    entered: Callable[[Mapping[str, Any]], None]
    refused: Callable[[Exception], None]


@dataclass(slots=True)
class _Deferred:
    """An insert or update of `table` that is still to be sent."""

    table: str
    statement: str
    parameters: Sequence[Any]


@dataclass(slots=True)
class _Session:
    """What belongs to the transaction that is open on a connection.

    `count` is called with the number of statements of each round trip. `begin` opens the transaction with the first of
    them, and `entry` is still to be sent with that.
    """

    count: Callable[[int], None]
    is_deferring: bool = False
    begin: bytes = b"BEGIN"
    entry: Entry | None = None
    deferred: list[_Deferred] = field(default_factory=list)


def begin_session(
    connection: AsyncConnection,
    count: Callable[[int], None],
    *,
    is_deferring: bool = False,
    begin: bytes = b"BEGIN",
    entry: Entry | None = None,
) -> None:
    """Note that a transaction begins on the connection, and whether its inserts are deferred.

    Its first round trip opens it by `begin`, and sends the `entry` with the first statement.
    """
    connection.info[_SESSION] = _Session(count, is_deferring, begin, entry)


async def send(connection: AsyncConnection, sending: Sending) -> Answer:
    """Run a statement and return its answer.

    With `prepare`, the server keeps the parsed statement for the connection, and its plan where that does not depend on
    the parameters. Raises KeyError if a parameter is missing.
    """
    (answer,) = await _exchange(connection, [sending.query])
    return answer


async def send_together(
    connection: AsyncConnection,
    sendings: Sequence[Sending],
    *,
    ends: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> list[list[dict[str, Any]]]:
    """Run statements in their order, in one round trip, and return the rows of each.

    The server runs each as if it had been sent alone: the first that fails ends the transaction, and its error is
    raised. With `ends`, the transaction is committed with them; a later statement begins another with the same bounds.
    `meanwhile` is called once they are sent, while the server works; if it raises, the connection is closed. Raises
    KeyError if a parameter is missing.
    """
    answers = await _exchange(connection, [one.query for one in sendings], ends=ends, meanwhile=meanwhile)
    return [answer.rows() for answer in answers]


async def send_for_tuples(connection: AsyncConnection, sending: Sending) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows as tuples, sent in the binary format, which takes half of the time to read.

    For statements with hundreds of rows. Raises KeyError if a parameter is missing.
    """
    (answer,) = await _exchange(connection, [sending.query._replace(binary=True)])
    return answer.tuples()


async def write(
    connection: AsyncConnection, table: str, statement: str, parameters: Sequence[Any], *, returns: bool
) -> list[tuple[Any, ...]]:
    """Run an insert into `table`, or an update of it, and return the rows of RETURNING, if it has that.

    Its parameters are written as `%s`, each once. Deferred if it returns nothing and the transaction defers.
    """
    _, session = _known(connection.sync_connection)
    if not session.is_deferring or returns:
        (answer,) = await _exchange(connection, [Query(_together((statement,)), parameters, prepare=True)])
        return answer.tuples()
    if any(table == other.table for other in session.deferred):
        await flush(connection)  # the parts of one statement do not see each other's rows
    session.deferred.append(_Deferred(table, statement, parameters))
    return []


async def flush(connection: AsyncConnection) -> None:
    """Send what the transaction has deferred."""
    await _flush(*_known(connection.sync_connection))


async def commit(connection: AsyncConnection) -> None:
    """Commit the transaction, with what it has deferred. One that has not begun, or has ended, is left alone."""
    exchange, session = _known(connection.sync_connection)
    if session.deferred or exchange.is_open:
        await _run(exchange, session, (), ends=True)


def flush_before(connection: Connection) -> None:
    """Send what the transaction has deferred, from a handler of SQLAlchemy's events."""
    session = connection.info.get(_SESSION)
    if session is not None:
        await_(_flush(*_known(connection)))


def end_session(info: dict[Any, Any]) -> None:
    """Note that the transaction ends, given the `info` of its connection; what it still defers is dropped."""
    info.pop(_SESSION, None)


def discard(info: Mapping[str, Any]) -> None:
    """Drop what a savepoint deferred that is rolled back, given the `info` of its connection."""
    session = info.get(_SESSION)
    if session is not None:
        session.deferred.clear()


def _known(connection: Connection | None) -> tuple[Exchange, _Session]:
    """Return what is sent on the connection, and its transaction; one that nothing is known of defers nothing."""
    assert connection is not None  # it is None only before SQLAlchemy's connection is opened
    pooled = connection.connection
    info = pooled.info
    exchange = info.get(_EXCHANGE)
    if exchange is None:
        driver: Driver[Any] = pooled.driver_connection  # type: ignore[assignment]  # typed as Any | None
        exchange = info[_EXCHANGE] = Exchange(driver)
    return exchange, info.get(_SESSION) or _Session(lambda _: None)


async def _exchange(
    connection: AsyncConnection,
    queries: Sequence[Query],
    *,
    ends: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> list[Answer]:
    return await _run(*_known(connection.sync_connection), queries, ends=ends, meanwhile=meanwhile)


async def _flush(exchange: Exchange, session: _Session) -> None:
    if session.deferred or (session.entry is not None and not exchange.is_open):
        await _run(exchange, session, ())


async def _run(
    exchange: Exchange,
    session: _Session,
    queries: Sequence[Query],
    *,
    ends: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> list[Answer]:
    """Send the queries after what the transaction has still to send, in one round trip; return their answers."""
    before: list[Query] = []
    entry = session.entry if session.entry is not None and not exchange.is_open else None
    if entry is not None:
        before.append(entry.statement.query)
    if session.deferred:
        parts = list(session.deferred)
        session.deferred.clear()
        values = [value for part in parts for value in part.parameters]
        before.append(Query(_together(tuple(part.statement for part in parts)), values, prepare=True))
    if before or queries:
        session.count(len(before) + len(queries))
    try:
        answers = await exchange.run([*before, *queries], begin=session.begin, ends=ends, meanwhile=meanwhile)
    except Exception as error:
        if entry is not None and exchange.failed == 0:
            entry.refused(error)
        raise
    if entry is not None:
        entry.entered(answers[0].rows()[0])
    return answers[len(before) :]


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
