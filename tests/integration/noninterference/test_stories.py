"""What a caller may not see changes no answer and is in none (docs/specification.md, Trust).

A story is told twice, in two tenants: with its hidden steps and without. The answers to the caller's own steps and all
readings are compared, with ids and instants replaced by their rank. Exempt are timing, freshness and health. Of each
answer it is also checked that it holds no id and no word of hidden steps, no word of a redacted record, and, of marked
stories, nothing that is not current. `make soak` tells more stories.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from fix_examples import repeated
from fix_memory import NOON
from fix_words import count_all_words, count_differences
from noninterference.comparing import check_one, check_pair
from noninterference.questions import EXEMPT, fields_of, questions
from noninterference.readings import every_question, retrievals, searches
from noninterference.requests import ARGUMENTS, LARGE, arguments_of_schema, requests
from noninterference.steps import (
    FIELDS,
    NAMES,
    SIGHTS,
    STEP,
    WORDS,
    every_state_story,
    learning_story,
    marked_story,
    story,
    whole_story,
    word_story,
)
from noninterference.stores import UNKNOWN, Bench

from stratagraph.store.search import present, word_indexing, word_search, word_segments
from stratagraph.store.search.word_index import WordIndex

QUESTIONS = 3  # of each operation, chosen at random
STORIES = 3  # with marks
# What the answers to all marked stories must have.
SEEN = ("nodes", "roots", "edges", "redacted", "of the past", "hidden", "not current", "renderings", "selections")
# With limits this small, a few records are a large store. With the first all is read, with the last conjunctions.
LIMITS = [(100, 200, 100), (0, 200, 100), (2, 3, 4), (0, 0, 1)]


def test_every_query_is_asked() -> None:
    asked = questions(SIGHTS[0], [UNKNOWN], [], NOON)
    assert asked.keys() | EXEMPT == fields_of("Query").keys()


def test_every_argument_of_a_retrieval_is_drawn() -> None:
    assert arguments_of_schema() == ARGUMENTS.keys()
    asked = requests(random.Random(1), SIGHTS[0], 20, 40)
    assert {name for given in asked for name in given} == ARGUMENTS.keys()


def test_every_mutation_is_told() -> None:
    assert set(FIELDS.values()) == fields_of("Mutation").keys()
    _, steps = whole_story(random.Random(1))
    assert {step["kind"] for step in steps if step["who"] == "caller"} >= FIELDS.keys()


@pytest.mark.parametrize("seed", [1, 2])
async def test_hidden_records_change_no_answer(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"story-{seed}", story(random.Random(seed), 20), every_question(QUESTIONS))


async def test_hidden_records_change_the_answer_to_no_mutation(bench: Bench) -> None:
    await check_pair(bench, "whole", whole_story(random.Random(1)))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_hidden_records_change_the_answer_to_no_mutation_in_many_stories(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"whole-{seed}", whole_story(random.Random(seed)), every_question(3))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_040))
async def test_hidden_records_change_no_answer_in_many_stories(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"story-{seed}", story(random.Random(seed), 40), every_question(100))


@pytest.mark.parametrize("seed", [0])
async def test_no_answer_holds_what_is_hidden(bench: Bench, seed: int) -> None:
    await check_one(bench, "secret", story(random.Random(seed), 24), every_question(QUESTIONS), named=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_no_answer_holds_what_is_hidden_in_many_stories(bench: Bench, seed: int) -> None:
    await check_one(bench, f"secret-{seed}", story(random.Random(seed), 40), every_question(100), named=True)


async def test_what_is_learned_from_hidden_episodes_changes_no_answer(bench: Bench) -> None:
    full = await check_pair(bench, "learning", learning_story(random.Random(4)), every_question(3))
    assert any(kind == "undo_run" for _, kind, _ in full.outcomes)
    assert any("Tools: " in str(answer) for answer in full.answers.values())


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_030))
async def test_what_is_learned_from_hidden_episodes_changes_no_answer_in_many_stories(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"learning-{seed}", learning_story(random.Random(seed)), every_question(30))


async def test_nothing_hidden_and_nothing_past_is_in_a_retrieval_under_any_arguments(
    bench: Bench, by_vectors: Bench
) -> None:
    """Also while words, vectors and names of the last records wait for the background jobs.

    Superseded and retracted records, facts that have expired or are not valid yet: as roots, as neighbours, at the
    ends of relations, in the rendering, in explanations and in errors. As of a past instant, what was current then
    shows, to who may see it then and now.
    """
    counts: Counter[str] = Counter()
    everything = {"taskDescriptor": f"{NAMES[0]} {WORDS[0]} {WORDS[-1]}", **LARGE}
    as_of = {**everything, "asOf": (NOON + 12.7 * STEP).isoformat()}
    asked = [everything, everything | {"memoryTypes": ["COMPETENCE"]}, as_of, as_of]
    await check_pair(bench, "states", every_state_story(), retrievals(asked, by_vectors), counts=counts)
    for seed in range(repeated(STORIES)):
        rng = random.Random(seed)
        told = marked_story(rng, 16)
        reading = retrievals(requests(rng, told[0], len(told[1]), rng.randint(8, 16)), by_vectors)
        await check_pair(bench, f"marked-{seed}", told, reading, settled=rng.random() < 0.5, counts=counts)
    print("\n" + "\n".join(f"{number:6} {what}" for what, number in sorted(counts.items())))
    assert not [what for what in SEEN if not counts[what]], "the stories show hardly anything"


async def test_hidden_records_change_no_answer_and_no_score_of_a_search(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = WordIndex()
    hidden = answered = 0
    for seed in range(repeated(8)):
        rng = random.Random(seed)
        few, small, budget = LIMITS[seed % len(LIMITS)]
        monkeypatch.setattr(word_search, "FEW_RECORDS", few)
        monkeypatch.setattr(word_search, "SMALL_STORE", small)
        monkeypatch.setattr(word_search, "BUDGET", budget)
        monkeypatch.setattr(present, "RECENT_WINDOW", rng.choice([3, 400]))
        # Two stores with different records have different segments and blocks.
        monkeypatch.setattr(word_indexing, "MAX_RECORDS", 2 + budget)
        monkeypatch.setattr(word_indexing, "SMALLEST", few + 1)
        monkeypatch.setattr(word_segments, "BLOCK_POSTINGS", 1 + small)
        sight, steps = word_story(rng)
        question = " ".join(rng.choices(WORDS, k=rng.randint(1, 4)))
        reading = searches(question, (len(steps) // 2, len(steps) - 2), index)
        full = await check_pair(bench, f"words-{seed}", (sight, steps), reading)
        await count_all_words(bench.memory.database)
        assert await count_differences(bench.memory.database) == []
        hidden += len(full.hidden)
        answered += any(full.answers["scores"])
    assert hidden > 20, "the stories hide hardly anything"
    assert answered > 2, "the searches find hardly anything"
