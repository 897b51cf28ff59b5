"""A year that a question names is found in the texts that name it, and no text of another year answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fix_memory import Memory

from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest

TODAY = datetime(2026, 11, 27, 9, tzinfo=UTC)
NOTES = [
    "we talked about a holiday with the children and how to go there",
    "the holiday cottage has a new roof",
    "where did the keys of the kitchen go",
    "the kitchen needs a lamp",
    "Ruben and Ann go to the market",
    "went on a long walk in the rain",
]


@pytest.fixture
async def memory(memory: Memory) -> Memory:
    memory.clock.at = TODAY
    for week in range(4):
        for place, note in enumerate(NOTES):
            await memory.turn(f"{note} {week}", timestamp=TODAY - timedelta(days=3 + 7 * week + place))
    return memory


async def ask(memory: Memory, task: str) -> Retrieved:
    return await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=task, max_hops=0))


async def best(memory: Memory, task: str) -> Node:
    return (await ask(memory, task)).nodes[0]


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("flew to Lisbon with Ruben in 2022", "Where did we go on holiday in 2022?"),
        ("renovated the kitchen in 2021", "What did I renovate in 2021?"),
        ("in May 2023 the boiler was replaced", "What did the plumber replace in May 2023?"),
        ("2022 war Tor Holt bei Penhale", "Wo hat Tor Holt 2022 gearbeitet?"),
    ],
)
async def test_a_text_with_the_year_of_a_question_answers_it(memory: Memory, text: str, task: str) -> None:
    said = await memory.turn(text, timestamp=TODAY - timedelta(days=40))
    found = await best(memory, task)
    assert found.record.id == said.primary.id
    assert found.strength > 0
    assert found.why is not None
    assert found.why.timed_by == "text"


@pytest.mark.parametrize("task", ["Was haben wir am 2. September gemacht?", "What did we do on 2 September?"])
async def test_what_was_done_on_a_day_is_what_happened_then(memory: Memory, task: str) -> None:
    then = await memory.turn("painted the stairs", timestamp=datetime(2026, 9, 2, 12, tzinfo=UTC))
    found = await best(memory, task)
    assert found.record.id == then.primary.id
    assert found.why is not None
    assert found.why.timed_by == "date"


async def test_a_record_outside_the_time_is_not_shown_as_of_it(memory: Memory) -> None:
    then = await memory.turn("painted the stairs", timestamp=datetime(2026, 9, 2, 12, tzinfo=UTC))
    later = await memory.turn("the stairs are painted again", timestamp=datetime(2026, 9, 20, 12, tzinfo=UTC))
    found = await ask(memory, "who painted the stairs on 2 September 2026?")
    timed = {node.record.id: node.why.timed_by for node in found.nodes if node.why}
    assert (timed[then.primary.id], timed[later.primary.id]) == ("date", None)


@pytest.mark.parametrize(
    ("said", "text", "task"),
    [
        ("2024-11-20", "the wedding will be on December 12", "What's planned for December 12?"),
        ("2025-01-20", "the wedding will be on 3 February", "What happened on 3 February 2026?"),
        ("2025-02-20", "the wedding was on 3 February 2025", "What happened on 3 February 2026?"),
    ],
)
async def test_a_text_of_another_year_is_no_answer(memory: Memory, said: str, text: str, task: str) -> None:
    await memory.turn(text, timestamp=datetime.fromisoformat(said).replace(tzinfo=UTC))
    found = await ask(memory, task)
    assert (found.nodes, found.nothing_known) == ((), True)


async def test_what_is_announced_is_found_for_its_day(memory: Memory) -> None:
    said = await memory.turn("the wedding is on December 12", timestamp=TODAY - timedelta(days=9))
    for task in ("What's planned for December 12?", "What happens on 12 December 2026?", "When is the wedding?"):
        assert (await best(memory, task)).record.id == said.primary.id


async def test_a_text_of_the_year_is_no_answer_about_an_unknown_name(memory: Memory) -> None:
    await memory.turn("flew to Lisbon with Ruben in 2022", timestamp=TODAY - timedelta(days=40))
    found = await ask(memory, "What did Zorblax buy in 2022?")
    assert (found.nodes, found.nothing_known) == ((), True)


@pytest.mark.parametrize("task", ["What happened on 12 December 2026?", "Was ist am 12. Dezember 2026?"])
async def test_a_text_may_mean_either_of_two_days(memory: Memory, task: str) -> None:
    said = await memory.turn("dinner party 12 December", timestamp=TODAY - timedelta(days=9))
    assert said.primary.interpretation is not None
    shown = [one["start"][:10] for one in said.primary.interpretation["named_times"]]
    assert shown == ["2025-12-12", "2026-12-12"]
    for asked in (task, task.replace("2026", "2025")):
        assert (await best(memory, asked)).record.id == said.primary.id
