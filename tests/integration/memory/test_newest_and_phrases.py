"""Questions for what is newest, and phrases in double quotes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from fix_memory import Memory

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import Sensitivity

SAID = "the cache was cleared on the worker"


async def roots(memory: Memory, question: str, **more: object) -> list[UUID]:
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question, **more))  # type: ignore[arg-type]
    return list(found.roots)


async def test_a_question_for_the_latest_brings_the_newest_of_equal_records(memory: Memory) -> None:
    now = memory.clock.at = datetime(2026, 5, 20, 12, tzinfo=UTC)
    ids = {}
    for days in (1, 400, 0, 40, 3):
        ids[days] = (await memory.turn(SAID, timestamp=now - timedelta(days=days))).primary.id
    assert await roots(memory, "latest clearing of the cache") == [ids[days] for days in (0, 1, 3, 40, 400)]


async def test_a_record_without_the_phrase_is_no_candidate(memory: Memory) -> None:
    one = (await memory.turn("we raised the retry budget of the mirror")).primary.id
    other = (await memory.turn("the budget of the mirror allows a retry")).primary.id
    secret = (await memory.turn("a Retry Budget in secret", sensitivity=Sensitivity.HYPER)).primary.id
    assert {one, other, secret} <= set(await roots(memory, "retry budget"))
    assert set(await roots(memory, 'what is the "retry budget"?')) == {one, secret}
    assert await roots(memory, 'the "budget retry" of the mirror') == []


async def test_phrases_cost_one_statement_and_only_where_there_is_one(memory: Memory) -> None:
    await memory.turn("we raised the retry budget of the mirror")
    memory.clock.forward(timedelta(minutes=1))
    past = memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    assert len(await roots(memory, '"retry budget"', as_of=past)) == 1
    assert await roots(memory, '"budget retry"', as_of=past) == []
