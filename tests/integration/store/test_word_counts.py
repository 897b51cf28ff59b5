"""The statistics of word search: counted up and down, once, without waiting, and nothing is left of what was erased."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import Memory, trust_of, until
from fix_words import count_all_words, count_differences, stored_terms, words_counted
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, text

from stratagraph.memory.erase.request import Erase
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.errors import StatementFailed
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.database import Bounds, Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.search.word_counts import WordCounter
from stratagraph.store.search.word_indexing import MERGED_AT_ONCE

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


async def rows_with_word(memory: Memory, word: str) -> int:
    """Return the number of rows, of all tables of word search, that have the word; 1 for all of the index."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    (term,) = query_terms(tenant.index_key, word)
    rows = await memory.value(
        "SELECT (SELECT count(*) FROM word_count WHERE term = :term)"
        " + (SELECT count(*) FROM word_change WHERE :term = ANY(terms))",
        term=term,
    )
    return int(rows) + (term in await stored_terms(memory.database))


async def records_counted(memory: Memory) -> int:
    """Return the number of records that the statistics have, of all tenants."""
    return sum(n for (_, term), n in (await words_counted(memory.database)).items() if term == 0)


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
    levels = (
        "SELECT max(packed >> 29 & 7) FROM word_count, unnest(cells) AS packed"
        " HAVING min(packed >> 29 & 7) = max(packed >> 29 & 7)"
    )
    assert await memory.value(levels) == Sensitivity.HIGH


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
    assert await memory.value("SELECT count(DISTINCT tenant) FROM word_count") == 1


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


def some_rows(chance: random.Random, number: int) -> list[tuple[int, int, int, tuple[int, ...]]]:
    """Return records as (tenant, scope, sensitivity, terms): some words are in most of them, others in few."""
    common = [1, 2, 3]
    return [
        (
            chance.choice((1, 1, 2)),
            chance.randint(1, 40),
            chance.randint(0, 4),
            (0, *(term for term in common if chance.random() < 0.9), *chance.sample(range(10, 400), 3)),
        )
        for _ in range(number)
    ]


async def log_changes(memory: Memory, changed: list[tuple[int, int, int, tuple[int, ...]]], step: int) -> None:
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            insert(tables.word_change),
            [
                {
                    "tenant": tenant,
                    "record": UUID(int=0),
                    "scope": scope,
                    "sensitivity": level,
                    "step": step,
                    "terms": list(terms),
                }
                for tenant, scope, level, terms in changed
            ],
        )


async def counted_for(memory: Memory, bounds: Bounds, asked: Sequence[int]) -> dict[int, int]:
    """Return the counts of all terms that a caller gets: in all scopes, or in those of `asked` that it has."""
    terms = list(range(400))
    async with memory.database.reading(bounds) as connection:
        if bounds.scopes is None:
            found = await fetch(connection, "count_terms_in_all_scopes", terms=terms)
        else:
            found = await fetch(connection, "count_terms", terms=terms, scopes=list(asked))
            by_scope = await fetch(connection, "count_scopes", scopes=list(asked))
            assert sum(row["records"] for row in by_scope) == {row["term"]: row["records"] for row in found}.get(0, 0)
    return {row["term"]: row["records"] for row in found}


@given(seed=st.integers(0, 2**32), steps=st.lists(st.sampled_from(["write", "delete", "count"]), max_size=8))
@examples(4)
async def test_counts_equal_a_recount_for_every_caller_after_any_history(
    memory: Memory, seed: int, steps: list[str]
) -> None:
    """Common words are in up to 200 cells, so their rows are divided, and every record may be deleted again."""
    chance = random.Random(seed)
    for name in ("first", "second"):
        await memory.directory.tenant(name, create=True)
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("TRUNCATE word_change, word_count"))
    present: list[tuple[int, int, int, tuple[int, ...]]] = []
    for step in ["write", "count", *steps, "count"]:
        if step == "write":
            written = some_rows(chance, chance.choice((3, 300)) if present else 700)
            present += written
            await log_changes(memory, written, 1)
        elif step == "delete":
            chance.shuffle(present)
            kept = chance.choice((0, len(present) // 2))
            await log_changes(memory, present[kept:], -1) if present[kept:] else None
            present = present[:kept]
        else:
            await count_all_words(memory.database, batch=chance.choice((150, 1_000)))
    for tenant in (1, 2):
        for scopes in (None, tuple(chance.sample(range(1, 41), 12)), (7,)):
            ceiling = chance.randint(0, 4)
            expected = Counter(
                term
                for owner, scope, level, terms in present
                if owner == tenant and level <= ceiling and (scopes is None or scope in scopes)
                for term in terms
            )
            bounds = Bounds(tenant=tenant, scopes=scopes, ceiling=ceiling, actor="tester")
            assert await counted_for(memory, bounds, range(1, 41)) == expected
    cells = Counter((owner, term) for owner, term, _ in {(o, t, (s, v)) for o, s, v, ts in present for t in ts})
    divided = await memory.value("SELECT count(DISTINCT (tenant, term)) FROM word_count WHERE part >= 0")
    assert divided >= sum(n > 100 for n in cells.values())
    assert await memory.value("SELECT coalesce(max(cardinality(cells)), 0) FROM word_count") <= 100
    if not present:
        assert await memory.value("SELECT count(*) FROM word_count") == 0


async def test_an_aborted_batch_is_counted_once_by_the_next_run(memory: Memory) -> None:
    for number in range(4):
        await memory.turn(f"remark {number}")
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'"
        )
        await connection.exec_driver_sql(  # the third batch fails, after its changes were taken
            "CREATE TRIGGER refuse BEFORE UPDATE ON word_count FOR EACH ROW"
            " WHEN (NEW.term = 0 AND NEW.cells[1] & 536870911 = 3) EXECUTE FUNCTION refuse()"
        )
    with pytest.raises(StatementFailed):
        await WordCounter(memory.database, batch=1).count_changes()
    assert await records_counted(memory) == 2
    assert await memory.value("SELECT count(*) FROM word_change") == 2
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("DROP TRIGGER refuse ON word_count")
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


@pytest.mark.parametrize("damage", ["ids = ''", "bounded = 'x'"])
async def test_a_tenant_whose_segments_cannot_be_merged_keeps_no_other_from_merging(
    memory: Memory, damage: str
) -> None:
    rival = trust_of(tenant="rival")
    for number in range(MERGED_AT_ONCE):
        for trust in (memory.trust, rival):
            await memory.turn(f"remark {number}", trust=trust)
        if number < MERGED_AT_ONCE - 1:
            await count_all_words(memory.database)
    tenants = {trust.tenant: (await memory.directory.resolve(trust)).tenant.id for trust in (memory.trust, rival)}
    async with memory.database.engine.begin() as connection:
        await connection.execute(text(f"UPDATE word_segment SET {damage} WHERE tenant = :id"), {"id": tenants["acme"]})  # noqa: S608
    with pytest.raises(ValueError):  # noqa: PT011 - whatever reading the segment raises
        await WordCounter(memory.database).count_changes()
    assert await memory.value("SELECT count(*) FROM word_change") == 0
    segments = "SELECT count(*) FROM word_segment WHERE tenant = :id"
    assert await memory.value(segments, id=tenants["acme"]) == MERGED_AT_ONCE
    assert await memory.value(segments, id=tenants["rival"]) == 1


async def test_a_killed_counter_counts_nothing_twice_and_loses_nothing(memory: Memory, database_url: str) -> None:
    for number in range(15):
        await memory.turn(f"remark {number} of many", scope=f"project:{number % 3}")
    waiting = 15
    for _ in range(2):
        counter = await asyncio.create_subprocess_exec(sys.executable, "-c", COUNT_FOREVER, database_url)
        goal = waiting - 5

        async def has_counted(goal: int = goal) -> bool:
            return bool(await memory.value("SELECT count(*) FROM word_change") <= goal)

        await until(has_counted)
        os.kill(counter.pid, signal.SIGKILL)
        await counter.wait()
        waiting = await memory.value("SELECT count(*) FROM word_change")
        for number in range(10):
            await memory.turn(f"remark {number} of more", scope=f"project:{number % 3}")
        waiting += 10
    await count_all_words(memory.database)
    assert await records_counted(memory) == 35
    assert await count_differences(memory.database) == []
