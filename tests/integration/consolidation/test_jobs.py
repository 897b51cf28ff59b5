"""Counting words, making log days and trimming logs, in proportion to what is due."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from fix_jobs import Server, server_of
from fix_memory import Memory
from fix_words import words_counted

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.search.retrievals import RETENTION


@pytest.fixture
def server(memory: Memory) -> Server:
    return server_of(memory)


async def test_each_record_is_counted_once_over_repeated_runs(memory: Memory, server: Server) -> None:
    for text in ("red apples", "green apples", "green pears"):
        await memory.turn(text, scope="project:fruit")
    assert (await server.run_once())["changes_counted"] == 3
    assert (await server.run_once())["changes_counted"] == 0
    await memory.turn("blue apples")
    assert (await server.run_once())["changes_counted"] == 1
    counted = await words_counted(memory.database)
    # Every record and "user" (the role): 4; apples, green: 3, 2; red, pears, blue: 1
    assert sorted(counted.values(), reverse=True) == [4, 4, 3, 2, 1, 1, 1]
    largest = "SELECT max(packed & 536870911) FROM word_count, unnest(cells) AS packed WHERE term = 0"
    assert await memory.value(largest) == 3  # of one scope


async def test_two_servers_do_not_count_a_record_twice(memory: Memory, server: Server) -> None:
    other = server_of(memory)
    for number in range(5):
        await memory.turn(f"message {number}")
    counted = [run["changes_counted"] for run in await asyncio.gather(server.run_once(), other.run_once())]
    assert sum(counted) == 5
    assert (await server.run_once())["changes_counted"] == 0


async def test_log_partitions_are_created_a_week_ahead_once(memory: Memory, server: Server) -> None:
    assert (await server.run_once())["days_created"] == 8
    again = server_of(memory)
    assert (await again.run_once())["days_created"] == 0


async def test_old_retrievals_and_snapshots_are_deleted(memory: Memory, server: Server) -> None:
    await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="anything"))
    await memory.retrieve.log.flush()
    assert (await server.run_once())["retrievals_deleted"] == 0
    memory.clock.forward(RETENTION + timedelta(seconds=1))
    assert (await server.run_once())["retrievals_deleted"] == 1
    feed = Feed(memory.database, "test")
    for number in range(4):
        await memory.turn(f"message {number}")
        await feed.take_snapshot()
    await server.run_once()
    assert await memory.value("SELECT count(*) FROM sync_snapshot") == 5  # old copies of the mirror need those of a day
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE sync_snapshot SET at = at - interval '25 hours'")
    await server.run_once()
    assert await memory.value("SELECT count(*) FROM sync_snapshot") == 1
