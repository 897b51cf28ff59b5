"""The transactions of operations: each party holds its share of the connections, and statements end with a deadline."""

from __future__ import annotations

import asyncio
import time

import pytest
from fix_memory import Memory, until
from sqlalchemy import text

from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Bounds, Database
from stratagraph.store.postgres.operations import Operation, working_for


@pytest.fixture
async def bounds(memory: Memory) -> Bounds:
    """The bounds of a caller whose tenant exists."""
    return (await memory.directory.resolve(memory.trust)).bounds


def operation(party: str, *, within_s: float = 60.0, connections: int = 2) -> Operation:
    return Operation(party=party, ends_at=time.monotonic() + within_s, connections=connections)


class Reads:
    """Read transactions of one party's operation, as sibling fields open them, that end when they are told to."""

    def __init__(self, database: Database, bounds: Bounds, party: str, count: int) -> None:
        self.open = 0
        self._database = database
        self._bounds = bounds
        self._end = asyncio.Event()
        with working_for(operation(party)):
            self.tasks = [asyncio.create_task(self._read()) for _ in range(count)]

    async def _read(self) -> None:
        async with self._database.reading(self._bounds):
            self.open += 1
            await self._end.wait()
            self.open -= 1

    async def end(self) -> None:
        self._end.set()
        await asyncio.gather(*self.tasks)


async def test_sibling_fields_share_their_partys_connections_and_others_get_one_at_once(
    database_url: str, bounds: Bounds
) -> None:
    async with Database(database_url, pool_size=4) as database:
        attackers = [Reads(database, bounds, party, 20) for party in ("a", "a", "b")]

        async def all_connections_are_held() -> bool:
            return database.slots.held == 4 and sum(reads.open for reads in attackers) == 4

        await until(all_connections_are_held)
        assert attackers[0].open + attackers[1].open == attackers[2].open == 2
        victim = Reads(database, bounds, "victim", 1)
        await database.probe()  # belongs to no operation
        await attackers[2].end()

        async def victim_reads() -> bool:
            return victim.open == 1

        await until(victim_reads)
        for reads in (*attackers[:2], victim):
            await reads.end()
        assert (database.slots.held, database.slots.queued) == (0, 0)


async def test_a_statement_ends_soon_after_its_operation_even_if_nobody_cancels_it(
    database: Database, bounds: Bounds
) -> None:
    began = time.monotonic()
    with working_for(operation("a", within_s=0.2)), pytest.raises(StoreUnavailable):
        async with database.reading(bounds) as connection:
            await connection.execute(text("SELECT pg_sleep(20)"))
    assert time.monotonic() - began < 10
    async with database.reading(bounds) as connection:
        assert (await connection.execute(text("SHOW statement_timeout"))).scalar_one() == "30s"


async def test_a_cancelled_operation_frees_its_connection_and_ends_its_statement(
    database: Database, bounds: Bounds
) -> None:
    began = asyncio.Event()

    async def read() -> None:
        async with database.reading(bounds) as connection:
            began.set()
            await connection.execute(text("SELECT pg_sleep(20)"))

    with working_for(operation("a")):
        task = asyncio.create_task(read())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert database.slots.held == 0

    async def statement_has_ended() -> bool:
        async with database.reading(bounds) as connection:
            running = text(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'"
                " AND datname = current_database()"
            )
            return bool((await connection.execute(running)).scalar_one() == 0)

    await until(statement_has_ended)
