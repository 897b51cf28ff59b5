"""Asks a marked store all requests, over the real schema with all fields selected, and checks each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from fix_embedder import embedding_server
from fix_jobs import resources_of
from noninterference.stores import UNKNOWN, Bench
from secrecy.checks import sight_of, wrong_in_absence, wrong_in_answer
from secrecy.requests import Asked
from secrecy.stores import MarkedStore

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint

Json = dict[str, Any]
PROBED = 3  # records of a store that `whyNot` is asked about with each request


@dataclass
class Vectors:
    """A bench whose retrieval has an embedder, and the job that gives records their vectors."""

    bench: Bench
    job: Embed
    questions: QuestionEmbedder

    async def fill(self) -> None:
        """Give every record that may have a vector one."""
        while (await self.job.run_once(self.bench.memory.clock.now())).more:
            pass
        self.questions._model_until = 0  # what is remembered for 2 s


@asynccontextmanager
async def with_vectors(bench: Bench) -> AsyncIterator[Vectors]:
    """Run an embedding service; yield the bench with a retrieval that asks it."""
    memory = bench.memory
    async with (
        embedding_server() as server,
        EmbeddingEndpoint(server.url, model="small", first_pause_s=0.01, timeout=httpx.Timeout(5.0)) as embedder,
    ):
        questions = QuestionEmbedder(memory.database, embedder, patience_s=5.0)
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, bench.engines, questions)
        resources = replace(resources_of(memory), embedder=embedder)
        with_embedder = Bench(replace(memory, retrieve=retrieve), bench.engines, bench.ids, bench.mirror)
        yield Vectors(with_embedder, Embed(resources), questions)


async def check_all(
    bench: Bench, store: MarkedStore, asked: Sequence[Asked], counts: Counter[str], vectors: Vectors | None = None
) -> None:
    """Ask the requests one after another; fail with all that an answer has and must not have."""
    for place, one in enumerate(asked):
        by = vectors.bench if vectors is not None and one.by_vectors else bench
        trust, given = one.trust(store.tenant), one.input(store)
        answer = await by.ask(trust, "Query", "retrieveGraph", {"input": given})
        sight = sight_of(store, one, given)
        found = list(wrong_in_answer(sight, given, answer, counts))
        if "freshness" in answer:
            counts[f"answered by {answer['freshness']['engine']}"] += 1
        ids = list(store.primary.values())
        unknown = await by.ask(trust, "Query", "whyNot", {"id": str(UNKNOWN), "input": given})
        for id_ in [ids[(place * PROBED + number) % len(ids)] for number in range(min(PROBED, len(ids)))]:
            told = await by.ask(trust, "Query", "whyNot", {"id": str(id_), "input": given})
            counts[f"whyNot {told['__typename']}"] += 1
            found += wrong_in_absence(sight_of(store, one, given, narrowed=False), id_, told, unknown)
        if found:
            pytest.fail("\n".join([f"{trust} asks {given}", *found]))
