"""What is learned from hidden episodes changes no answer: of two stores, only one has them.

`make soak` tells more stories.
"""

from __future__ import annotations

import random

import pytest
from noninterference.comparing import check_steps
from noninterference.steps import learning_story
from noninterference.stores import Bench, inject_ids, story_memory

from stratagraph.memory.engines.service import Engines
from stratagraph.store.postgres.database import Database


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    memory = story_memory(database)
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


async def test_what_is_learned_from_hidden_episodes_changes_no_answer(bench: Bench) -> None:
    full = await check_steps(bench, "learning", *learning_story(random.Random(4)), asked=3)
    assert any(kind == "undo_run" for _, kind, _ in full.outcomes)
    assert any("Tools: " in str(answer) for answer in full.answers.values())


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_030))
async def test_what_is_learned_from_hidden_episodes_changes_no_answer_in_many_stories(bench: Bench, seed: int) -> None:
    await check_steps(bench, f"learning-{seed}", *learning_story(random.Random(seed)), asked=30)
