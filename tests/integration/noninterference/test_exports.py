"""What a caller may not see is in no export, and changes none: neither its lines nor their order nor its counts."""

from __future__ import annotations

import random

import pytest
from noninterference.comparing import check_one, check_pair
from noninterference.readings import exported
from noninterference.steps import every_state_story, learning_story, story, whole_story
from noninterference.stores import Bench


@pytest.mark.parametrize("seed", [11, 12])
async def test_hidden_records_change_no_export(bench: Bench, seed: int) -> None:
    told = await check_pair(bench, f"story-{seed}", story(random.Random(seed), 24), exported)
    kinds = {line.get("kind") for answer in told.answers.values() if isinstance(answer, list) for line in answer}
    assert kinds >= {"header", "record", "relation", "end"}


async def test_hidden_records_of_every_state_and_every_mutation_change_no_export(bench: Bench) -> None:
    await check_pair(bench, "states", every_state_story(), exported)
    await check_pair(bench, "whole", whole_story(random.Random(2)), exported)


async def test_what_is_learned_from_hidden_episodes_changes_no_export(bench: Bench) -> None:
    await check_pair(bench, "learning", learning_story(random.Random(5)), exported)


@pytest.mark.parametrize("seed", [3])
async def test_no_export_holds_what_is_hidden(bench: Bench, seed: int) -> None:
    await check_one(bench, "secret", story(random.Random(seed), 24), exported, named=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_040))
async def test_hidden_records_change_no_export_in_many_stories(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"story-{seed}", story(random.Random(seed), 40), exported)
    await check_pair(bench, f"whole-{seed}", whole_story(random.Random(seed)), exported)
    await check_pair(bench, f"learning-{seed}", learning_story(random.Random(seed)), exported)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_no_export_holds_what_is_hidden_in_many_stories(bench: Bench, seed: int) -> None:
    await check_one(bench, f"secret-{seed}", story(random.Random(seed), 40), exported, named=True)
