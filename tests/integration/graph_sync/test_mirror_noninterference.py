"""Over the mirror as well, two stores that differ only in hidden records give a caller equal answers."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest
from noninterference.comparing import check_steps, check_story
from noninterference.questions import GRAPH
from noninterference.steps import hub_story
from noninterference.stores import Bench, mirrored_bench

from stratagraph.store.postgres.database import Database

pytestmark = pytest.mark.neo4j

LEAST_SHARE = 0.8  # of the graph questions, answered by Neo4j


@pytest.fixture
async def bench(database: Database, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    async with mirrored_bench(database, clean_neo4j, monkeypatch) as made:
        yield made


async def check_hubs(bench: Bench, seed: int, *, asked: int) -> None:
    """Tell a story of hubs; nearly all graph questions must have been answered by Neo4j."""
    sight, steps = hub_story(random.Random(seed))
    store = await check_steps(bench, f"hubs-{seed}", sight, steps, asked=asked, only=GRAPH)
    assert len(store.hidden) >= len(store.seen) / 4
    assert store.engines["NEO4J"] >= LEAST_SHARE * store.engines.total() > 0, store.fallbacks


async def test_hidden_records_around_hubs_change_no_answer_of_the_mirror(bench: Bench) -> None:
    await check_hubs(bench, 2, asked=4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_010))
async def test_hidden_records_around_hubs_change_no_answer_of_the_mirror_in_many_stories(
    bench: Bench, seed: int
) -> None:
    await check_hubs(bench, seed, asked=100)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_010))
async def test_hidden_records_change_no_answer_of_the_mirror_in_many_stories(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=40, asked=100)
