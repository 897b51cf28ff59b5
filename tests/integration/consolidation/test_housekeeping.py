"""Housekeeping costs what is due, and leaves nothing growing without bound."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fix_memory import Memory

from stratagraph.consolidation.housekeeping import Housekeeping, HousekeepingConfig
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.search.retrievals import KEPT


@pytest.fixture
def housekeeping(memory: Memory) -> Housekeeping:
    return Housekeeping(memory.database, memory.directory, memory.clock, HousekeepingConfig())


async def one(memory: Memory, statement: str) -> object:
    async with memory.database.engine.begin() as connection:
        return (await connection.exec_driver_sql(statement)).scalar_one()


async def test_each_record_is_counted_once_however_often_it_runs(memory: Memory, housekeeping: Housekeeping) -> None:
    for text in ("red apples", "green apples", "green pears"):
        await memory.turn(text, scope="project:fruit")
    assert (await housekeeping.run_once(memory.clock.now())).counted == 3
    assert (await housekeeping.run_once(memory.clock.now())).counted == 0
    await memory.turn("blue apples")
    assert (await housekeeping.run_once(memory.clock.now())).counted == 1
    assert await one(memory, "SELECT docs FROM lex_stat") == 4
    assert await one(memory, "SELECT max(docs) FROM lex_scope") == 3
    counted = await one(memory, "SELECT array_agg(df ORDER BY df DESC) FROM lex_df")
    assert counted == [4, 3, 2, 1, 1, 1]  # "user", the role; apples, green; red, pears, blue


async def test_two_counters_do_not_count_twice(memory: Memory, housekeeping: Housekeeping) -> None:
    other = Housekeeping(memory.database, memory.directory, memory.clock, HousekeepingConfig())
    for number in range(5):
        await memory.turn(f"message {number}")
    counted = [(await keeper.run_once(memory.clock.now())).counted for keeper in (housekeeping, other, housekeeping)]
    assert sum(counted) == 5


async def test_the_logs_days_are_made_a_week_ahead_and_take_the_rows(
    memory: Memory, housekeeping: Housekeeping
) -> None:
    assert (await housekeeping.run_once(memory.clock.now())).days_made == 8
    again = Housekeeping(memory.database, memory.directory, memory.clock, HousekeepingConfig())
    assert (await again.run_once(memory.clock.now())).days_made == 0


async def test_old_retrievals_and_read_ticks_go(memory: Memory, housekeeping: Housekeeping) -> None:
    await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="anything"))
    assert (await housekeeping.run_once(memory.clock.now())).forgotten == 0
    memory.clock.forward(KEPT + timedelta(seconds=1))
    assert (await housekeeping.run_once(memory.clock.now())).forgotten == 1
    feed = Feed(memory.database, "words")
    for number in range(4):
        await memory.turn(f"message {number}")
        await feed.tick()
    await housekeeping.run_once(memory.clock.now())
    assert await one(memory, "SELECT count(*) FROM sync_tick") == 5  # readers of the last hour's past need them
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE sync_tick SET at = at - interval '61 minutes'")
    await housekeeping.run_once(memory.clock.now())
    assert await one(memory, "SELECT count(*) FROM sync_tick") == 1
