"""Two stores that differ only in what a caller may not see at all give it equal answers (docs/specification.md, Trust).

A story is told twice, in two tenants: with its hidden steps and without. The answers to the caller's own steps and to
every query are compared, with ids and instants replaced by their rank. Exempt are timing, freshness and health.
`make soak` tells more stories.
"""

from __future__ import annotations

import random

import pytest
from fix_memory import NOON
from noninterference.comparing import check_secrecy, check_steps, check_story
from noninterference.questions import EXEMPT, fields_of, questions
from noninterference.steps import FIELDS, SIGHTS, whole_story
from noninterference.stores import UNKNOWN, Bench, inject_ids, story_memory

from stratagraph.memory.engines.service import Engines
from stratagraph.store.postgres.database import Database

QUESTIONS = 3  # of each operation, chosen at random


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    memory = story_memory(database)
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", 2)  # so that stories retire lessons
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


def test_every_query_is_asked() -> None:
    asked = questions(SIGHTS[0], [UNKNOWN], [], NOON)
    assert asked.keys() | EXEMPT == fields_of("Query").keys()


def test_every_mutation_is_told() -> None:
    assert set(FIELDS.values()) == fields_of("Mutation").keys()
    _, steps = whole_story(random.Random(1))
    assert {step["kind"] for step in steps if step["who"] == "caller"} >= FIELDS.keys()


@pytest.mark.parametrize("seed", [1, 2])
async def test_hidden_records_change_no_answer(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=20, asked=QUESTIONS)


async def test_hidden_records_change_the_answer_to_no_mutation(bench: Bench) -> None:
    await check_steps(bench, "whole", *whole_story(random.Random(1)), asked=0)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_hidden_records_change_the_answer_to_no_mutation_in_many_stories(bench: Bench, seed: int) -> None:
    await check_steps(bench, f"whole-{seed}", *whole_story(random.Random(seed)), asked=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_040))
async def test_hidden_records_change_no_answer_in_many_stories(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=40, asked=100)


@pytest.mark.parametrize("seed", [0])
async def test_no_answer_holds_what_is_hidden(bench: Bench, seed: int) -> None:
    await check_secrecy(bench, seed, most=24, asked=QUESTIONS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_no_answer_holds_what_is_hidden_in_many_stories(bench: Bench, seed: int) -> None:
    await check_secrecy(bench, seed, most=40, asked=100)
