"""Lessons page by page are those of one long list, also as of a past instant."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.revise.request import Retract
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import Trust

LOW = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})


async def learn(memory: Memory, task: str, **more: Any) -> UUID:
    memory.clock.forward(timedelta(seconds=1))
    learned = await memory.lessons.learn(memory.trust, LearnLesson(task=task, solution=f"solve {task}", **more))
    return learned.captured.primary.id


async def pages(memory: Memory, trust: Trust, first: int, **more: Any) -> list[UUID]:
    found: list[UUID] = []
    after = None
    while True:
        page = await memory.lessons.page(trust, first=first, after=after, **more)
        assert len(page.records) <= first
        found += [record.id for record in page.records]
        after = page.end_cursor
        if not page.has_next:
            return found


async def test_pages_of_lessons_are_the_whole_list(memory: Memory) -> None:
    made = []
    for number in range(9):
        level = Sensitivity.HIGH if number % 3 == 0 else Sensitivity.LOW
        made.append(await learn(memory, f"deploy service {number}", sensitivity=level, scope="project:a"))
    known = memory.clock.now()
    await learn(memory, "write the report")
    await memory.revise(Retract(record_id=made[4], rationale="wrong"))
    for trust in (memory.trust, LOW):
        for query in (None, "deploy a service"):
            whole = [record.id for record in await memory.lessons.find(trust, query=query, first=100)]
            assert made[4] not in whole
            for first in (1, 4, 100):
                assert await pages(memory, trust, first, query=query) == whole
        then = await pages(memory, trust, 2, as_of=known)
        assert then == [id_ for number, id_ in reversed([*enumerate(made)]) if trust is memory.trust or number % 3]
        assert set(await pages(memory, trust, 3, query="deploy a service", as_of=known)) == set(then)
    assert await pages(memory, memory.trust, 3, query="gardening", as_of=known) == []
    cursor = (await memory.lessons.page(memory.trust, first=1)).end_cursor
    with pytest.raises(InvalidInput, match="another filter"):
        await memory.lessons.page(memory.trust, first=1, query="deploy", after=cursor)


async def test_a_page_goes_on_behind_a_lesson_that_is_gone(memory: Memory) -> None:
    made = [await learn(memory, f"deploy service {number}") for number in range(5)][::-1]
    page = await memory.lessons.page(memory.trust, first=2)
    await memory.revise(Retract(record_id=made[1], rationale="wrong"))
    further = await memory.lessons.page(memory.trust, first=9, after=page.end_cursor)
    assert {record.id for record in further.records} >= set(made[3:])
