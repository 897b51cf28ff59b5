"""Sending statements and reading their results on one psycopg connection, in one round trip for all of them.

A cursor of psycopg and its pipeline take two to three times the processor time of the statement itself: objects are
made for each, and each is written to the socket alone. Here all are written at once. Waiting, cancellation and the
adaptation of values are psycopg's.

The server keeps the statements that ask for it, for the connection. psycopg keeps none (see `Database`), since it would
deallocate all of the connection's at a rollback.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from psycopg import AsyncConnection, OperationalError, adapt, generators, pq
from psycopg.abc import Buffer, PQGen, Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGconn, PGresult

T = TypeVar("T")
MOST_KEPT = 150  # statements that the server keeps for one connection; each takes it some 50 kB
# SQLSTATEs of a kept statement that is to be parsed again: its tables have changed, or the server has dropped them all.
_CHANGED, _DROPPED = "0A000", "26000"


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

    def __init__(self, driver: AsyncConnection[Any]) -> None:
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

        They are run in the open transaction; where there is none, `begin` opens one. With `ends`, it is committed in
        the same round trip. The first statement that fails ends the transaction, and its error is raised. `meanwhile`
        is called while the server works; an error of it closes the connection.
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
            commands.append(_plain(connection, begin))
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
