"""The services on which stories of hidden records are told: with SQL alone, with vectors, and with a mirror."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from fix_embedder import embedding_server
from fix_jobs import resources_of
from noninterference.stores import Bench, inject_ids, mirrored_bench, story_memory

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint
from stratagraph.store.postgres.database import Database


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The services of stories, whose graph questions SQL answers."""
    memory = story_memory(database)
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", 2)  # so that stories retire lessons
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


@pytest.fixture
async def bench_in_mirror(
    database: Database, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    """The services of stories, whose graph questions the mirror answers."""
    async with mirrored_bench(database, clean_neo4j, monkeypatch) as made:
        yield made


@pytest.fixture
async def by_vectors(bench: Bench) -> AsyncIterator[Bench]:
    """The bench with an embedding service, which its retrieval asks; after the other jobs, records get vectors."""
    memory = bench.memory
    async with (
        embedding_server() as server,
        EmbeddingEndpoint(server.url, model="small", first_pause_s=0.01, timeout=httpx.Timeout(5.0)) as embedder,
    ):
        questions = QuestionEmbedder(memory.database, embedder, patience_s=5.0)
        job = Embed(replace(resources_of(memory), embedder=embedder))

        async def fill() -> None:
            while (await job.run_once(memory.clock.now())).more:
                pass
            questions._model_until = 0  # what is remembered for 2 s

        bench.after_jobs.append(fill)
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, bench.engines, questions)
        yield Bench(replace(memory, retrieve=retrieve), bench.engines, bench.ids, bench.mirror)
