"""Statements sent by psycopg itself, and inserts that a writer's transaction defers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from fix_memory import Memory
from sqlalchemy import func, select

from stratagraph.store.model.errors import KeyCollision, StoreUnavailable
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.database import Bounds, Connection, savepoint
from stratagraph.store.postgres.driver import Sending, Statement, send
from stratagraph.store.postgres.schema import tables

COUNT = Statement.of("SELECT count(*) AS n FROM fact_slot WHERE single_valued = :flag")


async def writer(memory: Memory) -> Bounds:
    """Return the bounds of a caller whose tenant exists."""
    return (await memory.directory.resolve(memory.trust)).bounds


async def insert(memory: Memory, connection: Connection, key: bytes, *, tenant: int | None = None) -> None:
    caller = await memory.directory.resolve(memory.trust)
    scope = (await memory.directory.scopes(caller.tenant, [""], create=True))[""]
    row: dict[str, Any] = {
        "tenant": tenant or caller.tenant.id,
        "scope": scope,
        "sensitivity": 1,
        "slot_key": key,
        "single_valued": True,
    }
    await insert_rows(connection, tables.fact_slot, [row])


async def count(connection: Connection) -> int:
    (row,) = (await send(connection, Sending(COUNT, {"flag": True}))).rows()
    return int(row["n"])


async def test_what_is_deferred_is_seen_by_all_later_statements(memory: Memory) -> None:
    async with memory.database.writing(await writer(memory)) as connection:
        before = memory.database.statements
        await insert(memory, connection, b"one")
        assert memory.database.statements == before
        assert await count(connection) == 1
        assert memory.database.statements == before + 2
        await insert(memory, connection, b"two")
        assert (await connection.execute(select(func.count()).select_from(tables.fact_slot))).scalar_one() == 2
        await insert(memory, connection, b"three")
    async with memory.database.writing(await writer(memory)) as connection:
        assert await count(connection) == 3


async def test_a_deferred_insert_that_fails_fails_the_transaction(memory: Memory) -> None:
    async with memory.database.writing(await writer(memory)) as connection:
        await insert(memory, connection, b"one")

    async def repeat() -> None:
        async with memory.database.writing(await writer(memory)) as connection:
            await insert(memory, connection, b"other")
            assert await count(connection) == 2
            await insert(memory, connection, b"one")

    with pytest.raises(KeyCollision):
        await repeat()
    async with memory.database.writing(await writer(memory)) as connection:
        assert await count(connection) == 1


async def test_a_savepoint_takes_back_what_was_deferred_in_it_and_nothing_else(memory: Memory) -> None:
    async def stop(connection: Connection) -> None:
        async with savepoint(connection):
            await insert(memory, connection, b"in it")
            raise ZeroDivisionError

    async def repeat(connection: Connection) -> None:
        async with savepoint(connection):
            await insert(memory, connection, b"before")

    async with memory.database.writing(await writer(memory)) as connection:
        await insert(memory, connection, b"before")
        with pytest.raises(ZeroDivisionError):
            await stop(connection)
        with pytest.raises(KeyCollision):
            await repeat(connection)
        async with savepoint(connection):
            await insert(memory, connection, b"kept")
        await insert(memory, connection, b"after")
        assert await count(connection) == 3


async def test_a_lost_connection_is_an_outage_and_is_replaced(memory: Memory, database_url: str) -> None:
    bounds = await writer(memory)
    own = Statement.of("SELECT pg_backend_pid() AS pid")

    async def lose() -> None:
        async with memory.database.writing(bounds) as connection:
            (row,) = (await send(connection, Sending(own, {}))).rows()
            await insert(memory, connection, b"lost")
            async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as operator:
                await operator.execute("SELECT pg_terminate_backend(%s, 5000)", [row["pid"]])

    with pytest.raises(StoreUnavailable):
        await lose()
    async with memory.database.writing(bounds) as connection:
        assert await count(connection) == 0


async def test_only_statements_that_ask_for_it_are_prepared(memory: Memory) -> None:
    async with memory.database.writing(await writer(memory)) as connection:
        for _ in range(10):
            await count(connection)
        await send(connection, Sending(COUNT, {"flag": False}, prepare=True))
        listed = Statement.of("SELECT count(*) AS n FROM pg_prepared_statements WHERE statement LIKE :like")
        like = {"like": "SELECT count(*) AS n FROM fact_slot%"}
        found = (await send(connection, Sending(listed, like))).rows()
    assert found == [{"n": 1}]
