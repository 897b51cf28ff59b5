"""After an upgrade, the job `analyse-words` adds to older records the terms by which captures are found now."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from fix_memory import Memory, memory_of
from fix_old_words import old_terms
from fix_words import count_all_words, count_differences
from sqlalchemy import text

from stratagraph.memory.reanalysing import JOB, reanalyse_batch
from stratagraph.memory.reevaluating import everything_of
from stratagraph.store.erasure.names import find_name_matches
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.database import Database, Role, elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.old_terms import fetch_analysed
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import search_words

# Texts, and questions for them that only the present analysis answers.
TEXTS = {
    "The build was broken by a stale cache": [],
    "we call normalizeWindow in the tracer": ["normalize", "window"],
    "released v2026.47.3 of the tracer": ["2026.47"],
    "我们使用Redis缓存数据": ["redis", "缓存"],
    "Die Häuser sind nicht mehr in der Stadt": ["Haus"],
    "हिन्दी में त्रुटियाँ": ["हिन्दी"],
    "Мы нашли ошибки на серверах": ["сервера"],
}
SECRET = "데이터베이스를 업데이트했다"


@pytest.fixture
def memory(database: Database) -> Memory:
    return memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))


async def records_of_the_old_release(memory: Memory) -> dict[str, UUID]:
    """Capture the texts, and give all records the terms that the release before gave them; return their ids by text."""
    found = {said: (await memory.turn(said, thread="t")).primary.id for said in TEXTS}
    found[SECRET] = (await memory.turn(SECRET, sensitivity=Sensitivity.HIGH)).primary.id
    await make_old(memory)
    return found


async def make_old(memory: Memory) -> None:
    """Give all records the terms of the release before, and let the job begin anew."""
    memory.clock.forward(timedelta(seconds=1))
    caller = everything_of((await memory.directory.resolve(memory.trust)).tenant, "test")
    async with memory.database.background(Role.JOBS) as connection, elevated(connection, caller.bounds):
        ids = (await connection.execute(text("SELECT id FROM record ORDER BY id"))).scalars().all()
        edits = [
            Edit(id=record.id, terms=old_terms(caller.tenant.index_key, record.text), is_revision=False)
            for record in await fetch_analysed(connection, caller.tenant, ids)
        ]
        await update_records(connection, memory.directory, caller.tenant, edits, at=memory.clock.now())
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM reanalysis"))
        await connection.execute(text("INSERT INTO reanalysis (tenant) SELECT id FROM tenant"))


async def analyse(memory: Memory, *, batch: int) -> int:
    """Run the job to its end; return the number of records that it read."""
    records = 0
    while (done := await reanalyse_batch(memory.database, memory.directory, now=memory.clock.now(), batch=batch)).more:
        assert done.set_aside == 0
        records += done.records
    return records


async def found_by(memory: Memory, question: str) -> list[UUID]:
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        found = await search_words(
            connection, WordIndex(), caller, question, types=tuple(MemoryType), now=memory.clock.now(), limit=20
        )
    return [id_ for id_, _ in found]


async def state(memory: Memory) -> list[tuple[UUID, list[int], str]]:
    async with memory.database.engine.begin() as connection:
        rows = await connection.execute(text("SELECT id, terms, impacts::text, version FROM record ORDER BY id"))
        left = (await connection.execute(text("SELECT count(*) FROM reanalysis"))).scalar_one()
    assert left == 0
    return [tuple(row) for row in rows]


async def test_older_records_are_found_by_the_words_of_the_present_analysis(memory: Memory) -> None:
    ids = await records_of_the_old_release(memory)
    questions = {**TEXTS, SECRET: ["데이터"]}
    for said, id_ in ids.items():
        if "हि" not in said:  # vowel signs took these words apart
            assert id_ in await found_by(memory, said)
        for question in questions[said]:
            assert id_ not in await found_by(memory, question)
    assert await analyse(memory, batch=3) >= len(ids)
    for said, id_ in ids.items():
        for question in [said, *questions[said]]:
            assert id_ in await found_by(memory, question), question
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


async def test_a_job_that_is_killed_at_any_point_ends_the_same(memory: Memory) -> None:
    await records_of_the_old_release(memory)
    await analyse(memory, batch=100)
    expected = await state(memory)
    await make_old(memory)
    chance = random.Random(7)
    kills = 0
    while kills < 12:
        running = asyncio.create_task(
            reanalyse_batch(memory.database, memory.directory, now=memory.clock.now(), batch=chance.randint(1, 3))
        )
        await asyncio.wait([running], timeout=chance.uniform(0, 0.02))
        if not running.cancel() and not running.result().more:
            break
        with suppress(asyncio.CancelledError):
            await running
        kills += 1
    await analyse(memory, batch=2)
    assert [row[:3] for row in await state(memory)] == [row[:3] for row in expected]
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


async def test_a_record_captured_now_and_one_analysed_again_have_the_same_words(memory: Memory) -> None:
    captured = {said: (await memory.turn(said)).primary.id for said in TEXTS}
    before = {row[0]: set(row[1]) for row in await state_without_job(memory)}
    await make_old(memory)
    await analyse(memory, batch=50)
    after = {row[0]: set(row[1]) for row in await state(memory)}
    assert all(before[id_] <= after[id_] for id_ in captured.values())


async def state_without_job(memory: Memory) -> list[tuple[UUID, list[int], str]]:
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM reanalysis"))
    return await state(memory)


async def test_the_words_of_its_members_find_a_closed_episode_analysed_again(memory: Memory) -> None:
    await memory.turn("we call normalizeWindow here", thread="x")
    memory.clock.forward(timedelta(hours=1))
    await memory.turn("another day", thread="x")  # closes the first episode
    before = {row[0]: set(row[1]) for row in await state_without_job(memory)}
    await make_old(memory)
    await analyse(memory, batch=50)
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    (window,) = query_terms(tenant.index_key, "window")
    after = {row[0]: set(row[1]) for row in await state(memory)}
    assert {id_ for id_, terms in after.items() if window in terms} == {
        id_ for id_, terms in before.items() if window in terms
    }
    assert sum(window in terms for terms in after.values()) == 2


async def test_a_record_that_cannot_be_opened_is_set_aside_and_the_others_are_analysed(memory: Memory) -> None:
    ids = await records_of_the_old_release(memory)
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("UPDATE record SET sealed = sealed || '\\x00' WHERE id = :id"), {"id": ids[SECRET]}
        )
    done = await reanalyse_batch(memory.database, memory.directory, now=memory.clock.now(), batch=100)
    assert done.set_aside == 1
    assert ids["Die Häuser sind nicht mehr in der Stadt"] in await found_by(memory, "Haus")
    async with memory.database.engine.begin() as connection:
        aside = (
            await connection.execute(text("SELECT id FROM job_set_aside WHERE job = :job"), {"job": JOB})
        ).scalars()
        assert aside.all() == [ids[SECRET]]
        left = await connection.execute(text("SELECT count(*) FROM reanalysis"))
        assert left.scalar_one() == 1


async def test_a_search_for_a_name_to_erase_is_incomplete_until_the_job_is_through(memory: Memory) -> None:
    ids = await records_of_the_old_release(memory)
    tenant = (await memory.directory.resolve(memory.trust)).tenant

    async def search() -> tuple[bool, bool]:
        async with memory.database.background(Role.ERASE) as connection:
            found = await find_name_matches(connection, tenant, ["缓存"], limit=10)
        return found.complete, ids["我们使用Redis缓存数据"] in [id_ for id_, _ in found.records]

    assert await search() == (False, False)
    await analyse(memory, batch=50)
    assert await search() == (True, True)
