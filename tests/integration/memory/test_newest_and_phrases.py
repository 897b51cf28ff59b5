"""Questions for what is newest, and phrases in double quotes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from fix_memory import Memory
from fix_words import count_all_words

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.weights import CANDIDATES
from stratagraph.memory.retrieve.why_not import Absence
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
    asked = RetrieveRequest(task_descriptor="latest clearing of the cache")
    (first,) = (await memory.retrieve.retrieve(memory.trust, asked)).nodes  # which stands for those that say the same
    assert [first.record.id, *first.duplicates] == [ids[days] for days in (0, 1, 3, 40, 400)]


async def test_a_record_without_the_phrase_is_no_candidate(memory: Memory) -> None:
    one = (await memory.turn("we raised the retry budget of the mirror")).primary.id
    other = (await memory.turn("the budget of the mirror allows a retry")).primary.id
    secret = (await memory.turn("a Retry Budget in secret", sensitivity=Sensitivity.HYPER)).primary.id
    assert {one, other, secret} <= set(await roots(memory, "retry budget"))
    assert set(await roots(memory, 'what is the "retry budget"?')) == {one, secret}
    assert await roots(memory, 'the "budget retry"') == []


async def test_a_title_in_quotes_that_no_record_has_is_read_as_words(memory: Memory) -> None:
    read = (await memory.turn("Melanie told me how much she learned from that novel")).primary.id
    asked = 'What did Melanie learn from the novel "Nothing is impossible"?'
    assert await roots(memory, asked) == [read]
    memory.clock.forward(timedelta(minutes=1))
    assert await roots(memory, asked, as_of=memory.clock.now() - timedelta(seconds=30)) == [read]
    request = RetrieveRequest(task_descriptor=asked, max_hops=0)
    assert (await memory.retrieve.why_not(memory.trust, read, request)).node is not None
    assert await roots(memory, '"Nothing is impossible"') == []


async def test_a_phrase_is_found_however_many_records_match_the_words_better(memory: Memory) -> None:
    """Below more records with the same words than are candidates, whether the word index has them or not."""
    wanted = (await memory.turn(f"{'a long story about cables and screws ' * 3} and the retry budget")).primary.id
    await memory.turn("the budget of the retry", thread="t")
    for number in range(CANDIDATES + 10):
        await memory.turn(f"budget retry {number}")
    for indexed in (False, True):
        if indexed:
            await count_all_words(memory.database)
        assert await roots(memory, 'where is the "retry budget"?') == [wanted]
        assert await roots(memory, 'where is the "retry budget", and the "budget of the"?') == []
    memory.clock.forward(timedelta(minutes=1))
    assert await roots(memory, 'the "retry budget"', as_of=memory.clock.now() - timedelta(seconds=30)) == [wanted]


async def test_why_not_says_that_a_record_lacks_the_phrase(memory: Memory) -> None:
    await memory.turn("we raised the retry budget of the mirror")
    other = (await memory.turn("the budget of the mirror allows a retry")).primary.id
    for asked in ('what is the "retry budget" of the mirror?', 'what is the "Mirror budget"?'):
        request = RetrieveRequest(task_descriptor=asked, max_hops=0)
        found = await memory.retrieve.why_not(memory.trust, other, request)
        assert found.reasons[0].absence is Absence.PHRASE
        assert found.words
        assert "word for word" in found.reasons[0].message


async def test_phrases_cost_one_statement_and_only_where_there_is_one(memory: Memory) -> None:
    await memory.turn("we raised the retry budget of the mirror")
    memory.clock.forward(timedelta(minutes=1))
    past = memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    assert len(await roots(memory, '"retry budget"', as_of=past)) == 1
    assert await roots(memory, '"budget retry"', as_of=past) == []
