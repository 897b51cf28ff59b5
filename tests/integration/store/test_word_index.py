"""The word index: exact answers while records are written, edited and deleted, and nothing is left of erased ones."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import NOON, Memory, trust_of, until
from fix_words import count_all_words, count_differences, stored_terms
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.erase.request import Erase
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import DAY, Decay
from stratagraph.store.model.words import idf, query_terms, record_terms
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.queries import fetch, fetch_together
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.inserting import NewRecord, insert_records
from stratagraph.store.search import word_index, word_indexing, word_segments
from stratagraph.store.search.word_counts import WordCounter
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import search_words

WORDS = [f"word{number}" for number in range(40)]
SCOPES = [f"team/{number}" for number in range(12)]
# The filters of the benchmark: none, most scopes, one of some records, one of few.
CALLERS = {
    "none": trust_of(),
    "wide": trust_of(scopes=set(SCOPES[:7]), ceiling=Sensitivity.MEDIUM),
    "mid": trust_of(scopes={SCOPES[2]}),
    "rare": trust_of(scopes={SCOPES[11]}, ceiling=Sensitivity.LOW),
}


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """With sizes this small, hundreds of records are in many segments, blocks and levels."""
    monkeypatch.setattr(word_indexing, "MAX_RECORDS", 90)
    monkeypatch.setattr(word_indexing, "SMALLEST", 4)
    monkeypatch.setattr(word_indexing, "SOON", 20)
    monkeypatch.setattr(word_segments, "BLOCK_POSTINGS", 32)
    monkeypatch.setattr(word_segments, "MAX_RANGES", 2)


@dataclass
class Story:
    """A store whose records are written, edited and deleted, and what its answers must be."""

    memory: Memory
    chance: random.Random
    said: dict[UUID, str] = field(default_factory=dict)

    def record(self) -> NewRecord:
        chance = self.chance
        common = [word for place, word in enumerate(WORDS) if chance.random() < 1 / (place + 1.5)]
        said = " ".join([*common, *chance.choices(WORDS, k=chance.randint(1, 12))])
        return NewRecord(
            id=new_id(),
            type=chance.choice((MemoryType.EPISODIC, MemoryType.WORKING)),
            scope=chance.choice(SCOPES[: chance.randint(1, len(SCOPES))]),
            sensitivity=Sensitivity(chance.choices(range(4), (3, 4, 2, 1))[0]),
            confidence=0.8,
            tags=(),
            name=said[:80],
            text=said,
            payload={"kind": "episodic", "timeline": []},
            provenance={"sources": [], "created_by": "test"},
            occurred_at=NOON,
            decay=Decay(half_life_s=DAY),
            deletion_policy=DeletionPolicy.AUTO_PRUNE,
            terms=record_terms(self.index_key, said),
            state=RecordState.SUPERSEDED if chance.random() < 0.1 else RecordState.ACTIVE,
        )

    async def begin(self) -> None:
        self.caller = await self.memory.directory.resolve(self.memory.trust)
        self.index_key = self.caller.tenant.index_key

    async def write(self, number: int) -> None:
        records, memory = [self.record() for _ in range(number)], self.memory
        async with memory.database.writing(self.caller.bounds) as connection:
            await insert_records(
                connection, memory.directory, self.caller.tenant, records, actor="test", at=memory.clock.now()
            )
        self.said |= {record.id: record.text for record in records}

    async def edit(self, number: int) -> None:
        """Change words, sensitivity or state of some records."""
        memory, chance = self.memory, self.chance
        memory.clock.forward(timedelta(seconds=1))
        edits = []
        for id_ in chance.sample(sorted(self.said), min(number, len(self.said))):
            said = " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))
            edits.append(
                chance.choice(
                    (
                        Edit(id=id_, text=said, terms=record_terms(self.index_key, said)),
                        Edit(id=id_, sensitivity=chance.randint(0, 4)),
                        Edit(id=id_, state=chance.choice((1, 3, 4))),
                    )
                )
            )
        async with memory.database.writing(self.caller.bounds) as connection:
            await update_records(connection, memory.directory, self.caller.tenant, edits, at=memory.clock.now())

    async def delete(self, number: int) -> None:
        chosen = self.chance.sample(sorted(self.said), min(number, len(self.said)))
        async with self.memory.database.background(Role.ERASE, tenant=self.caller.tenant.id) as connection:
            await fetch(connection, "delete_records", tenant=self.caller.tenant.id, ids=chosen)
        for id_ in chosen:
            del self.said[id_]

    async def counted(self, caller: Caller) -> Counter[int]:
        """Return the counts that the caller's weights follow: of the records as they were counted last."""
        rows = await self._rows("SELECT term, packed FROM word_count, unnest(cells) AS packed WHERE part = -1")
        counts: Counter[int] = Counter()
        for term, packed in rows:
            scope, level = packed >> 32, packed >> 29 & 7
            if caller.may_read(scope, level):
                counts[term] += packed & (1 << 29) - 1
        return counts

    async def expected(self, caller: Caller, question: str, *, history: bool) -> dict[UUID, float]:
        """Return the score of every record that may answer, computed one by one from the records as they are."""
        counts = await self.counted(caller)
        terms = query_terms(self.index_key, question)
        weights = {term: idf(max(counts[0], 1), counts.get(term, 1)) for term in terms}
        rows = await self._rows("SELECT id, scope, sensitivity, state, impacts::text FROM record")
        scores = {}
        for id_, scope, level, state, vector in rows:
            pairs = (pair.split(":") for pair in vector[1 : vector.index("}")].split(",") if pair)
            score = sum(weights.get(int(term), 0.0) * float(impact) for term, impact in pairs)
            if score > 0 and caller.may_read(scope, level) and (history or state <= 2):
                scores[id_] = score
        return scores

    async def _rows(self, statement: str) -> list[Any]:
        async with self.memory.database.engine.connect() as connection:
            return list((await connection.execute(text(statement))).all())

    async def check(self, index: WordIndex, *, limit: int) -> int:
        """Compare the answers to all callers with the expected ones; return how many records they had."""
        found_in_all = 0
        for trust in CALLERS.values():
            caller = await self.memory.directory.resolve(trust)
            few = self.chance.random() < 0.5
            question = " ".join(self.chance.sample(WORDS[:6] if few else WORDS, self.chance.randint(1, 6)))
            for history in (False, True):
                async with self.memory.database.reading(caller.bounds) as connection:
                    found = await search_words(
                        connection,
                        index,
                        caller,
                        question,
                        types=tuple(MemoryType),
                        now=self.memory.clock.now(),
                        limit=limit,
                        history=history,
                    )
                expected = await self.expected(caller, question, history=history)
                best = sorted(expected.values(), reverse=True)[:limit]
                assert [score for _, score in found] == pytest.approx(best, abs=2e-4)
                assert [expected[id_] for id_, _ in found] == pytest.approx(best, abs=2e-4)
                assert len({id_ for id_, _ in found}) == len(found)
                found_in_all += len(found)
        return found_in_all


STEPS = st.lists(st.sampled_from(["write", "edit", "delete", "index", "check"]), min_size=4, max_size=8)


@given(seed=st.integers(0, 2**32), steps=STEPS, cache=st.sampled_from([0, 3_000, 1 << 20]))
@examples(3)
async def test_answers_are_exact_for_every_caller_during_any_history(
    memory: Memory, small_segments: None, seed: int, steps: list[str], cache: int
) -> None:
    """By the caller's own statistics, indexed or not yet, whatever is kept in memory."""
    story, index = Story(memory, random.Random(seed)), WordIndex(cache_bytes=cache)
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("TRUNCATE record, word_change, word_count, word_segment, word_block CASCADE"))
    await story.begin()
    answered = 0
    await story.write(200)
    for step in ["index", "check", *steps, "check", "index", "check"]:
        if step == "write":
            await story.write(story.chance.choice((2, 100)))
        elif step == "edit":
            await story.edit(story.chance.choice((2, 20)))
        elif step == "delete":
            await story.delete(story.chance.choice((1, 20)))
        elif step == "index":
            await count_all_words(memory.database, batch=story.chance.choice((7, 40, 1_000)))
        else:
            answered += await story.check(index, limit=story.chance.choice((3, 10, 200)))
        assert index._size <= max(cache, 0)
    assert answered > 0
    assert await count_differences(memory.database) == []


async def test_what_is_committed_is_found_and_what_is_erased_is_not_while_the_index_is_written(
    memory: Memory, small_segments: None
) -> None:
    caller = await memory.directory.resolve(memory.trust)
    index, is_done = WordIndex(), False

    async def found(question: str) -> set[UUID]:
        async with memory.database.reading(caller.bounds) as connection:
            now, types = memory.clock.now(), tuple(MemoryType)
            return {
                id_
                for id_, _ in await search_words(connection, index, caller, question, types=types, now=now, limit=500)
            }

    async def count_on() -> None:
        while not is_done:
            await WordCounter(memory.database, batch=3).count_changes()

    counting = asyncio.create_task(count_on())
    try:
        present: dict[UUID, str] = {}
        for number in range(40):
            present[(await memory.turn(f"common number{number}")).primary.id] = f"number{number}"
            assert await found(f"number{number}") == {next(reversed(present))}
            if number % 8 == 7:
                erased = next(iter(present))
                memory.clock.forward(timedelta(seconds=1))
                await memory.erasure.erase(memory.trust, Erase(record_id=erased, rationale="asked to"))
                assert await found(present.pop(erased)) == set()
            assert await found("common") == present.keys()
    finally:
        is_done = True
        await counting
    await count_all_words(memory.database)
    assert await count_differences(memory.database) == []


async def test_a_fact_is_found_while_it_holds_also_after_its_validity_changed(memory: Memory) -> None:
    caller, index = await memory.directory.resolve(memory.trust), WordIndex()
    end = {"mode": "timeboxed", "start": "2026-01-01T00:00:00Z", "end": "2026-07-01T00:00:00Z"}
    fact = (await memory.observe("Alice", "lives_in", "Lugano", validity=end)).primary

    async def facts(days: int) -> int:
        now = NOON + timedelta(days=days)
        async with memory.database.reading(caller.bounds) as connection:
            found = await search_words(
                connection, index, caller, "Lugano", types=[MemoryType.SEMANTIC], now=now, limit=9
            )
        return [id_ for id_, _ in found].count(fact.id)

    for edit in (None, Edit(id=fact.id, validity="[2026-06-05,2026-06-20)")):
        if edit is not None:
            async with memory.database.writing(caller.bounds) as connection:
                at = memory.clock.now() + timedelta(seconds=1)
                await update_records(connection, memory.directory, caller.tenant, [edit], at=at)
        for is_indexed in (False, True):
            if is_indexed:
                await count_all_words(memory.database)
            assert [await facts(days) for days in (-300, 1, 10, 25, 40)] == (
                [0, 1, 1, 1, 0] if edit is None else [0, 0, 1, 0, 0]
            )
    assert await count_differences(memory.database) == []


async def test_a_search_uses_the_index_of_the_records_alone_while_many_changes_wait(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "MAX_CHANGED", 3)
    caller, index = await memory.directory.resolve(memory.trust), WordIndex()
    for number in range(5):
        await memory.turn(f"common number{number}")

    async def searched() -> int:
        statements = memory.database.statements
        async with memory.database.reading(caller.bounds) as connection:
            found = await search_words(
                connection, index, caller, "common", types=tuple(MemoryType), now=memory.clock.now(), limit=9
            )
        assert len(found) == 5
        return memory.database.statements - statements

    assert await searched() <= 4  # entry, counts, state of the index, search
    await count_all_words(memory.database)
    assert await searched() <= 5  # segments and blocks
    assert await searched() <= 3


async def test_an_erased_records_words_leave_the_index_and_the_memory_of_a_process(memory: Memory) -> None:
    index, caller = WordIndex(), await memory.directory.resolve(memory.trust)
    record = (await memory.turn("quinces")).primary
    (term,) = query_terms(caller.tenant.index_key, "quinces")
    await memory.turn("apples")
    await count_all_words(memory.database)

    async def search() -> int:
        async with memory.database.reading(caller.bounds) as connection:
            types, now = tuple(MemoryType), memory.clock.now()
            return len(await search_words(connection, index, caller, "quinces", types=types, now=now, limit=9))

    assert await search() == 1
    segments = {segment for segment, _ in index._kept}
    memory.clock.forward(timedelta(seconds=1))
    await memory.erasure.erase(memory.trust, Erase(record_id=record.id, rationale="asked to"))
    assert await search() == 0
    assert term in await stored_terms(memory.database)
    await count_all_words(memory.database)
    assert term not in await stored_terms(memory.database)
    assert await search() == 0
    assert not segments & {segment for segment, _ in index._kept}


async def test_a_large_segment_is_rewritten_some_time_after_an_erasure(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_indexing, "SOON", 1)
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    record = (await memory.turn("quinces")).primary
    for number in range(9):
        await memory.turn(f"apples {number}")
    await count_all_words(memory.database)
    (term,) = query_terms(tenant.index_key, "quinces")
    memory.clock.forward(timedelta(seconds=1))
    await memory.erasure.erase(memory.trust, Erase(record_id=record.id, rationale="asked to"))
    counter = WordCounter(memory.database, purge_after_s=0.5)
    assert (await counter.count_changes()).merged == 0
    assert term in await stored_terms(memory.database)

    async def is_purged() -> bool:
        await counter.count_changes()
        return term not in await stored_terms(memory.database)

    await until(is_purged)
    assert await count_differences(memory.database) == []


async def test_the_index_of_one_tenant_is_not_that_of_another(memory: Memory) -> None:
    rival = trust_of(tenant="rival")
    await memory.turn("quinces")
    await memory.turn("quinces of the rival", trust=rival)
    await count_all_words(memory.database)
    index = WordIndex()
    for trust in (memory.trust, rival, memory.trust):
        caller = await memory.directory.resolve(replace(trust))
        async with memory.database.reading(caller.bounds) as connection:
            types, now = tuple(MemoryType), memory.clock.now()
            found = await search_words(connection, index, caller, "quinces", types=types, now=now, limit=9)
        (only,) = found
        record = await memory.lookup.record(trust, only[0])
        assert record is not None
        assert ("rival" in (record.text or "")) == (trust is rival)


async def test_hidden_changes_that_wait_keep_no_caller_from_the_index(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only changes at places that the caller may read count, up to five times as many in all."""
    monkeypatch.setattr(word_index, "MAX_CHANGED", 3)
    who = trust_of(scopes={"project:a"}, ceiling=Sensitivity.LOW)
    callers = [await memory.directory.resolve(trust) for trust in (who, memory.trust)]
    await memory.turn("quinces", scope="project:a", trust=who)
    await count_all_words(memory.database)
    callers[0] = await memory.directory.resolve(who)

    async def uses_index() -> list[bool]:
        used = []
        for caller in callers:
            async with memory.database.reading(caller.bounds) as connection:
                ((state,),) = await fetch_together(connection, WordIndex.reading())
            used.append(WordIndex.is_current(state))
        return used

    for number in range(4):
        await memory.turn(
            f"plums {number}", scope="project:b" if number % 2 else "project:a", sensitivity=Sensitivity.HIGH
        )
    assert await uses_index() == [True, False]
    for number in range(12):
        await memory.turn(f"plums {number}", scope="project:b")
    assert await uses_index() == [False, False]
    await count_all_words(memory.database)
    assert await uses_index() == [True, True]
