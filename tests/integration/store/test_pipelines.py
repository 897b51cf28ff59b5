"""Statements that are sent together fail as single ones do, and keep their plans where they ask for it."""

from __future__ import annotations

import psycopg
import pytest
from fix_memory import Memory

from stratagraph.store.model.errors import StatementFailed, StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.queries import fetch_together, sending
from stratagraph.store.records.ranking import fetching_heads

SCOPES = sending("count_scopes", {"scopes": [1]})


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
    ids = [captured.primary.id, *(new_id() for _ in range(30))]  # for one id, a plan of its own is cheaper
    for caller, found in [(everything, {captured.primary.id}), (other, set())] * 7:
        async with memory.database.reading(caller.bounds) as connection:
            (rows,) = await fetch_together(connection, fetching_heads(caller, ids, [], now=memory.clock.now()))
            assert {row["id"] for row in rows} == found
            plans = await connection.exec_driver_sql("SELECT sum(generic_plans) FROM pg_prepared_statements")
            kept = plans.scalar_one()
    assert kept > 0
