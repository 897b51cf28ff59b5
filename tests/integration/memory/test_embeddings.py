"""Vectors of records: who gets one, what they find, and what happens when the embedder, a text or the model changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import httpx
import pytest
from fix_embedder import EmbeddingServer, Reply, embedding_server, vector_of
from fix_jobs import resources_of
from fix_memory import Memory, trust_of

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.embedding import filling, questions
from stratagraph.memory.embedding.embedder import EmbedderUnavailable, unit_vector
from stratagraph.memory.embedding.questions import QuestionEmbedder, serving_model
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.service import EraseRequest
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.request import Supersede
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Role
from stratagraph.store.search import vector_search
from stratagraph.store.search.embeddings import EmbeddingModel, ModelState, list_models


@dataclass
class Embedded:
    """A memory with an embedder: its service, the job that fills it, and retrieval that asks it."""

    memory: Memory
    server: EmbeddingServer
    embedder: EmbeddingEndpoint
    job: Embed
    retrieve: Retrieve
    questions: QuestionEmbedder

    async def fill(self) -> dict[str, int]:
        """Run the job until it has nothing left; return its counts."""
        counts: dict[str, int] = {}
        while True:
            result = await self.job.run_once(self.memory.clock.now())
            counts = {name: counts.get(name, 0) + count for name, count in result.counts.items()}
            if not result.more:
                return counts

    async def ask(self, text: str, *, trust: Trust | None = None, **options: Any) -> Retrieved:
        request = RetrieveRequest(task_descriptor=text, **options)
        return await self.retrieve.retrieve(trust or self.memory.trust, request)

    async def found(self, text: str, **options: Any) -> list[str]:
        """Return the texts of the roots that the question finds by vectors, best first."""
        answer = await self.ask(text, **options)
        return [str(node.record.text) for node in answer.nodes if node.root and node.why.vectors > 0]

    async def models(self) -> list[EmbeddingModel]:
        return await list_models(self.memory.database)

    async def vectors(self) -> dict[UUID, int]:
        """Return the model of each stored vector, keyed by record."""
        async with self.memory.database.background(Role.FEED) as connection:
            rows = await connection.exec_driver_sql("SELECT id, model FROM embedding")
            return {row.id: row.model for row in rows}


@asynccontextmanager
async def embedding(memory: Memory, server: EmbeddingServer, *, model: str = "small", **more: Any) -> AsyncIterator[Embedded]:
    async with EmbeddingEndpoint(
        server.url, model=model, first_pause_s=0.01, timeout=httpx.Timeout(5.0), **more
    ) as embedder:
        asked = QuestionEmbedder(memory.database, embedder, patience_s=5.0)
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, Engines(), asked)
        job = Embed(replace(resources_of(memory), embedder=embedder))
        yield Embedded(memory, server, embedder, job, retrieve, asked)
        await retrieve.log.close()


@pytest.fixture
async def embedded(memory: Memory) -> AsyncIterator[Embedded]:
    async with embedding_server() as server, embedding(memory, server) as made:
        yield made


async def test_a_paraphrase_is_found_that_shares_no_word_with_the_question(embedded: Embedded) -> None:
    await embedded.memory.turn("automobile needs repairing")
    for number in range(30):
        await embedded.memory.turn(f"unrelated remark {number}")
    assert await embedded.found("vehicle car") == []
    await embedded.fill()
    answer = await embedded.ask("vehicle car")
    (root,) = [node for node in answer.nodes if node.root]
    assert root.record.text == "automobile needs repairing"
    assert 0 < root.why.vectors <= 1
    assert root.why.words == 0
    assert answer.vector_fallback is None


async def test_words_and_vectors_agree_on_one_answer_and_unrelated_records_are_none(embedded: Embedded) -> None:
    await embedded.memory.turn("the puppy sleeps")
    await embedded.memory.turn("quarterly figures rose")
    await embedded.fill()
    assert await embedded.found("puppy sleeps") == ["the puppy sleeps"]
    assert await embedded.found("zebra") == []


async def test_new_records_and_edited_texts_get_a_vector_and_an_edit_removes_the_former_one(embedded: Embedded) -> None:
    first = (await embedded.memory.turn("a canine barks")).primary
    await embedded.fill()
    assert set(await embedded.vectors()) == {first.id}
    second = (await embedded.memory.turn("a physician calls")).primary
    assert await embedded.found("doctor calls") == []
    assert await embedded.fill() | {"records_embedded": 1} == await_counts(1)
    assert set(await embedded.vectors()) == {first.id, second.id}
    assert await embedded.found("doctor calls") == ["a physician calls"]


def await_counts(embedded: int) -> dict[str, int]:
    return {"records_embedded": embedded, "texts_refused": 0, "former_vectors_removed": 0}


async def test_a_superseded_record_is_not_found_and_costs_no_new_vector(embedded: Embedded) -> None:
    old = await embedded.memory.observe("Ann", "drives", "automobile")
    await embedded.fill()
    assert await embedded.found("Ann drives car") != []
    sent = len(embedded.server.texts)
    await embedded.memory.revision.supersede(
        embedded.memory.trust,
        Supersede(
            id=old.primary.id,
            patch={"object": "bicycle"},
            evidence=({"source_type": "test", "source_id": "1"},),
            rationale="sold it",
        ),
    )
    await embedded.fill()
    texts = [text for text in embedded.server.texts[sent:] if "drives" in text]
    assert len(texts) == 1
    assert "bicycle" in texts[0]
    assert all("automobile" not in text for text in await embedded.found("Ann drives car"))


async def test_nothing_at_or_above_the_encryption_level_is_sent_or_has_a_vector(embedded: Embedded) -> None:
    low = (await embedded.memory.turn("a plain remark", sensitivity=Sensitivity.MEDIUM)).primary
    for level in (Sensitivity.HIGH, Sensitivity.HYPER):
        await embedded.memory.turn(f"a guarded remark {level.label}", sensitivity=level)
    await embedded.fill()
    assert set(await embedded.vectors()) == {low.id}
    assert not [text for text in embedded.server.texts if "guarded" in text]
    assert await embedded.found("guarded remark") == ["a plain remark"]


async def test_a_secret_in_a_question_is_masked_before_it_is_sent(embedded: Embedded) -> None:
    await embedded.memory.turn("a plain remark")
    await embedded.fill()
    await embedded.ask("why does postgres://app:hunter2@db/main not answer?")
    assert not [text for text in embedded.server.texts if "hunter2" in text]
    assert "postgres://[secret]@db/main" in embedded.server.texts[-1]


async def test_deleting_and_erasing_remove_vectors(embedded: Embedded) -> None:
    for scope in ("project:a", "project:b"):
        await embedded.memory.turn("a remark", scope=scope)
    await embedded.fill()
    assert len(await embedded.vectors()) == 2
    await embedded.memory.erasure.erase(
        embedded.memory.trust, EraseRequest(scope="project:a", rationale="asked for it")
    )
    assert len(await embedded.vectors()) == 1
    await embedded.fill()
    assert len(await embedded.vectors()) == 1


@pytest.mark.parametrize("exact", [0, vector_search.EXACT])
async def test_a_narrow_scope_gets_its_own_records_among_many_nearer_ones(
    embedded: Embedded, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT", exact)
    for number in range(12):
        await embedded.memory.turn(f"car trip {number} planned with detours", scope="project:mine")
    await copies(embedded, "car trip", scope="project:theirs", number=1_500)
    await embedded.fill()
    mine = trust_of(scopes={"project:mine"}, ceiling=Sensitivity.LOW)
    found = await embedded.found("vehicle trip", trust=mine, root_limit=20)
    assert len(found) == 12
    assert all("detours" in text for text in found)
    everything = await embedded.ask("vehicle trip", root_limit=20)
    assert all("detours" not in str(node.record.text) for node in everything.nodes if node.root)


async def copies(embedded: Embedded, text: str, *, scope: str, number: int) -> None:
    """Make many records of one text by copying one, in the way of a bulk load; they are in no feed."""
    made = (await embedded.memory.turn(text, scope=scope)).primary
    async with embedded.memory.database.background(Role.JOBS) as connection:
        columns = "doc, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,"
        columns += " created_at, occurred_at, updated_at, version, row_version, terms, impacts"
        copied = columns.replace("doc,", "doc + 1000000 + n,", 1)
        await connection.exec_driver_sql(
            f"INSERT INTO record (tenant, id, {columns}) SELECT tenant, gen_random_uuid(), {copied}"
            f" FROM record, generate_series(1, {number}) AS n WHERE id = '{made.id}'"
        )


async def test_hidden_records_change_nothing_in_what_vectors_find(memory: Memory) -> None:
    """Two questions, before and after records are added that the caller may not see, get the same answer."""
    async with embedding_server() as server, embedding(memory, server) as embedded:
        for number in range(20):
            await memory.turn(f"car number {number} in the garage", scope="project:a")
        await embedded.fill()
        caller = trust_of(scopes={"project:a"}, ceiling=Sensitivity.LOW)
        before = await embedded.ask("vehicle garage", trust=caller)
        for number in range(40):
            await memory.turn(f"vehicle garage {number}", scope="project:b")
            await memory.turn(f"vehicle garage {number} hidden", scope="project:a", sensitivity=Sensitivity.MEDIUM)
        await embedded.fill()
        after = await embedded.ask("vehicle garage", trust=caller)
    assert [(node.record.id, node.why.vectors) for node in before.nodes if node.root] == [
        (node.record.id, node.why.vectors) for node in after.nodes if node.root
    ]


async def test_a_refused_text_is_set_aside_and_tried_again_later(embedded: Embedded) -> None:
    embedded.server.fault = lambda texts: Reply(400) if any("bad" in text for text in texts) else None
    await embedded.memory.turn("a good remark")
    await embedded.memory.turn("a bad remark")
    assert await embedded.fill() == {"records_embedded": 1, "texts_refused": 1, "former_vectors_removed": 0}
    embedded.server.fault = None
    assert await embedded.fill() == await_counts(0)  # not yet due
    embedded.memory.clock.forward(filling_pause())
    assert await embedded.fill() == await_counts(1)
    assert len(await embedded.vectors()) == 2
