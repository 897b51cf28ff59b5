"""Lessons in a store: learned, merged, told, credited and retired, each caller with its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from fix_embedder import EmbeddingServer, embedding_server
from fix_endpoint import Reply
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.embedding.questions import QuestionEmbedder
from stratagraph.memory.lessons import service
from stratagraph.memory.lessons.block import Standing
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.lessons.service import LearnedLesson, Lessons
from stratagraph.memory.lessons.utility import beyond
from stratagraph.memory.lessons.windows import Window, zone_of
from stratagraph.memory.revise.request import Delete, RemoveLesson, Supersede, VerifyLesson
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, InvalidInput
from stratagraph.store.model.trust import Trust


async def learn(
    memory: Memory, task: str, solution: str = "test first", trust: Trust | None = None, **more: Any
) -> LearnedLesson:
    memory.clock.forward(timedelta(seconds=1))
    return await memory.lessons.learn(trust or memory.trust, LearnLesson(task=task, solution=solution, **more))


async def block(memory: Memory, id_: UUID) -> dict[str, Any]:
    lesson: dict[str, Any] = ((await memory.record(id_)).payload or {})["lesson"]
    return lesson


async def tasks(memory: Memory, trust: Trust | None = None, **asked: Any) -> list[str]:
    found = await memory.lessons.find(trust or memory.trust, **{"first": 100, **asked})
    return [(one.payload or {})["lesson"]["task"] for one in found]


async def told(memory: Memory, trust: Trust | None = None, **asked: Any) -> str:
    found = await memory.lessons.playbook(trust or memory.trust, **{"is_counted": True, **asked})
    await memory.retrieve.log.flush()
    return found.text


async def test_a_lesson_is_a_competence_with_every_field_of_the_schema(memory: Memory) -> None:
    learned = await learn(
        memory,
        "ship the parrot",
        mistake="untested",
        trigger="deploying parrots",
        domains=("ops", "birds", "ops"),
        confidence=0.9,
        source="self_play",
        scope="project:x",
    )
    lesson = learned.captured.primary
    assert (lesson.type, lesson.scope, learned.is_merged, learned.retired) == (
        MemoryType.COMPETENCE,
        "project:x",
        False,
        (),
    )
    assert await block(memory, lesson.id) == {
        "schema_version": 2,
        "timestamp": "2026-06-01T12:00:01Z",
        "task": "ship the parrot",
        "trigger": "deploying parrots",
        "mistake": "untested",
        "anti_pattern": "",
        "solution": "test first",
        "correct_pattern": "",
        "code_example": "",
        "domains": ["birds", "ops"],
        "confidence": 0.9,
        "source_challenge_hash": "",
        "verified": False,
        "verification_attempted": False,
        "retrievals": 0,
        "helpful_retrievals": 0,
        "last_retrieved_at": None,
        "source": "self_play",
        "frequency": 1,
        "graduated": False,
    }


async def test_an_equal_task_is_merged_within_its_scope_and_sensitivity(memory: Memory) -> None:
    first = (await learn(memory, "Ship the parrot", scope="a")).captured.primary.id
    again = await learn(memory, "ship  THE parrot", scope="a")
    assert again.is_merged
    assert again.captured.primary.id == first
    assert again.captured.primary.version == 1  # nothing new was said
    more = await learn(memory, "ship the párrot", "ask Sam", scope="a", verified=True)
    assert (more.captured.primary.id, more.captured.primary.version) == (first, 2)
    lesson = await block(memory, first)
    assert (lesson["frequency"], lesson["solution"], lesson["verified"]) == (3, "ask Sam\ntest first", False)
    assert "ask Sam" in ((await memory.record(first)).text or "")
    sources = ((await memory.record(first)).provenance or {})["sources"]
    assert len(sources) == 3
    others: list[dict[str, Any]] = [{"scope": "b"}, {"scope": "a", "sensitivity": Sensitivity.HIGH}, {}]
    for elsewhere in others:
        assert not (await learn(memory, "ship the parrot", **elsewhere)).is_merged
    assert await tasks(memory, query="parrot", scope="b") == ["ship the parrot", "ship the parrot"]


async def test_a_lesson_is_learned_once_for_each_key_of_a_request(memory: Memory) -> None:
    first = await learn(memory, "ship", idempotency_key="k")
    again = await learn(memory, "ship", idempotency_key="k")
    assert again.captured.replayed
    assert (await block(memory, first.captured.primary.id))["frequency"] == 1


async def test_lessons_of_one_batch_are_merged_and_retired_as_single_ones_are(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", 3)
    drawn = [(0, 0.9), (1, 0.1), (0, 0.5), (2, 0.3), (3, 0.1), (4, 0.9), (1, 0.2), (5, 0.1)]
    shelves = []
    for size in (1, 3, len(drawn)):
        trust = trust_of(tenant=f"batches of {size}")
        at = memory.clock.now()
        requests = [
            LearnLesson(task=f"task {task}", solution="do it", confidence=share, timestamp=at).as_capture()
            for task, share in drawn
        ]
        for start in range(0, len(requests), size):
            await memory.capture.capture(trust, requests[start : start + size], batch=True)
        found = await memory.lessons.find(trust, first=100)
        blocks = [(one.payload or {})["lesson"] for one in found]
        shelves.append(sorted((one["task"], one["frequency"], one["confidence"]) for one in blocks))
    assert len(shelves[0]) == 3
    assert shelves[0] == shelves[1] == shelves[2]


async def test_lessons_learned_at_once_are_merged_and_never_more_than_are_kept(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", 3)
    await asyncio.gather(*(learn(memory, f"task {number % 5}") for number in range(15)))
    assert len(await tasks(memory)) == 3


async def test_lessons_of_many_groups_and_the_newest_of_a_large_one_are_found(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.records.lessons.MOST_LOCKED", 3)
    levels, asked = (Sensitivity.PUBLIC, Sensitivity.LOW, Sensitivity.HIGH), ("a", "b", "c", "d")
    for level in levels:
        for task in asked:
            await learn(memory, task, sensitivity=level)
    memory.clock.forward(timedelta(seconds=1))
    again = [LearnLesson(task="d", solution="test twice", sensitivity=level).as_capture() for level in levels]
    merged = await memory.capture.capture(memory.trust, again, batch=True)
    assert [(await block(memory, one.primary.id))["frequency"] for one in merged] == [2] * len(levels)
    assert sorted(await tasks(memory)) == sorted(asked * len(levels))
    await told(memory, limit=50)
    dropped = await memory.lessons.drop(memory.trust, retrievals=1, fraction=1)
    assert len(dropped) == 3 * len(levels)
    assert await tasks(memory) == ["a"] * len(levels)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 6), st.sampled_from([0.1, 0.5, 0.9]), st.booleans(), st.sampled_from(["a", "b"]), st.booleans()
    ),
    min_size=4,
    max_size=9,
)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, number=st.uuids())
async def test_the_shelf_of_a_scope_holds_what_the_model_keeps(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[int, float, bool, str, bool]], number: UUID
) -> None:
    """After each lesson the scope has the lessons that the model keeps, and the other ones are still there."""
    kept = 3
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", kept)
    trust = trust_of(tenant=f"t{number.hex[:12]}")
    shelf: dict[tuple[str, bool], dict[UUID, Standing]] = {}
    retired: set[UUID] = set()
    for task, confidence, verified, scope, is_high in steps:
        memory.clock.forward(timedelta(seconds=1))
        done = await memory.lessons.learn(
            trust,
            LearnLesson(
                task=f"task {task}",
                solution="do it",
                confidence=confidence,
                verified=verified,
                scope=scope,
                sensitivity=Sensitivity.HIGH if is_high else Sensitivity.LOW,
            ),
        )
        own = shelf.setdefault((scope, is_high), {})
        id_, now = done.captured.primary.id, memory.clock.now()
        before = own.get(id_)
        assert done.is_merged == (before is not None)
        own[id_] = Standing(
            learned_at=now,
            confidence=max(confidence, before.confidence if before else 0),
            verified=verified or (before is not None and before.verified),
            frequency=1 + (before.frequency if before else 0),
        )
        gone = beyond(own, kept=kept)
        assert set(done.retired) == set(gone)
        for one in gone:
            del own[one]
        retired |= set(gone)
    listed = await memory.lessons.find(trust, first=100)
    assert {one.id for one in listed} == {id_ for own in shelf.values() for id_ in own}
    for id_ in retired:
        old = await memory.lookup.record(trust, id_)
        assert old is not None
        assert (old.state, old.salience) == (RecordState.SUPERSEDED, 0)


async def test_a_playbook_without_a_query_tells_the_last_learned_and_with_one_what_shares_words(memory: Memory) -> None:
    assert await told(memory) == ""
    await learn(memory, "parse a python file", trigger="Python syntax errors")
    await learn(memory, "deploy the parrot", trigger="shipping parrots")
    recent = await told(memory, limit=1)
    assert recent.startswith("## RECENT LESSONS\n")
    assert "shipping parrots" in recent
    assert "Python" not in recent
    about = await told(memory, query="why does the syntax of this file fail?")
    assert about.startswith("## RELEVANT LESSONS\n")
    assert "Python syntax errors" in about
    assert "parrots" not in about
    assert await told(memory, query="What's the capital of France?") == ""
    assert await told(memory, query="of the and is?") == ""


async def test_a_told_lesson_counts_and_is_credited_once_for_each_playbook(memory: Memory) -> None:
    first = (await learn(memory, "one")).captured.primary.id
    second = (await learn(memory, "two")).captured.primary.id
    before = await memory.record(first)
    await told(memory, limit=1)
    await told(memory)
    await told(memory, is_counted=False)
    assert ((await block(memory, first))["retrievals"], (await block(memory, second))["retrievals"]) == (1, 2)
    assert sorted(await memory.lessons.credit(memory.trust)) == sorted([first, second])
    assert await memory.lessons.credit(memory.trust) == []
    memory.clock.forward(timedelta(minutes=10))
    assert await memory.lessons.credit(memory.trust) == []
    await told(memory, limit=1)
    memory.clock.forward(timedelta(seconds=301))
    assert await memory.lessons.credit(memory.trust) == []  # outside the window
    assert await memory.lessons.credit(memory.trust, window_s=302) == [second]
    counted = [await block(memory, id_) for id_ in (first, second)]
    assert [(one["retrievals"], one["helpful_retrievals"]) for one in counted] == [(1, 1), (3, 2)]
    assert counted[0]["last_retrieved_at"] == "2026-06-01T12:00:02Z"
    after = await memory.record(first)
    assert (after.version, after.updated_at) == (before.version, before.updated_at)  # statistics are no revision
    assert len((await memory.lookup.history(memory.trust, first)).versions) == 1


async def test_counts_stay_with_the_lesson_when_it_is_merged_or_superseded(memory: Memory) -> None:
    lesson = (await learn(memory, "one")).captured.primary
    await told(memory)
    await memory.lessons.credit(memory.trust)
    await learn(memory, "one", "ask Sam")
    assert [(await block(memory, lesson.id))[name] for name in ("retrievals", "helpful_retrievals")] == [1, 1]
    payload = (await memory.record(lesson.id)).payload or {}
    request = Supersede(record_id=lesson.id, payload=payload, rationale="again")
    newer = (await memory.revision.revise(memory.trust, request)).record.id
    assert [(await block(memory, newer))[name] for name in ("retrievals", "helpful_retrievals")] == [1, 1]
    await told(memory)
    assert (await block(memory, newer))["retrievals"] == 2
    assert await tasks(memory) == ["one"]


async def test_only_the_actor_who_was_told_credits_and_only_what_it_may_change(memory: Memory) -> None:
    await learn(memory, "one", scope="a")
    await learn(memory, "unscoped")
    agent = trust_of(actor="agent", access=Access.WRITE, scopes={"a"}, ceiling=Sensitivity.LOW)
    other = trust_of(actor="other", access=Access.WRITE, scopes={"a"})
    await told(memory, agent)
    assert await memory.lessons.credit(other) == []
    credited = await memory.lessons.credit(agent)
    assert [(await block(memory, id_))["task"] for id_ in credited] == ["one", "unscoped"]
    reader = trust_of(actor="reader", access=Access.READ, scopes={"a"})
    assert "one" in await told(memory, reader)
    with pytest.raises(Forbidden):
        await memory.lessons.credit(reader)
    with pytest.raises(Forbidden):
        await learn(memory, "x", trust=reader)


async def test_nothing_hidden_is_listed_told_or_moves_what_is_kept(memory: Memory) -> None:
    await learn(memory, "low", scope="a")
    await learn(memory, "high", scope="a", sensitivity=Sensitivity.HIGH)
    await learn(memory, "elsewhere", scope="b")
    low = trust_of(access=Access.WRITE, scopes={"a"}, ceiling=Sensitivity.LOW)
    assert await tasks(memory, low) == ["low"]
    assert await tasks(memory, low, query="high elsewhere low") == ["low"]
    text = await told(memory, low)
    assert "low" in text
    assert "high" not in text
    assert "elsewhere" not in await memory.lessons.failures(low)
    with pytest.raises(Forbidden):
        await memory.lessons.find(low, scope="b")
    assert await tasks(memory, scope="b") == ["elsewhere"]


async def test_lessons_are_found_by_window_source_and_trigger(memory: Memory) -> None:
    await learn(memory, "old", source="self_play", trigger="Büro")
    memory.clock.forward(timedelta(days=6))
    await learn(memory, "week")
    memory.clock.forward(timedelta(hours=20))  # it is 8 o'clock
    await learn(memory, "today", source="self_play")
    assert await tasks(memory, window=Window.TODAY) == ["today"]
    assert await tasks(memory, window=Window.TODAY, zone=zone_of("-10:00", path=["timeZone"])) == ["today", "week"]
    assert await tasks(memory, window=Window.WEEK) == ["today", "week", "old"]
    memory.clock.forward(timedelta(days=1))
    assert await tasks(memory, window=Window.WEEK) == ["today", "week"]
    assert await tasks(memory, source="self_play") == ["today", "old"]
    assert await tasks(memory, source="self_play", first=1) == ["today"]
    assert await tasks(memory, trigger="BURO") == ["old"]
    assert await tasks(memory, trigger="week") == ["week"]
    assert await tasks(memory, trigger="wee") == []


async def test_a_lesson_is_verified_and_removed(memory: Memory) -> None:
    id_ = (await learn(memory, "one", mistake="untested")).captured.primary.id
    fact = (await memory.observe("parrot", "likes", "seeds")).primary.id
    await told(memory)
    await memory.revision.revise(memory.trust, VerifyLesson(record_id=id_, verified=True, rationale="tried"))
    lesson = await block(memory, id_)
    assert (lesson["verified"], lesson["verification_attempted"], lesson["retrievals"]) == (True, True, 1)
    for change in (
        VerifyLesson(record_id=fact, verified=True, rationale="x"),
        RemoveLesson(record_id=fact, rationale="x"),
    ):
        with pytest.raises(InvalidInput, match="no lesson"):
            await memory.revision.revise(memory.trust, change)
    assert "untested" in await memory.lessons.failures(memory.trust)
    await memory.revision.revise(memory.trust, RemoveLesson(record_id=id_, rationale="wrong"))
    assert (await memory.record(id_)).state is RecordState.RETRACTED
    assert await tasks(memory) == []
    assert await memory.lessons.failures(memory.trust) == ""
    assert not (await learn(memory, "one")).is_merged  # a removed lesson is learned anew


async def test_unhelpful_lessons_are_dropped_a_quarter_at_a_time(memory: Memory) -> None:
    ids = [(await learn(memory, f"task {number}", confidence=number / 10)).captured.primary.id for number in range(5)]
    for _ in range(5):
        await told(memory, limit=4)  # not the oldest
    assert await memory.lessons.drop(memory.trust, retrievals=6) == []
    assert await memory.lessons.drop(memory.trust) == [ids[1]]
    assert await tasks(memory) == ["task 4", "task 3", "task 2", "task 0"]
    assert (await memory.record(ids[1])).state is RecordState.SUPERSEDED
    assert await memory.lessons.drop(memory.trust, scope="nowhere") == []
    assert len(await memory.lessons.drop(memory.trust, fraction=1)) == 3


async def test_a_captured_competence_with_a_lesson_is_one(memory: Memory) -> None:
    content = {
        "kind": "competence",
        "skill_name": "shipping",
        "triggers": [{"signal": "ship"}],
        "recipe": [{"step": "test"}],
        "lesson": {"task": "ship it", "solution": "test"},
    }
    captured = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.COMPETENCE)
    again = await learn(memory, "Ship it", "ask Sam")
    assert again.captured.primary.id == captured.primary.id
    merged = again.captured.primary.payload or {}
    assert merged["skill_name"] == "shipping"
    assert [step["step"] for step in merged["recipe"]] == ["ask Sam", "test"]
    odd = {**content, "skill_name": "odd", "lesson": {"task": 7, "retrievals": "many", "domains": "x"}}
    await memory.remember(SourceKind.OBSERVATION, odd, proposed_type=MemoryType.COMPETENCE)
    assert await tasks(memory) == ["ship it"]


async def test_what_is_out_of_bounds_is_refused(memory: Memory) -> None:
    wrongs: list[dict[str, Any]] = [
        {"task": " "},
        {"solution": ""},
        {"confidence": 1.1},
        {"confidence": float("nan")},
        {"domains": ("",)},
        {"trigger": "x" * 2_001},
        {"source": " "},
        {"task": "\x00"},
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            await memory.lessons.learn(memory.trust, LearnLesson(**{"task": "t", "solution": "s", **wrong}))
    lists: list[dict[str, Any]] = [{"first": 0}, {"first": 101}, {"query": "\x00"}, {"source": "x" * 20_001}]
    for asked in lists:
        with pytest.raises(InvalidInput):
            await memory.lessons.find(memory.trust, **asked)
    playbooks: list[dict[str, Any]] = [{"limit": 0}, {"limit": 51}, {"token_budget": 63}]
    for asked in playbooks:
        with pytest.raises(InvalidInput):
            await memory.lessons.playbook(memory.trust, **asked)
    for window_s in (0, service.MAX_CREDITED_S + 1):
        with pytest.raises(InvalidInput):
            await memory.lessons.credit(memory.trust, window_s=window_s)
    with pytest.raises(InvalidInput):
        await memory.lessons.drop(memory.trust, fraction=1.5)


async def test_the_counts_of_a_lesson_go_with_it(memory: Memory) -> None:
    id_ = (await learn(memory, "one")).captured.primary.id
    found = await memory.lessons.playbook(memory.trust)
    assert found.lessons == (id_,)
    await memory.revision.revise(memory.trust, Delete(record_id=id_, rationale="away"))
    await memory.retrieve.log.flush()  # the entry is written without the lesson
    assert await memory.lessons.credit(memory.trust) == []
    assert await memory.lessons.credit_playbook(memory.trust, found.id, lessons=[id_]) == []


@dataclass
class Embedded:
    """What embeds the lessons of a memory: the service that is asked, questions, and the job for records."""

    server: EmbeddingServer
    questions: QuestionEmbedder
    job: Embed

    async def fill(self, memory: Memory) -> None:
        while (await self.job.run_once(memory.clock.now())).more:
            pass
        self.questions._model_until = 0  # what is remembered for 2 s


@pytest.fixture
async def embedded(memory: Memory) -> AsyncIterator[Embedded]:
    """The memory's lessons with an embedder."""
    async with (
        embedding_server() as server,
        EmbeddingEndpoint(server.url, model="small", first_pause_s=0.01, timeout=httpx.Timeout(5.0)) as embedder,
    ):
        questions = QuestionEmbedder(memory.database, embedder, patience_s=5.0)
        memory.lessons = Lessons(
            memory.database,
            memory.directory,
            memory.clock,
            memory.capture,
            memory.retrieve.log,
            embedder=embedder,
            questions=questions,
        )
        yield Embedded(server, questions, Embed(replace(resources_of(memory), embedder=embedder)))


@pytest.mark.parametrize("has_vector", [True, False], ids=["stored vector", "no vector yet"])
async def test_a_lesson_that_says_the_same_in_other_words_is_merged(
    memory: Memory, embedded: Embedded, has_vector: bool
) -> None:
    first = await learn(memory, "repair the automobile", scope="a")
    await learn(memory, "feed the zebra", scope="a")
    if has_vector:
        await embedded.fill(memory)
    assert not (await learn(memory, "repair the vehicle", scope="b")).is_merged
    assert not (await learn(memory, "wash the vehicle of somebody else", "use soap", scope="a")).is_merged
    assert not (await learn(memory, "never repair the vehicle", scope="a")).is_merged
    again = await learn(memory, "repair the vehicle", scope="a")
    assert again.is_merged
    assert again.captured.primary.id == first.captured.primary.id
    assert (await block(memory, first.captured.primary.id))["task"] == "repair the automobile"


async def test_a_playbook_finds_by_meaning_and_by_words_what_has_no_vector(memory: Memory, embedded: Embedded) -> None:
    await learn(memory, "mend an automobile", "mend it")
    await learn(memory, "feed a zebra", "with hay")
    await embedded.fill(memory)
    await learn(memory, "mend a zebra pen")
    assert await tasks(memory, query="mend a vehicle: mend an automobile, it is a lesson") == [
        "mend an automobile",
        "mend a zebra pen",
    ]
    assert await told(memory, query="capital of France") == ""
    embedded.server.fault = lambda _: Reply(500)
    assert await tasks(memory, query="zebra") == ["mend a zebra pen", "feed a zebra"]
    assert (await learn(memory, "feed A zebra")).is_merged  # by the task alone


async def test_no_lesson_from_the_encryption_level_on_is_sent(memory: Memory, embedded: Embedded) -> None:
    await embedded.fill(memory)
    sent = len(embedded.server.texts)
    for sensitivity in (Sensitivity.HIGH, Sensitivity.HYPER):
        await learn(memory, "guarded", sensitivity=sensitivity)
        await learn(memory, "guarded", sensitivity=sensitivity)
    assert len(embedded.server.texts) == sent
    await learn(memory, "open postgres://app:hunter2@db/main", sensitivity=Sensitivity.LOW)
    assert not [text for text in embedded.server.texts if "hunter2" in text]
