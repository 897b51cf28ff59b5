"""Over the mirror as well, what a caller may not see changes no answer and is in none."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from fix_examples import repeated
from noninterference.comparing import check_one, check_pair
from noninterference.questions import GRAPH
from noninterference.readings import every_question, retrievals
from noninterference.requests import LARGE, requests
from noninterference.steps import NAMES, every_state_story, hub_story, marked_story, story
from noninterference.stores import Bench

pytestmark = pytest.mark.neo4j

LEAST_SHARE = 0.8  # of the graph questions about now, answered by Neo4j
STORIES = 2  # with marks


async def check_hubs(bench: Bench, seed: int, *, asked: int) -> None:
    """Tell a story of hubs; nearly all graph questions must have been answered by Neo4j."""
    store = await check_pair(bench, f"hubs-{seed}", hub_story(random.Random(seed)), every_question(asked, GRAPH))
    assert len(store.hidden) >= len(store.seen) / 4
    present = store.engines.total() - store.fallbacks["the mirror shows only the present"]
    assert store.engines["NEO4J"] >= LEAST_SHARE * present > 0, store.fallbacks


async def test_hidden_records_around_hubs_change_no_answer_of_the_mirror(bench_in_mirror: Bench) -> None:
    await check_hubs(bench_in_mirror, 2, asked=4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_010))
async def test_hidden_records_around_hubs_change_no_answer_of_the_mirror_in_many_stories(
    bench_in_mirror: Bench, seed: int
) -> None:
    await check_hubs(bench_in_mirror, seed, asked=100)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_010))
async def test_hidden_records_change_no_answer_of_the_mirror_in_many_stories(bench_in_mirror: Bench, seed: int) -> None:
    await check_pair(bench_in_mirror, f"story-{seed}", story(random.Random(seed), 40), every_question(100))


async def test_nothing_hidden_and_nothing_past_is_in_an_answer_of_the_mirror_up_to_date_or_behind(
    bench_in_mirror: Bench,
) -> None:
    """Which engine answers depends on how far the mirror is behind, so the answers of two stores may then differ."""
    counts: Counter[str] = Counter()
    engines: Counter[str] = Counter()
    for seed in range(repeated(STORIES)):
        rng = random.Random(seed)
        told = marked_story(rng, 12) if seed else every_state_story()
        asked = [LARGE | {"taskDescriptor": NAMES[0]}, *requests(rng, told[0], len(told[1]), rng.randint(8, 16))]
        settled = seed % 2 == 0
        store = await check_one(
            bench_in_mirror, f"marked-{seed}", told, retrievals(asked), settled=settled, counts=counts
        )
        engines += store.engines
    assert engines["NEO4J"], store.fallbacks
    assert counts["edges"]
    assert counts["redacted"]
