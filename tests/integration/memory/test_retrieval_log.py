"""The log of retrievals is written in the background: soon, bounded, through outages, and at the latest at shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from fix_memory import Memory, memory_of, trust_of, until
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.database import Bounds, Database

ASKED = RetrieveRequest(task_descriptor="parrot")


async def ask(memory: Memory, actor: str = "tester") -> UUID:
    return (await memory.retrieve.retrieve(trust_of(actor=actor), ASKED)).id


async def logged(memory: Memory) -> dict[UUID, tuple[str, list[UUID]]]:
    async with memory.database.engine.connect() as connection:
        rows = await connection.exec_driver_sql("SELECT id, actor, nodes FROM retrieval")
        return {row.id: (row.actor, row.nodes) for row in rows}


async def test_an_answer_waits_for_no_write_and_is_logged_within_a_second(memory: Memory) -> None:
    await memory.turn("a parrot")
    first, second = await ask(memory), await ask(memory, "colleague")
    assert memory.retrieve.log.waiting == 2

    async def is_logged() -> bool:
        return memory.retrieve.log.waiting == 0

    await until(is_logged)
    assert {id_: actor for id_, (actor, _) in (await logged(memory)).items()} == {first: "tester", second: "colleague"}


async def test_what_waits_is_written_before_the_database_is_closed(memory: Memory, database_url: str) -> None:
    await memory.turn("a parrot")
    async with Database(database_url) as database:
        closing = memory_of(database, memory.directory)
        asked = [await ask(closing) for _ in range(3)]
        assert closing.retrieve.log.waiting == 3
    assert (await logged(memory)).keys() == set(asked)


async def test_a_record_that_was_deleted_since_is_not_logged(memory: Memory) -> None:
    """An erasure removes its records from the log, so an entry that is written after it must not bring them back."""
    kept, gone = await memory.turn("a parrot"), await memory.turn("another parrot")
    asked = await ask(memory)
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("DELETE FROM record WHERE id = %s", (gone.primary.id,))
    await memory.retrieve.log.flush()
    assert (await logged(memory))[asked] == ("tester", [kept.primary.id])


@pytest.fixture
def outage(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event; until it is set, no writing transaction can be opened."""
    is_over, writing = asyncio.Event(), Database.writing

    @asynccontextmanager
    async def refused(self: Database, bounds: Bounds) -> AsyncIterator[AsyncConnection]:
        if not is_over.is_set():
            raise StoreUnavailable
        async with writing(self, bounds) as connection:
            yield connection

    monkeypatch.setattr(Database, "writing", refused)
    return is_over


async def test_entries_wait_for_the_end_of_an_outage(
    memory: Memory, outage: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.search.retrievals.RETRY_S", 0.05)
    asked = await ask(memory)
    with pytest.raises(StoreUnavailable):
        await memory.retrieve.log.flush()
    assert memory.retrieve.log.waiting == 1
    outage.set()

    async def is_logged() -> bool:
        return memory.retrieve.log.waiting == 0

    await until(is_logged)  # by the background task, which goes on trying
    assert (await logged(memory)).keys() == {asked}


async def test_a_long_outage_drops_the_oldest_entries(
    memory: Memory, outage: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.search.retrievals.MOST_WAITING", 2)
    asked = [await ask(memory) for _ in range(4)]
    assert memory.retrieve.log.waiting == 2
    outage.set()
    await memory.retrieve.log.flush()
    assert (await logged(memory)).keys() == set(asked[2:])
