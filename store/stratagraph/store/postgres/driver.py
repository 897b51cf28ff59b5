"""Statements that psycopg sends itself, within a transaction that SQLAlchemy opened.

SQLAlchemy's asynchronous layer takes three quarters of the client's time of a small statement (0.27 ms of 0.36 ms), so
the named statements and the bulk inserts do not pass through it.

Inserts that return nothing are **deferred** in a writer's transaction: they are sent as one statement, together with
whatever else is sent next on the connection, and with the commit at the latest. So a capture's dozen of inserts is one
statement, and what reads afterwards sees them. An error of an insert is then raised by what follows it.

The **entry** of a reader's transaction, which sets its role and its bounds, is sent with its first statement.

An `Exchange` sends statements and reads their results, in one round trip for all of them. A cursor of psycopg and its
pipeline take two to three times the processor time of the statement itself: objects are made for each, and each is
written to the socket alone. Here all are written at once. Waiting, cancellation and the adaptation of values are
psycopg's. The server keeps the statements that ask for it, for the connection. psycopg keeps none (see `Database`),
since it would deallocate all of the connection's at a rollback.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache, partial
from itertools import count
from typing import Any, NamedTuple, TypeVar

from psycopg import AsyncConnection as Driver
from psycopg import OperationalError, adapt, generators, pq
from psycopg.abc import Buffer, PQGen, Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGconn, PGresult
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util.concurrency import await_

_SESSION, _EXCHANGE = "session", "exchange"  # keys of a connection's `info`
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
T = TypeVar("T")
MOST_KEPT = 150  # statements that the server keeps for one connection; each takes it some 50 kB
# SQLSTATEs of a kept statement that is to be parsed again: its tables have changed, or the server has dropped them all.
_CHANGED, _DROPPED = "0A000", "26000"


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


class Query(NamedTuple):
    """A statement with placeholders `$1` and so on, and its values; see `Sending` for `prepare` and `binary`."""

    sql: bytes
    values: Sequence[Any]
    prepare: bool = False
    binary: bool = False


class Answer:
    """The result of a statement."""

    __slots__ = ("_result", "_transformer")

    def __init__(self, result: PGresult, transformer: Transformer) -> None:
        self._result = result
        self._transformer = transformer

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement returned, inserted, updated or deleted."""
        return self._result.command_tuples or 0

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows by column; none of a statement that returns nothing."""
        names = [(self._result.fname(column) or b"").decode() for column in range(self._result.nfields)]
        return self._load(lambda values: dict(zip(names, values)))  # noqa: B905 - twice the time with a check

    def tuples(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples, in the order of the columns."""
        return self._load(tuple)

    def _load(self, make_row: Callable[[Sequence[Any]], T]) -> list[T]:
        if not self._result.ntuples:
            return []
        self._transformer.set_pgresult(self._result)
        return self._transformer.load_rows(0, self._result.ntuples, make_row)


class _Command(NamedTuple):
    """A command of libpq.

    Where it has the server keep a statement, `keeps` is the key of that in `Exchange._kept`; where it has the server
    drop one, `drops` is its name.
    """

    send: Callable[[], None]
    keeps: tuple[bytes, tuple[int, ...]] | None = None
    drops: bytes | None = None


class _Dumped(NamedTuple):
    """The values of a statement as they are sent, with their types and formats."""

    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[pq.Format] | None


class Exchange:
    """What is sent on one connection, and what the server keeps for it.

    `failed` is the place of the statement whose error was raised last, among those that were sent with it.
    """

    def __init__(self, driver: Driver[Any]) -> None:
        self._driver = driver
        self._transformer: Transformer = adapt.Transformer(driver)
        self._kept: OrderedDict[tuple[bytes, tuple[int, ...]], bytes] = OrderedDict()  # names, last used last
        self._unwanted: list[bytes] = []  # names of others that the server still keeps
        self._made = 0
        self.failed = 0

    @property
    def is_open(self) -> bool:
        """Whether the connection is in a transaction."""
        return self._driver.pgconn.transaction_status != pq.TransactionStatus.IDLE

    async def run(
        self,
        queries: Sequence[Query],
        *,
        begin: bytes = b"BEGIN",
        ends: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> list[Answer]:
        """Run the statements in their order, in one round trip, and return their answers.

        They are run in the open transaction; where there is none, `begin` opens one, by statements with semicolons
        between them. With `ends`, it is committed in the same round trip. The first statement that fails ends the
        transaction, and its error is raised. `meanwhile` is called while the server works; an error of it closes the
        connection.
        """
        driver = self._driver
        async with driver.lock:
            results = await driver.wait(self._exchanged(queries, begin, ends=ends, meanwhile=meanwhile))
        return [Answer(result, self._transformer) for result in results]

    def _exchanged(
        self, queries: Sequence[Query], begin: bytes, *, ends: bool, meanwhile: Callable[[], object] | None
    ) -> PQGen[list[PGresult]]:
        connection = self._driver.pgconn
        commands: list[_Command] = []
        if not self.is_open and not self._driver.autocommit:
            commands += [_plain(connection, one) for one in begin.split(b";")]
        commands += [_plain(connection, b"DEALLOCATE " + name)._replace(drops=name) for name in self._unwanted]
        places = []
        dumped = [self._dumped(query) for query in queries]  # which may raise, before anything is noted as kept
        for query, values in zip(queries, dumped, strict=True):
            commands += self._commands(connection, query, values)
            places.append(len(commands) - 1)
        if ends:
            commands.append(_plain(connection, b"COMMIT"))
        results = yield from _sent(connection, commands, meanwhile)
        if len(results) > len(commands):  # after the answers, the server says why it has ended the connection
            raise error_from_result(results[-1])
        self._note(commands, results)
        for place, result in enumerate(results):
            if result.status == pq.ExecStatus.FATAL_ERROR:
                self.failed = sum(1 for other in places if other < place)
                error = error_from_result(result)
                if commands[place].drops is None and error.sqlstate in (_CHANGED, _DROPPED):
                    self._unwanted = [*self._unwanted, *self._kept.values()] if error.sqlstate == _CHANGED else []
                    self._kept.clear()
                raise error
        return [results[place] for place in places]

    def _note(self, commands: Sequence[_Command], results: Sequence[PGresult]) -> None:
        """Note what the server keeps after these commands: it drops and keeps statements also if a later one fails."""
        gone = set[bytes]()
        for command, result in zip(commands, results, strict=True):
            if command.keeps is None and command.drops is None:
                continue
            is_done = result.status == pq.ExecStatus.COMMAND_OK
            if command.keeps is not None and not is_done:
                self._kept.pop(command.keeps, None)
            if command.drops is not None and (is_done or _sqlstate(result) == _DROPPED):
                gone.add(command.drops)
        if gone:
            self._unwanted = [name for name in self._unwanted if name not in gone]

    def _dumped(self, query: Query) -> _Dumped:
        dumper, values = self._transformer, query.values
        if not values:
            return _Dumped((), (), None)
        dumped = dumper.dump_sequence(values, [adapt.PyFormat.AUTO] * len(values))
        return _Dumped(dumped, dumper.types or (), dumper.formats)

    def _commands(self, connection: PGconn, query: Query, values: _Dumped) -> list[_Command]:
        """Return what sends a statement; where it is to be kept and is not yet, it is parsed first."""
        sql, _, prepare, binary = query
        dumped, types, formats = values
        result_format = pq.Format.BINARY if binary else pq.Format.TEXT
        if not prepare:
            return [_Command(partial(connection.send_query_params, sql, dumped, types, formats, result_format))]
        key = (sql, types)
        name = self._kept.get(key)
        parsed: list[_Command] = []
        if name is None:
            if len(self._kept) >= MOST_KEPT:
                self._unwanted.append(self._kept.popitem(last=False)[1])  # dropped with what is sent next
            self._made += 1
            name = self._kept[key] = b"kept_%d" % self._made
            parsed = [_Command(partial(connection.send_prepare, name, sql, types), keeps=key)]
        else:
            self._kept.move_to_end(key)
        return [*parsed, _Command(partial(connection.send_query_prepared, name, dumped, formats, result_format))]


def _plain(connection: PGconn, sql: bytes) -> _Command:
    return _Command(partial(connection.send_query_params, sql, None))


def _sqlstate(result: PGresult) -> str:
    """Return the SQLSTATE of an error; empty for a result that is none, or was not computed after an error."""
    return (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()


def _sent(
    connection: PGconn, commands: Sequence[_Command], meanwhile: Callable[[], object] | None
) -> PQGen[list[PGresult]]:
    """Send the commands, write them to the socket at once, call `meanwhile`, and return the result of each."""
    if len(commands) == 1 and meanwhile is None:
        commands[0].send()
        result: list[PGresult] = yield from generators.execute(connection)
        return result
    connection.enter_pipeline_mode()
    try:
        for command in commands:
            command.send()
        connection.pipeline_sync()
        yield from generators.send(connection)
        if meanwhile is not None:
            meanwhile()
        results: list[PGresult] = []
        for _ in commands:
            results += yield from generators.fetch_many(connection)
        yield from generators.fetch_many(connection)  # of the synchronisation
    finally:
        try:
            connection.exit_pipeline_mode()
        except OperationalError:  # it is lost, or was given up with results still to come
            connection.finish()
    return results
