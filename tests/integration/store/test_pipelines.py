"""Statements that are sent together fail as single ones do, and keep their plans where they ask for it."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from fix_memory import Memory
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn, PGresult

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.errors import StatementFailed, StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Connection
from stratagraph.store.postgres.driver import Exchange, Query, Sending, Statement, send, send_together
from stratagraph.store.postgres.queries import fetch_together, fetch_tuples, sending
from stratagraph.store.records.ranking import fetching_heads

SCOPES = sending("count_scopes", {"scopes": [1]})
BOUNDS = Statement.of(
    "SELECT current_setting('stratagraph.scopes') AS scopes, current_user AS role,"
    " current_setting('transaction_isolation') AS isolation, current_setting('transaction_read_only') AS read_only"
)


async def read(connection: Connection, statement: str, **parameters: Any) -> list[dict[str, Any]]:
    return (await send(connection, Sending(Statement.of(statement), parameters))).rows()


async def test_a_lost_connection_is_an_outage_and_the_next_transaction_gets_another(
    memory: Memory, database_url: str
) -> None:
    await memory.turn("hello")
    caller = await memory.directory.resolve(memory.trust)

    async def read_on_a_lost_connection() -> None:
        async with memory.database.reading(caller.bounds) as connection:
            backend = (await connection.exec_driver_sql("SELECT pg_backend_pid()")).scalar_one()
            with psycopg.connect(database_url, autocommit=True) as owner:
                owner.execute("SELECT pg_terminate_backend(%s, 10000)", (backend,))
            await fetch_together(connection, SCOPES)

    with pytest.raises(StoreUnavailable):
        await read_on_a_lost_connection()
    async with memory.database.reading(caller.bounds) as connection:
        assert await fetch_together(connection, SCOPES, SCOPES) == [[], []]


@pytest.mark.parametrize("statements", [1, 2])
async def test_a_transaction_that_the_server_ends_before_its_answer_is_read_is_an_outage(
    memory: Memory, database_url: str, monkeypatch: pytest.MonkeyPatch, statements: int
) -> None:
    """As where the process stood still for longer than the timeout: the server says more than the answers."""
    await memory.turn("hello")
    caller = await memory.directory.resolve(memory.trust)
    fetch_many = generators.fetch_many

    async def read_too_late() -> None:
        async with memory.database.reading(caller.bounds) as connection:
            (row,) = await read(connection, "SELECT pg_backend_pid() AS pid")

            def fetch_late(driver: PGconn) -> PQGen[list[PGresult]]:
                with psycopg.connect(database_url, autocommit=True) as owner:
                    while owner.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (row["pid"],)).fetchone():
                        pass
                results: list[PGresult] = yield from fetch_many(driver)
                return results

            def execute_late(driver: PGconn) -> PQGen[list[PGresult]]:
                yield from generators.send(driver)
                return (yield from fetch_late(driver))

            with monkeypatch.context() as patched:
                patched.setattr(generators, "fetch_many", fetch_late)
                patched.setattr(generators, "execute", execute_late)
                timeout = Statement.of("SELECT set_config('idle_in_transaction_session_timeout', '1', true)")
                await send_together(connection, [Sending(timeout, {})] * statements)

    with pytest.raises(StoreUnavailable):
        await read_too_late()
    async with memory.database.reading(caller.bounds) as connection:
        assert await fetch_together(connection, SCOPES) == [[]]


async def test_an_error_ends_the_transaction_and_quotes_no_data(memory: Memory) -> None:
    await memory.turn("hello")
    caller = await memory.directory.resolve(memory.trust)
    with pytest.raises(StatementFailed) as failed:
        async with memory.database.reading(caller.bounds) as connection:
            await fetch_together(connection, SCOPES, sending("count_scopes", {"scopes": "a secret"}), SCOPES)
    assert "secret" not in str(failed.value)
    async with memory.database.reading(caller.bounds) as connection:
        assert await fetch_together(connection, SCOPES) == [[]]


async def test_a_prepared_statement_keeps_its_plan_and_its_checks(memory: Memory) -> None:
    captured = await memory.turn("hello", scope="project:a")
    everything = await memory.directory.resolve(memory.trust)
    other = await memory.directory.resolve(memory.trust.narrowed(scopes=["project:b"], ceiling=None))
    ids = [captured.primary.id, *(new_id() for _ in range(3))]
    for caller, found in [(everything, {captured.primary.id}), (other, set())] * 7:
        async with memory.database.reading(caller.bounds) as connection:
            heads = await fetch_tuples(
                connection,
                fetching_heads(caller, ids, [], template=[0], vector="{}/1000000000", now=memory.clock.now()),
            )
            assert {id_ for id_, *_ in heads} == found
            plans = await connection.exec_driver_sql("SELECT sum(generic_plans) FROM pg_prepared_statements")
            kept = plans.scalar_one()
    assert kept > 0


PLANNED_FIRST = 5  # times that the server plans with the parameters, before it compares that with a plan without them


@pytest.mark.parametrize("records", [1, 60])
async def test_the_statements_of_a_retrieval_keep_their_plans_however_few_records_it_finds(
    memory: Memory, records: int
) -> None:
    for number in range(records):
        await memory.turn(f"Anna Berg ordered pump {number}", context={"mentions": [{"name": "Anna Berg"}]})
    for _ in range(2 * PLANNED_FIRST):
        await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="which pump did Anna Berg order?"))
        await memory.retrieve.log.flush()
    planned = await planned_with_parameters(memory)
    assert len(planned) >= 10
    assert [one for one, times in planned.items() if times > PLANNED_FIRST] == []


async def test_the_statements_of_a_capture_keep_their_plans(memory: Memory) -> None:
    for number in range(2 * PLANNED_FIRST):
        await memory.turn(f"Anna Berg ordered pump {number}", context={"mentions": [{"name": "Anna Berg"}]})
        await memory.observe("Anna Berg", "ordered", f"pump {number}")
    planned = await planned_with_parameters(memory)
    assert len(planned) >= 8
    assert [one for one, times in planned.items() if times > PLANNED_FIRST] == []


async def planned_with_parameters(memory: Memory) -> dict[str, int]:
    """Return how often the server planned each frequent statement of the caller's last connection anew."""
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        rows = await connection.exec_driver_sql(
            "SELECT statement, custom_plans FROM pg_prepared_statements WHERE generic_plans + custom_plans > 7"
        )
        return {row.statement: row.custom_plans for row in rows.all()}


async def test_a_reader_enters_with_its_first_statement_and_a_later_one_than_its_last_enters_again(
    memory: Memory,
) -> None:
    await memory.turn("hello", scope="project:a")
    caller = await memory.directory.resolve(memory.trust.narrowed(scopes=["project:a"], ceiling=None))
    database, asked = memory.database, Sending(BOUNDS, {})
    before = database.statements, database.round_trips
    async with database.reading(caller.bounds) as connection:
        assert database.round_trips == before[1]
        (first,), _ = await send_together(connection, [asked, SCOPES], ends=True)
        assert (database.statements, database.round_trips) == (before[0] + 3, before[1] + 1)
        ((again,),) = await send_together(connection, [asked])  # the transaction was committed
        assert (database.statements, database.round_trips) == (before[0] + 5, before[1] + 2)
    assert caller.scopes is not None
    assert first == again
    assert first["scopes"] == "{" + ",".join(map(str, caller.bounds.scopes or ())) + "}"
    assert first["role"].endswith("_read")
    assert (first["isolation"], first["read_only"]) == ("repeatable read", "on")
    async with database.engine.connect() as connection:  # nothing of the transaction is left on the connection
        assert (await connection.exec_driver_sql("SELECT current_setting('stratagraph.scopes', true)")).scalar() == ""


async def test_a_cancelled_exchange_leaves_a_connection_that_can_be_used(memory: Memory) -> None:
    caller = await memory.directory.resolve(memory.trust)
    sleeping = Sending(Statement.of("SELECT pg_sleep(60) AS slept"), {}, prepare=True)
    started = asyncio.Event()

    async def sleep(number: int) -> None:
        async with memory.database.reading(caller.bounds) as connection:
            await fetch_together(connection, SCOPES)
            started.set()
            await send_together(connection, [SCOPES, *[sleeping] * number])

    for number in (1, 2):
        started.clear()
        task = asyncio.create_task(sleep(number))
        await started.wait()
        async with asyncio.timeout(20):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    async with memory.database.reading(caller.bounds) as connection:
        assert await fetch_together(connection, SCOPES, SCOPES) == [[], []]


async def test_the_server_keeps_a_bounded_number_of_statements_and_those_that_fail_are_parsed_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.postgres.driver.MOST_KEPT", 3)
    caller = await memory.directory.resolve(memory.trust)
    kept = "SELECT count(*) AS n FROM pg_prepared_statements"

    def number(value: int, divisor: int = 1) -> Sending:
        return Sending(Statement.of(f"SELECT {value} / :divisor AS n"), {"divisor": divisor}, prepare=True)

    async def numbers() -> None:
        async with memory.database.reading(caller.bounds) as connection:
            for start in (0, 2, 4, 0):
                found = await send_together(connection, [number(start + step) for step in range(3)])
                assert [row["n"] for (row,) in found] == [start, start + 1, start + 2]
            assert (await read(connection, kept))[0]["n"] == 3

    await numbers()
    with pytest.raises(StatementFailed):
        async with memory.database.reading(caller.bounds) as connection:
            await send_together(connection, [number(9), number(8, divisor=0), number(7)])
    await numbers()
    async with memory.database.reading(caller.bounds) as connection:
        found = await send_together(connection, [number(9), number(8), number(7)])
        assert [row["n"] for (row,) in found] == [9, 8, 7]


async def test_statements_are_dropped_once_also_beside_one_that_fails_and_no_other_is_lost(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.postgres.driver.MOST_KEPT", 2)

    def number(value: int) -> Query:
        return Query(b"SELECT %d" % value, (), prepare=True)

    failing = Query(b"SELECT 1 / 0", ())
    async with await psycopg.AsyncConnection.connect(database_url, prepare_threshold=None) as driver:
        sent = Exchange(driver)

        async def fails(*queries: Query, sqlstate: str) -> None:
            with pytest.raises(psycopg.Error) as failed:
                await sent.run(queries, ends=True)
            assert failed.value.sqlstate == sqlstate
            await driver.rollback()

        async def kept() -> list[bytes]:
            (found,) = await sent.run([Query(b"SELECT statement FROM pg_prepared_statements", ())], ends=True)
            return sorted(statement.encode() for (statement,) in found.tuples())

        for value in (1, 2, 3):
            await sent.run([number(value)], ends=True)
        await fails(number(3), failing, sqlstate="22012")  # the first is dropped before it fails
        assert await kept() == [number(2).sql, number(3).sql]
        await sent.run([number(4), number(5)], ends=True)
        await driver.execute("DEALLOCATE kept_2")  # behind the exchange's back: dropping it fails, and nothing else
        await driver.commit()
        await fails(number(5), sqlstate="26000")
        assert await kept() == [number(4).sql, number(5).sql]
        parsed = sent._made
        await sent.run([number(4), number(5)], ends=True)
        assert sent._made == parsed
        await fails(failing, number(6), sqlstate="22012")  # the server has not read it
        await sent.run([number(6)], ends=True)
        assert await kept() == [number(5).sql, number(6).sql]


async def test_what_is_done_meanwhile_is_done_while_the_server_runs_the_statements(
    memory: Memory, database_url: str
) -> None:
    """The statement waits for a lock that only the caller's own work releases."""
    caller = await memory.directory.resolve(memory.trust)
    waiting = Sending(Statement.of("SELECT pg_advisory_xact_lock_shared(7, 7) IS NULL AS got"), {})
    with psycopg.connect(database_url, autocommit=True) as other:

        def release_once_it_waits() -> None:
            while not other.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").fetchone():
                pass
            other.execute("SELECT pg_advisory_unlock(7, 7)")

        for statements in (1, 2):
            other.execute("SELECT pg_advisory_lock(7, 7)")
            async with memory.database.reading(caller.bounds) as connection:
                await fetch_together(connection, SCOPES)
                sent = [SCOPES] * (statements - 1) + [waiting]
                answers = await fetch_together(connection, *sent, meanwhile=release_once_it_waits)
                assert answers[-1] == [{"got": False}]


@pytest.mark.parametrize("statements", [1, 2])
async def test_an_error_of_what_is_done_meanwhile_is_raised_and_the_next_transaction_gets_another_connection(
    memory: Memory, statements: int
) -> None:
    caller = await memory.directory.resolve(memory.trust)

    def fail() -> None:
        raise ZeroDivisionError

    async def read_and_fail() -> None:
        async with memory.database.reading(caller.bounds) as connection:
            await fetch_together(connection, SCOPES)
            await fetch_together(connection, *[SCOPES] * statements, meanwhile=fail)

    for _ in range(20):  # more often than there are connections
        with pytest.raises(ZeroDivisionError):
            await read_and_fail()
    async with memory.database.reading(caller.bounds) as connection:
        assert await fetch_together(connection, SCOPES, SCOPES) == [[], []]
