"""Vectors of records: who gets one, what they find, and what happens when the embedder, a text or the model changes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fix_embedder import EmbeddingServer, embedding_server, vector_of
from fix_endpoint import Reply
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.embedding import filling, questions
from stratagraph.memory.embedding.embedder import EmbedderUnavailable, Refused, Vector, unit_vector
from stratagraph.memory.embedding.filling import count_waiting
from stratagraph.memory.embedding.questions import QuestionEmbedder, serving_model
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.memory.revise.request import Supersede
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint
from stratagraph.store.jobs.set_aside import FIRST_PAUSE_S
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Role
from stratagraph.store.search import vector_search
from stratagraph.store.search.embeddings import CONSUMER, EmbeddingModel, ModelState, list_models

WALKED = -1  # for EXACT: the index is walked, though no record has been counted yet


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
        self.questions._model_until = 0  # what is remembered for 2 s
        request = RetrieveRequest(task_descriptor=text, **options)
        return await self.retrieve.retrieve(trust or self.memory.trust, request)

    async def found(self, text: str, **options: Any) -> list[str]:
        """Return the texts of the roots that the question finds by vectors, best first."""
        answer = await self.ask(text, **options)
        return [
            str(node.record.text).removeprefix("user: ")
            for node in answer.nodes
            if node.root and node.why.part(Signal.VECTORS) > 0
        ]

    async def models(self) -> list[EmbeddingModel]:
        return await list_models(self.memory.database)

    async def vectors(self) -> dict[UUID, int]:
        """Return the model of each stored vector, keyed by record."""
        async with self.memory.database.background(Role.FEED) as connection:
            rows = await connection.exec_driver_sql("SELECT id, model FROM embedding")
            return {row.id: row.model for row in rows}


@asynccontextmanager
async def embedding(
    memory: Memory, server: EmbeddingServer, *, model: str = "small", **more: Any
) -> AsyncIterator[Embedded]:
    async with EmbeddingEndpoint(
        server.url, model=model, first_pause_s=0.01, timeout=httpx.Timeout(5.0), **more
    ) as embedder:
        asked = QuestionEmbedder(memory.database, embedder, patience_s=5.0)
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, Engines(), asked)
        job = Embed(replace(resources_of(memory), embedder=embedder))
        yield Embedded(memory, server, embedder, job, retrieve, asked)


@pytest.fixture
async def embedded(memory: Memory) -> AsyncIterator[Embedded]:
    async with embedding_server() as server, embedding(memory, server) as made:
        yield made


def counts_of(embedded: int) -> dict[str, int]:
    return {"records_embedded": embedded, "texts_refused": 0, "former_vectors_removed": 0}


async def test_a_paraphrase_is_found_that_shares_no_word_with_the_question(embedded: Embedded) -> None:
    await embedded.memory.turn("automobile needs repairing")
    for number in range(30):
        await embedded.memory.turn(f"unrelated remark {number}")
    assert await embedded.found("vehicle car") == []
    await embedded.fill()
    answer = await embedded.ask("vehicle car")
    (root,) = [node for node in answer.nodes if node.root]
    assert root.record.text == "user: automobile needs repairing"
    assert 0 < root.why.part(Signal.VECTORS) <= 1
    assert root.why.part(Signal.WORDS) == 0
    assert root.why.strength > 0
    assert answer.vector_fallback is None


async def test_what_happened_in_a_time_comes_before_what_is_near_to_its_words(embedded: Embedded) -> None:
    memory = embedded.memory
    await memory.turn("painted the stairs", timestamp=memory.clock.now() - timedelta(days=5))
    for number in range(3):
        text = f"what happened last week {number}"
        await memory.turn(text, timestamp=memory.clock.now() - timedelta(days=90 + number))
    await embedded.fill()
    answer = await embedded.ask("What happened last week?", max_hops=0)
    assert answer.nodes[0].record.text == "user: painted the stairs"
    assert answer.nodes[1].why.part(Signal.VECTORS) > 0


async def test_words_and_vectors_agree_on_one_answer_and_unrelated_records_are_none(embedded: Embedded) -> None:
    await embedded.memory.turn("the puppy sleeps")
    await embedded.memory.turn("quarterly figures rose")
    await embedded.fill()
    assert await embedded.found("puppy sleeps") == ["the puppy sleeps"]
    assert await embedded.found("zebra") == []


async def test_an_edited_text_has_no_vector_of_the_former_one(embedded: Embedded) -> None:
    for state in ("planning", "executing"):
        made = await embedded.memory.remember(
            SourceKind.WORKING_STATE, {"thread_id": "t", "state": state, "next_actions": [f"{state} a car"]}
        )
        assert made.primary.id not in await embedded.vectors()
        await embedded.fill()
        assert set(await embedded.vectors()) == {made.primary.id}
    assert len(await embedded.found("vehicle executing")) == 1


async def test_new_records_get_a_vector(embedded: Embedded) -> None:
    first = (await embedded.memory.turn("a canine barks")).primary
    await embedded.fill()
    assert set(await embedded.vectors()) == {first.id}
    second = (await embedded.memory.turn("a physician calls")).primary
    assert await embedded.found("doctor calls") == []
    assert await embedded.fill() == counts_of(1)
    assert set(await embedded.vectors()) == {first.id, second.id}
    assert await embedded.found("doctor calls") == ["a physician calls"]


async def test_a_superseded_record_is_not_found_and_costs_no_new_vector(embedded: Embedded) -> None:
    old = await embedded.memory.observe("Ann", "drives", "automobile")
    await embedded.fill()
    assert await embedded.found("Ann drives car") != []
    sent = len(embedded.server.texts)
    await embedded.memory.revision.revise(
        embedded.memory.trust,
        Supersede(
            record_id=old.primary.id,
            payload={"subject": "Ann", "predicate": "drives", "object": "bicycle"},
            evidence=({"source_type": "human", "source_id": "1"},),
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
    await embedded.memory.erasure.erase(embedded.memory.trust, Erase(scope="project:a", rationale="asked for it"))
    assert len(await embedded.vectors()) == 1
    await embedded.fill()
    assert len(await embedded.vectors()) == 1


@pytest.mark.parametrize("exact", [WALKED, pytest.param(vector_search.EXACT, marks=pytest.mark.soak)])
async def test_a_narrow_scope_gets_its_own_records_among_many_nearer_ones(
    embedded: Embedded, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT", exact)
    for number in range(12):
        await embedded.memory.turn(f"car trip {number} planned with detours", scope="project:mine")
    await copies(embedded, "car trip", scope="project:theirs", number=800)
    await embedded.fill()
    mine = trust_of(scopes={"project:mine"}, ceiling=Sensitivity.LOW)
    found = await embedded.found("vehicle trip", trust=mine, root_limit=20)
    assert len(found) == 12
    assert all("detours" in text for text in found)
    everything = await embedded.ask("vehicle trip", root_limit=20)
    assert all("detours" not in str(node.record.text) for node in everything.nodes if node.root)


async def test_a_walk_that_ends_among_hidden_vectors_is_followed_by_comparing_the_readable_ones(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_search, "EXACT", WALKED)
    for number in range(12):
        await embedded.memory.turn(f"car trip {number} planned with detours", scope="project:mine")
    await copies(embedded, "car trip", scope="project:theirs", number=700)
    await embedded.fill()
    async with embedded.memory.database.background(Role.MAINTENANCE) as connection:
        await connection.exec_driver_sql("RESET ROLE")
        for setting, value in (("ef_search", 10), ("max_scan_tuples", 50)):
            await connection.exec_driver_sql(f"ALTER FUNCTION search_vectors_by_index SET hnsw.{setting} = {value}")
    mine = trust_of(scopes={"project:mine"}, ceiling=Sensitivity.LOW)
    assert len(await embedded.found("vehicle trip", trust=mine, root_limit=20)) == 12


async def copies(embedded: Embedded, text: str, *, scope: str, number: int) -> None:
    """Make many records of one text by copying one, in the way of a bulk load; they are in no feed, but indexed."""
    made = (await embedded.memory.turn(text, scope=scope)).primary
    async with embedded.memory.database.background(Role.JOBS) as connection:
        columns = "type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,"
        columns += " created_at, occurred_at, updated_at, version, row_version, terms, impacts"
        await connection.exec_driver_sql(
            f"WITH made AS (INSERT INTO record (tenant, id, {columns})"  # noqa: S608 - fixed texts, and an id
            f" SELECT tenant, gen_random_uuid(), {columns} FROM record, generate_series(1, {number})"
            f" WHERE id = '{made.id}' RETURNING *)"
            " INSERT INTO word_change (tenant, record, scope, sensitivity, step, terms)"
            " SELECT tenant, id, scope, sensitivity, 1, 0 || terms FROM made"
        )


async def test_hidden_records_change_nothing_in_what_vectors_find(memory: Memory) -> None:
    """Two questions, before and after records are added that the caller may not see, get the same answer."""
    async with embedding_server() as server, embedding(memory, server) as embedded:
        for number in range(20):
            await memory.turn(f"car number {number} in the garage", scope="project:a")
        await embedded.fill()
        caller = trust_of(scopes={"project:a"}, ceiling=Sensitivity.LOW)
        before, asked_at = await embedded.ask("vehicle garage", trust=caller), memory.clock.at
        for number in range(40):
            await memory.turn(f"vehicle garage {number}", scope="project:b")
            await memory.turn(f"vehicle garage {number} hidden", scope="project:a", sensitivity=Sensitivity.MEDIUM)
        await embedded.fill()
        memory.clock.at = asked_at
        after = await embedded.ask("vehicle garage", trust=caller)
    assert [(node.record.id, node.why, node.score) for node in before.nodes if node.root] == [
        (node.record.id, node.why, node.score) for node in after.nodes if node.root
    ]


async def test_hidden_turns_of_a_thread_lend_no_nearness(memory: Memory) -> None:
    """Hidden turns that are nearer to the question, beside and between those that a caller sees, move no score."""
    async with embedding_server() as server, embedding(memory, server) as embedded:
        caller = trust_of(scopes={"project:a"}, ceiling=Sensitivity.LOW)
        answers = []
        for text, level in (("", Sensitivity.LOW), ("vehicle", Sensitivity.MEDIUM)):
            thread = f"thread {level}"
            for number in range(6):
                await memory.turn("car parked" if number == 3 else "remark", scope="project:a", thread=thread)
                if level is Sensitivity.MEDIUM:
                    await memory.turn(text, scope="project:a", thread=thread, sensitivity=level)
            await embedded.fill()
            answer = await embedded.ask("vehicle", trust=caller)
            answers.append({node.record.id: node for node in answer.nodes if node.why.part(Signal.VECTORS) > 0})
        new = [node for id_, node in answers[1].items() if id_ not in answers[0]]
        old = list(answers[0].values())
    assert [node.why.signals[Signal.VECTORS] for node in new] == [node.why.signals[Signal.VECTORS] for node in old]
    assert len(old) > 1  # the car, and its neighbours


async def test_a_long_event_is_embedded_once_without_the_name_that_its_text_begins_with(embedded: Embedded) -> None:
    text = "the automobile needs repairing " * 10
    await embedded.memory.turn(text)
    await embedded.fill()
    assert [one.count("user:") for one in embedded.server.texts if "automobile" in one] == [1]


async def test_a_question_is_sent_with_its_names_and_without(embedded: Embedded) -> None:
    await embedded.memory.turn("automobile needs repairing")
    await embedded.fill()
    embedded.server.texts.clear()
    answer = await embedded.ask("which vehicle did Zoltan crash?")
    assert embedded.server.texts == ["which vehicle did Zoltan crash?", "which vehicle did crash?"]
    assert embedded.server.requests >= 1
    assert answer.nothing_known  # no record has the name


async def test_a_refused_text_is_set_aside_and_tried_again_later(embedded: Embedded) -> None:
    embedded.server.fault = lambda texts: Reply(400) if any("bad" in text for text in texts) else None
    await embedded.memory.turn("a good remark")
    await embedded.memory.turn("a bad remark")
    assert await embedded.fill() == {"records_embedded": 1, "texts_refused": 1, "former_vectors_removed": 0}
    embedded.server.fault = None
    assert await embedded.fill() == counts_of(0)  # not yet due
    embedded.memory.clock.forward(timedelta(seconds=FIRST_PAUSE_S + 1))
    assert await embedded.fill() == counts_of(1)
    assert len(await embedded.vectors()) == 2


FAULTS = (
    Reply(503),
    Reply(401),
    Reply(200, b"garbage"),
    Reply(200, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}'),
    Reply(200, after_s=60),
)


async def test_a_failing_embedder_costs_a_question_a_bounded_time_and_the_answer_says_so(embedded: Embedded) -> None:
    memory, server = embedded.memory, embedded.server
    await memory.turn("the puppy sleeps")
    await embedded.fill()
    for fault in FAULTS:
        asked = QuestionEmbedder(memory.database, embedded.embedder, patience_s=0.3)
        retrieve = Retrieve(memory.database, memory.directory, memory.clock, Engines(), asked)
        server.fault = lambda _, fault=fault: fault
        sent = server.requests
        for _ in range(questions.FAILURES + 2):
            began = time.monotonic()
            answer = await retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="puppy"))
            assert time.monotonic() - began < 2  # 0.3 s on an idle machine, and what the words take
            assert answer.vector_fallback is not None
            assert answer.nodes[0].record.text == "user: the puppy sleeps"
        assert server.requests - sent <= questions.FAILURES  # then it is left alone
        assert asked.is_paused
        server.fault = None
        asked._paused_until = 0  # the pause has passed
        answer = await retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="puppy"))
        assert answer.vector_fallback is None
        assert not asked.is_paused


async def test_questions_that_fail_at_once_make_one_pause(embedded: Embedded) -> None:
    memory, server = embedded.memory, embedded.server
    await memory.turn("the puppy sleeps")
    await embedded.fill()
    asked = QuestionEmbedder(memory.database, embedded.embedder, patience_s=30.0)
    assert (await asked.embed("puppy")).fallback is None
    server.fault = lambda _: Reply(503)
    answers = await asyncio.gather(*(asked.embed(f"puppy {number}") for number in range(questions.AT_ONCE)))
    assert all(answer.fallback is not None for answer in answers)
    assert asked.is_paused
    assert asked._paused_until <= time.monotonic() + questions.FIRST_PAUSE_S


async def test_no_vectors_yet_and_the_past_are_answered_by_words_and_say_so(embedded: Embedded) -> None:
    await embedded.memory.turn("the puppy sleeps")
    answer = await embedded.ask("puppy")
    assert answer.vector_fallback == "no record has a vector of this embedder yet"
    await embedded.fill()
    at = embedded.memory.clock.at
    embedded.memory.clock.forward(timedelta(hours=1))
    past = await embedded.ask("puppy", as_of=at)
    assert past.vector_fallback == "vectors find records of the present only"
    assert len(past.nodes) == 1


@pytest.mark.usefixtures("log_at_rest")
async def test_without_an_embedder_a_retrieval_has_the_statements_of_words_alone(embedded: Embedded) -> None:
    await embedded.memory.turn("the puppy sleeps")
    await embedded.fill()
    await embedded.ask("puppy")
    database, counted = embedded.memory.database, []
    for retrieve in (embedded.memory.retrieve, embedded.retrieve):
        await retrieve.log.flush()
        before = database.statements, database.round_trips
        answer = await retrieve.retrieve(embedded.memory.trust, RetrieveRequest(task_descriptor="puppy"))
        assert answer.vector_fallback is None
        counted.append((database.statements - before[0], database.round_trips - before[1]))
        await retrieve.log.flush()
    (without, trips), (with_one, its_trips) = counted
    assert with_one <= without + 1
    assert its_trips <= trips


async def test_a_change_of_model_embeds_everything_again_while_the_former_vectors_answer(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "TEXTS", 4)
    monkeypatch.setattr(filling, "LOOKED_AT", 8)
    async with embedding_server() as server:
        async with embedding(memory, server, model="old") as embedded:
            for number in range(20):
                await memory.turn(f"automobile number {number}")
            await embedded.fill()
            (old,) = await embedded.models()
            assert (old.state, old.dimensions) == (ModelState.COMPLETE, 256)
        async with embedding(memory, server, model="new", dimensions=96) as embedded:
            began = len(server.texts)
            # The embedder fails after some batches of records; a question, which is one text, is still answered.
            server.fault = lambda texts: Reply(503) if len(texts) > 1 and len(server.texts) > began + 17 else None
            with pytest.raises(EmbedderUnavailable):
                await embedded.fill()
            left, on_its_way = await embedded.models()
            assert (left.id, left.state) == (old.id, ModelState.LEFT)
            assert (on_its_way.state, on_its_way.filled_at) == (ModelState.FILLING, None)
            assert 0 < on_its_way.looked_at < on_its_way.records
            assert len(await embedded.found("vehicle")) == 10
            assert server.models[-1] == "old"
            serving = serving_model(await embedded.models(), embedded.embedder)
            assert serving is not None
            assert serving.id == old.id
            server.fault = None
            counts = await embedded.fill()
            assert counts["former_vectors_removed"] >= 20
            (new,) = await embedded.models()
            assert (new.name, new.dimensions, new.state) == ("new", 96, ModelState.COMPLETE)
            assert set((await embedded.vectors()).values()) == {new.id}
            assert len(await embedded.found("vehicle")) == 10
            assert server.models[-1] == "new"
        async with embedding(memory, server, model="old") as embedded:  # and back again
            await memory.turn("another automobile")
            await embedded.fill()
            assert len(await embedded.vectors()) == 21


@pytest.mark.soak
async def test_a_model_that_was_left_for_a_while_gets_the_vectors_that_it_missed(memory: Memory) -> None:
    async with embedding_server() as server:
        async with embedding(memory, server, model="old") as embedded:
            await memory.turn("first automobile")
            await embedded.fill()
        async with embedding(memory, server, model="new") as embedded:
            server.fault = lambda texts: Reply(503) if any("first" in text for text in texts) else None
            await memory.turn("second automobile")
            with pytest.raises(EmbedderUnavailable):
                await embedded.fill()
            server.fault = None
        async with embedding(memory, server, model="old") as embedded:
            await embedded.fill()
            assert len(await embedded.found("vehicle")) == 2


async def test_a_filling_that_was_broken_off_goes_on_where_it_stopped(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "TEXTS", 8)
    monkeypatch.setattr(filling, "LOOKED_AT", 16)
    async with embedding_server() as server:
        for number in range(40):
            await memory.turn(f"remark number {number}")
        async with embedding(memory, server) as embedded:
            server.fault = lambda _: Reply(503) if server.requests > 4 else None
            with pytest.raises(EmbedderUnavailable):
                await embedded.fill()
            stored = len(await embedded.vectors())
            assert 0 < stored < 40
        server.fault = None
        sent = len(server.texts)
        async with embedding(memory, server) as embedded:
            counts = await embedded.fill()
            assert counts["records_embedded"] == 40 - stored
            assert len(server.texts) - sent == 40 - stored
            assert len(await embedded.vectors()) == 40


async def test_the_newest_records_get_their_vectors_first(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "LOOKED_AT", 4)
    monkeypatch.setattr(filling, "TEXTS", 2)
    for number in range(10):
        await memory.turn(f"remark {number}")
    async with embedding_server() as server, embedding(memory, server) as embedded:
        await embedded.fill()
        sent = [text.removeprefix("user: ") for text in server.texts if "remark" in text]
    assert sent == [f"remark {number}" for number in reversed(range(10))]


async def test_an_edit_during_the_embedding_of_a_text_leaves_no_vector_of_the_former_text(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with embedding_server() as server, embedding(memory, server) as embedded:
        await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": "planning"})
        embed, edits = embedded.embedder.embed, ["executing"]

        async def edited_meanwhile(texts: Sequence[str]) -> list[Vector | Refused]:
            found = await embed(texts)
            if edits and any("planning" in text for text in texts):
                await memory.remember(SourceKind.WORKING_STATE, {"thread_id": "t", "state": edits.pop()})
            return found

        monkeypatch.setattr(embedded.embedder, "embed", edited_meanwhile)
        await embedded.job.run_once(memory.clock.now())
        await embedded.fill()
        (id_,) = await embedded.vectors()
        assert edits == []
        (stored,) = await stored_vectors(embedded)
    (record,) = [await memory.lookup.record(memory.trust, id_)]
    assert record is not None
    assert "executing" in str(record.text)
    expected = unit_vector(vector_of(f"{record.name} {record.text}", model="small", dimensions=256))
    assert isinstance(expected, list)
    assert sum(a * b for a, b in zip(stored, expected, strict=True)) > 0.9


async def stored_vectors(embedded: Embedded) -> list[list[float]]:
    async with embedded.memory.database.background(Role.FEED) as connection:
        rows = await connection.exec_driver_sql("SELECT vector::text AS vector FROM embedding")
        return [json.loads(row.vector) for row in rows]


async def test_vectors_of_other_dimensions_than_the_stored_ones_are_not_stored(embedded: Embedded) -> None:
    await embedded.memory.turn("one remark")
    await embedded.fill()
    embedded.server.dimensions = 32
    await embedded.memory.turn("another remark")
    with pytest.raises(EmbedderUnavailable, match="STRATAGRAPH_EMBEDDER_DIMENSIONS"):
        await embedded.fill()
    assert len(await embedded.vectors()) == 1


@pytest.mark.soak
async def test_a_restart_of_the_change_log_makes_the_job_look_at_all_records(embedded: Embedded) -> None:
    await embedded.memory.turn("one remark")
    await embedded.fill()
    await copies(embedded, "a remark that is in no feed", scope="", number=3)
    await embedded.fill()
    assert len(await embedded.vectors()) == 2
    async with embedded.memory.database.background(Role.FEED) as connection:
        await connection.exec_driver_sql("UPDATE embedding_model SET nonce = gen_random_uuid()")
    await embedded.memory.turn("a third remark")
    await embedded.fill()
    assert len(await embedded.vectors()) == 6


BELOW = Sensitivity.HIGH
COUNTED = """SELECT count(*) FROM record r
WHERE r.sealed IS NULL AND r.sensitivity < %s AND r.state <= 2 AND r.type <> %s
AND NOT EXISTS (SELECT FROM embedding e JOIN embedding_model m ON m.id = e.model
  WHERE e.tenant = r.tenant AND e.id = r.id AND m.name = 'small')"""
STEPS = ("say", "say much", "observe", "edit", "secret", "embed", "embed", "fail", "refuse", "fall behind")
REFUSED = "a text that is refused"


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("LOOKED_AT", 3), ("PAGE", 2), ("TEXTS", 2)):
        monkeypatch.setattr(filling, name, size)


class Story:
    """Steps of callers and of the job that embeds, over one memory."""

    def __init__(self, embedded: Embedded) -> None:
        self.embedded = embedded
        self.memory = embedded.memory
        self._number = 0

    async def step(self, name: str) -> None:
        self._number += 1
        server, memory = self.embedded.server, self.memory
        if name == "say":
            await memory.turn(f"remark {self._number}")
        elif name == "say much":
            for part in range(7):
                await memory.turn(f"part {part} of {self._number}")
        elif name == "observe":
            await memory.observe(f"Person {self._number}", "works_at", f"Company {self._number}")
        elif name == "secret":
            await memory.turn(f"secret {self._number}", sensitivity=BELOW)
        elif name == "edit":
            for state in ("planning", "executing"):
                content = {"thread_id": f"t{self._number}", "state": state, "next_actions": [state]}
                await memory.remember(SourceKind.WORKING_STATE, content)
        elif name == "fall behind":  # for so long that the job must look at all records again
            async with memory.database.background(Role.MAINTENANCE) as connection:
                await connection.exec_driver_sql("DELETE FROM sync_cursor WHERE consumer = %s", (CONSUMER,))
        else:
            if name == "refuse":
                await memory.turn(f"{REFUSED} {self._number}")
            fails = name == "fail"
            server.fault = lambda texts: (
                Reply(401) if fails else Reply(400) if any(REFUSED in one for one in texts) else None
            )
            try:
                await self.embedded.job.run_once(memory.clock.now())
            except EmbedderUnavailable:
                assert fails

    async def check(self) -> int:
        counted = await count_waiting(self.memory.database, self.embedded.embedder, below=BELOW)
        async with self.memory.database.background(Role.FEED) as connection:
            (row,) = await connection.exec_driver_sql(COUNTED, (int(BELOW), int(MemoryType.ENTITY)))
        assert counted == row[0]
        return counted


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=8))
async def test_the_number_of_records_that_wait_is_that_of_a_full_count(
    embedded: Embedded, small_batches: None, steps: list[str]
) -> None:
    story = Story(embedded)
    for step in steps:
        await story.step(step)
        await story.check()


async def test_records_that_were_written_after_the_job_was_done_wait_too(embedded: Embedded) -> None:
    story = Story(embedded)
    await story.step("say")
    await embedded.fill()
    assert await story.check() == 0
    await story.step("say much")
    assert await story.check() == 7
    await embedded.fill()
    assert await story.check() == 0


async def test_records_wait_for_an_embedder_that_has_never_answered(memory: Memory) -> None:
    async with embedding_server() as server, embedding(memory, server) as embedded:
        server.fault = lambda _: Reply(401)
        story = Story(embedded)
        await story.step("say much")
        await story.step("fail")
        assert await story.check() == 7
