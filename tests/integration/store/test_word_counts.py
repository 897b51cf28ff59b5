"""The statistics of word search: counted up and down, once, without waiting, and nothing is left of what was erased."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import timedelta
from typing import Any

import pytest
from fix_memory import Memory, trust_of, until
from fix_words import count_all_words, count_differences
from sqlalchemy import text

from stratagraph.memory.erase.request import Erase
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.errors import StatementFailed
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.search.word_counts import WordCounter

COUNT_FOREVER = """
import asyncio, sys
from stratagraph.store.postgres.database import Database
from stratagraph.store.search.word_counts import WordCounter

async def main():
    async with Database(sys.argv[1]) as database:
        while True:
            await WordCounter(database, batch=1).count_changes()

asyncio.run(main())
"""


async def scalar(memory: Memory, statement: str, **parameters: object) -> int:
    async with memory.database.engine.begin() as connection:
        return int((await connection.execute(text(statement), parameters)).scalar_one())


async def rows_with_word(memory: Memory, word: str) -> int:
    """Return the number of rows, of all tables of the statistics, that have the word."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    (term,) = query_terms(tenant.index_key, word)
    return await scalar(
        memory,
        "SELECT (SELECT count(*) FROM word_count WHERE term = :term)"
        " + (SELECT count(*) FROM word_total WHERE term = :term)"
        " + (SELECT count(*) FROM word_change WHERE :term = ANY(terms))",
        term=term,
    )


async def state_of_mind(memory: Memory, summary: str, thread: str = "t") -> None:
    content = {"thread_id": thread, "state": "planning", "context_summary": summary}
    await memory.remember(SourceKind.WORKING_STATE, content, scope="project:a")


async def erase(memory: Memory, **what: Any) -> None:
    memory.clock.forward(timedelta(seconds=1))
    await memory.erasure.erase(memory.trust, Erase(**what, rationale="asked to"))


async def test_an_edit_moves_the_counts_and_an_erasure_takes_them_away(memory: Memory) -> None:
    await state_of_mind(memory, "apples and pears")
    await count_all_words(memory.database)
    assert await rows_with_word(memory, "pears") == 2
    await state_of_mind(memory, "apples and plums")
    await count_all_words(memory.database)
    assert [await rows_with_word(memory, word) for word in ("apples", "pears", "plums")] == [2, 0, 2]
    assert await count_differences(memory.database) == []
    record = (await memory.turn("quinces", scope="project:b")).primary
    await count_all_words(memory.database)
    await erase(memory, record_id=record.id)
    await count_all_words(memory.database)
    assert await rows_with_word(memory, "quinces") == 0
    assert await count_differences(memory.database) == []


async def test_a_record_that_is_erased_before_it_is_counted_leaves_nothing(memory: Memory) -> None:
    record = (await memory.turn("quinces")).primary
    await erase(memory, record_id=record.id)
    await count_all_words(memory.database, batch=1)
    assert await rows_with_word(memory, "quinces") == 0
    assert await count_differences(memory.database) == []


async def test_a_raised_sensitivity_moves_the_counts_to_its_level(memory: Memory) -> None:
    record = (await memory.turn("quinces", sensitivity=Sensitivity.LOW)).primary
    await count_all_words(memory.database)
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        edit = Edit(id=record.id, sensitivity=int(Sensitivity.HIGH))
        at = memory.clock.now() + timedelta(seconds=1)
        await update_records(connection, memory.directory, caller.tenant, [edit], at=at)
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []
    levels = "SELECT max(sensitivity) FROM word_count HAVING min(sensitivity) = max(sensitivity)"
    assert await scalar(memory, levels) == Sensitivity.HIGH


@pytest.mark.parametrize("by", ["record", "entity", "scope"])
async def test_an_erased_name_leaves_no_row_in_the_statistics(memory: Memory, by: str) -> None:
    for other in ("lives in Ulm", "likes tea"):
        await memory.turn(f"somebody {other}", scope="project:a")
    captured = await memory.observe("Zorblax", "lives_in", "Ulm", scope="project:b")
    await count_all_words(memory.database)
    assert await rows_with_word(memory, "Zorblax") > 0
    (entity,) = await memory.lookup.entities(memory.trust, "Zorblax", scope=None, first=1)
    what: dict[str, dict[str, Any]] = {
        "record": {"record_id": captured.primary.id},
        "entity": {"entity_id": entity.id},
        "scope": {"scope": "project:b"},
    }
    await erase(memory, **what[by])
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []
    if by != "record":  # the entity of that name stays then
        assert await rows_with_word(memory, "Zorblax") == 0
    assert await rows_with_word(memory, "Ulm") > 0


async def test_an_erased_tenant_leaves_no_statistics(memory: Memory) -> None:
    rival = trust_of(tenant="rival")
    for trust in (memory.trust, rival):
        for number in range(3):
            await memory.turn(f"remark {number}", trust=trust)
    await count_all_words(memory.database)
    await memory.turn("not counted yet", trust=rival)
    memory.clock.forward(timedelta(seconds=1))
    await memory.erasure.erase(rival, Erase(tenant="rival", rationale="asked to"))
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []
    assert await scalar(memory, "SELECT count(DISTINCT tenant) FROM word_total") == 1


async def test_a_writer_does_not_wait_for_the_counting(memory: Memory) -> None:
    await memory.turn("common words")
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    async with memory.database.background(Role.FEED) as counting:
        row = (await fetch(counting, "take_word_changes", tenant=tenant.id, limit=10))[0]
        values = {name: row[name] for name in ("terms", "scopes", "sensitivities", "steps")}
        await run(counting, "add_word_counts", tenant=tenant.id, **values)
        async with asyncio.timeout(5):
            record = (await memory.turn("common words")).primary
            await erase(memory, record_id=record.id)
        await counting.rollback()
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


async def test_an_aborted_batch_is_counted_once_by_the_next_run(memory: Memory) -> None:
    for number in range(4):
        await memory.turn(f"remark {number}")
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'"
        )
        await connection.exec_driver_sql(  # the third batch fails, after its counts by scope were added
            "CREATE TRIGGER refuse BEFORE UPDATE ON word_total FOR EACH ROW"
            " WHEN (NEW.term = 0 AND NEW.records = 3) EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(StatementFailed):
        await WordCounter(memory.database, batch=1).count_changes()
    assert await scalar(memory, "SELECT records FROM word_total WHERE term = 0") == 2
    assert await scalar(memory, "SELECT count(*) FROM word_change") == 2
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("DROP TRIGGER refuse ON word_total")
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


async def test_a_killed_counter_counts_nothing_twice_and_loses_nothing(memory: Memory, database_url: str) -> None:
    for number in range(15):
        await memory.turn(f"remark {number} of many", scope=f"project:{number % 3}")
    waiting = 15
    for _ in range(2):
        counter = await asyncio.create_subprocess_exec(sys.executable, "-c", COUNT_FOREVER, database_url)
        goal = waiting - 5

        async def has_counted(goal: int = goal) -> bool:
            return await scalar(memory, "SELECT count(*) FROM word_change") <= goal

        await until(has_counted)
        os.kill(counter.pid, signal.SIGKILL)
        await counter.wait()
        waiting = await scalar(memory, "SELECT count(*) FROM word_change")
        for number in range(10):
            await memory.turn(f"remark {number} of more", scope=f"project:{number % 3}")
        waiting += 10
    await count_all_words(memory.database)
    assert await scalar(memory, "SELECT sum(records) FROM word_total WHERE term = 0") == 35
    assert await count_differences(memory.database) == []
