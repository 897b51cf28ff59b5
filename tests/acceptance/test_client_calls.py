"""The calls of the Python client against a service: what they store, return and raise, async and sync alike."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from fix_memory import fresh_database
from fix_service import Service, running

from stratagraph_client import (
    AsyncMemory,
    InvalidInput,
    Memory,
    MemoryType,
    NotFound,
    Outcome,
    StratagraphError,
    Unavailable,
    VersionConflict,
)
from stratagraph_client._async.thread import BATCH
from stratagraph_client.operations.documents import OPERATIONS
from stratagraph_client.operations.enums import ChangeKind, RecordState
from stratagraph_client.operations.input_types import ChangeFilter, RecordFilter, ReportOutcomeInput, RetrieveGraphInput


@pytest.fixture
def memory(service_url: str) -> Iterator[Memory]:
    with Memory(service_url, source="tests") as opened:
        yield opened


def names(memory: Memory, *types: MemoryType) -> list[str]:
    """Return the names of current records of these types, the oldest first."""
    found = memory.records(RecordFilter(types=list(types), states=[RecordState.ACTIVE]), page_size=3)
    return [record.name or "" for record in found][::-1]


def test_what_is_remembered_is_recalled_corrected_explained_and_forgotten(memory: Memory) -> None:
    told = memory.remember("Alice moved to Berlin in May", about="Alice", tags=["home"])
    assert told.is_new
    assert not memory.remember("Alice moved to Berlin in May", about="Alice").is_new
    found = memory.recall("Where does Alice live?")
    assert (found.memories[0].id, found.nothing_known) == (told.id, False)
    assert "Berlin" in found.text
    right = memory.correct(told.id, "Alice moved to Bonn in May", "She told us.", expected_version=None)
    assert (right.replaced, right.id == told.id) == ((told.id,), False)
    found = memory.recall("Where does Alice live?")
    assert "Bonn" in found.text
    assert "Berlin" not in found.text
    why = memory.explain(right.id)
    assert (why.text, why.state, why.type) == ("Alice: Alice moved to Bonn in May", "ACTIVE", "SEMANTIC")
    assert [(one.kind, one.ref) for one in why.sources] == [("human", "tests")]
    assert ("supersedes", True, told.id) in [(one.predicate, one.outgoing, one.id) for one in why.related]
    assert [one.reason for one in why.changes] == ["She told us."]
    before = memory.explain(told.id)
    assert before.state == "SUPERSEDED"
    assert [one.state for one in before.versions] == ["SUPERSEDED", "ACTIVE", "ACTIVE"]  # it was told twice
    memory.forget(right.id, "She asked us to.")
    assert memory.recall("Where does Alice live?", types=[MemoryType.SEMANTIC]).nothing_known
    memory.forget(told.id, "By law.", erase=True)
    with pytest.raises(NotFound) as gone:
        memory.explain(told.id)
    assert gone.value.path == ["id"]


def test_a_fact_replaces_others_where_it_is_told_to_or_its_predicate_has_one_value(memory: Memory) -> None:
    bergen = memory.remember_fact("Tove", "lives_in", "Bergen")
    oslo = memory.remember_fact("Tove", "lives_in", "Oslo")
    assert (oslo.replaced, oslo.in_doubt) == ((), ())  # somebody may live in two places
    paris = memory.remember_fact("Tove", "lives_in", "Paris", replaces=True)
    assert set(paris.replaced) == {bergen.id, oslo.id}
    rome = memory.remember_fact("Tove", "lives_in", "Rome")  # has one value from then on
    assert rome.replaced == (paris.id,)
    young = memory.remember_fact("Tove", "age", 40)
    assert memory.remember_fact("Tove", "age", 41).replaced == (young.id,)


def test_the_text_of_an_answer_is_that_of_its_memories_and_a_budget_cuts_it_from_the_end(memory: Memory) -> None:
    with memory.thread() as thread:
        for text in ("oiled", "red", "repaired"):
            thread.say("user", f"The crane K3 is {text}")
            memory.remember(f"The crane K3 has been {text}", about="crane K3", mentions=["Bo", "hook"])
    for limit in (1, 3, 20):
        for token_budget in (5, 40, 4_000):
            found = memory.recall("crane K3", limit=limit, token_budget=token_budget)
            lines = found.text.splitlines()
            assert 0 < len(found.memories) <= limit
            assert len(lines) <= len(found.memories)
            assert (len(lines) == 0) if token_budget == 5 else lines
            if token_budget == 4_000:
                assert len(lines) == len(found.memories)
            for line in lines:
                assert any(one.text in line for one in found.memories), line


def test_facts_replace_what_they_contradict_and_a_stale_correction_is_refused(memory: Memory) -> None:
    memory.operations.predicates()
    first = memory.remember_fact("Bo", "birth_year", 1990)
    again = memory.correct(
        first.id,
        {"subject": "Bo", "predicate": "birth_year", "object": 1991, "validity": {"mode": "global"}},
        "A slip.",
        expected_version=1,
    )
    with pytest.raises(VersionConflict) as refused:
        memory.correct(again.id, "1992", "Another.", expected_version=7)
    assert refused.value.current == 1
    with pytest.raises(InvalidInput) as wrong:
        memory.correct(again.id, "1992", "", expected_version=1)
    assert wrong.value.path is not None
    assert wrong.value.path[-1] == "rationale"


def test_a_thread_captures_turns_and_calls_reports_and_credits(memory: Memory) -> None:
    told = memory.remember("The staging database is called bluebird", about="staging")
    lesson = memory.learn_lesson("migrate the database", "Take a backup first.", mistake="Data were lost.")
    with memory.thread() as thread:
        thread.say("user", "Migrate the staging database bluebird")
        found = thread.recall("migrate the staging database")
        assert told.id in {one.id for one in found.memories}
        assert "user:" not in found.text  # the thread's own turns are left out
        assert thread.lessons("migrate the database").lesson_ids == (lesson.id,)

        @thread.captured
        def migrate(name: str, *, dry: bool = False) -> str:
            if dry:
                raise PermissionError("not allowed")
            return f"{name} migrated"

        assert migrate("bluebird") == "bluebird migrated"
        with pytest.raises(PermissionError):
            migrate("bluebird", dry=True)
        with thread.tool("look", {"at": object}) as call:
            call.result = {"bytes": b"\xff", "number": float("nan")}
        thread.say("assistant", "Done.")
    assert thread.outcome is Outcome.SUCCESS
    events = [one for one in memory.records(RecordFilter(types=[MemoryType.EPISODIC])) if one.name]
    said = {one.name or "" for one in events}
    assert {"user: Migrate the staging database bluebird", "assistant: Done."} <= said
    calls = {one.name: one.payload for one in events if (one.name or "").startswith(("migrate", "look"))}
    assert len(calls) == 3
    assert "PermissionError" in str(calls)
    whole = memory.operations.thread(thread.id)
    assert whole is not None
    assert [one.name for one in whole.episodes.nodes] == [f"Episode {thread.id}, success"]
    page = memory.operations.lesson_page(query="migrate the database")
    assert [one.id for one in page.nodes] == [lesson.id]
    typed = memory.operations.typed_record(lesson.id)
    assert typed is not None
    helped = 1 + (lesson.id in {one.id for one in found.memories})  # as a lesson, and perhaps as a memory
    assert f"helpfulRetrievals={helped}," in repr(typed.typed)
    ids = [one.id for one in found.memories]
    again = memory.operations.report_outcome(
        ReportOutcomeInput(retrievalId=found.retrieval_id, outcome=Outcome.SUCCESS, usedRecordIds=ids)
    )
    assert again.replayed  # the end of the thread has reported it
    assert told.id in again.reinforcedIds


def test_the_exception_of_a_block_is_the_outcome_and_stays_the_exception(memory: Memory) -> None:
    error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as raised, memory.thread("t1") as thread:  # noqa: PT012
        thread.say("user", "Divide")
        raise error
    assert raised.value is error
    assert thread.outcome is Outcome.FAILURE
    whole = memory.operations.thread("t1")
    assert whole is not None
    assert [one.name for one in whole.episodes.nodes] == ["Episode t1, failure"]
    with memory.thread("nothing happened"):
        pass
    assert memory.operations.thread("nothing happened") is None


def test_a_capture_that_is_refused_is_raised_at_the_end_and_the_others_are_stored(memory: Memory) -> None:
    with pytest.raises(StratagraphError) as refused, memory.thread("t2") as thread:  # noqa: PT012
        thread.tool_called("good", {"n": 1}, "yes")
        thread.tool_called("bad", {"n": 2}, "no\0good")
        thread.tool_called("fine", {"n": 3}, "yes")
        said = thread.say("assistant", "All is well.")
        assert said.text == "assistant: All is well."
    assert refused.value.code == "INVALID_INPUT"
    events = names(memory, MemoryType.EPISODIC)
    assert [one.split("(")[0] for one in events if one.startswith(("good", "bad", "fine"))] == ["good", "fine"]
    assert "Episode t2, success" in events


def test_calls_of_tools_survive_a_service_that_is_away(database_url: str, tmp_path: Path) -> None:
    settings = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(**settings) as first:
        url = first.url
        assert url is not None
        with Memory(url) as memory, memory.thread("t3") as thread:
            thread.say("user", "Count")
            first.stop()
            memory.operations.timeout_s = 0.2
            for number in range(2 * BATCH):
                with thread.tool("count", {"n": number}) as call:
                    call.result = number
            with pytest.raises(Unavailable):
                thread.say("assistant", "Counted")
            memory.operations.timeout_s = 20
            with running(**settings, port=url.rsplit(":", 1)[1]):
                thread.flush()
                stored = memory.records(RecordFilter(types=[MemoryType.EPISODIC]), page_size=100)
                counts = [one.name for one in stored if (one.name or "").startswith("count")]
                assert len(counts) == len(set(counts)) == 2 * BATCH
                thread.close(Outcome.PARTIAL, "The service was away.")


async def test_a_thread_that_is_cancelled_keeps_what_was_captured(service_url: str) -> None:
    async with AsyncMemory(service_url) as memory:
        entered = asyncio.Event()

        async def work() -> None:
            async with memory.thread("t4") as thread:
                await thread.tool_called("first", {}, 1)
                entered.set()
                async with thread.tool("second", {}):
                    await asyncio.sleep(3600)

        task = asyncio.create_task(work())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        page = await memory.operations.records(RecordFilter(types=[MemoryType.EPISODIC]))
        assert {(one.name or "").split("(")[0] for one in page.nodes} >= {"first", "second"}
        whole = await memory.operations.thread("t4")
        assert whole is not None
        assert whole.episodes.nodes == [] or "success" not in (whole.episodes.nodes[0].name or "")
        call = asyncio.create_task(memory.recall("first"))  # and a cancelled call leaves the client usable
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await memory.recall("second")).retrieval_id


async def test_a_client_that_is_handed_a_sequence_sees_the_writes_of_another(service: Service) -> None:
    assert service.url is not None
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(AsyncMemory(service.url))
        assert writer.sequence is None
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(writer.remember(f"Fact {number} about the harbour"))
        sequence = writer.sequence
        assert sequence is not None
        reader = await stack.enter_async_context(AsyncMemory(service.url, after=sequence))
        assert reader.sequence == sequence
        found = await reader.recall("the harbour", types=[MemoryType.SEMANTIC])
        assert len(found.memories) == 8
        assert (await reader.operations.retrieve_graph(RetrieveGraphInput(taskDescriptor="harbour"))).roots
        later = await reader.remember("A ninth fact about the harbour")
        assert reader.sequence == later.sequence
        wrong = await stack.enter_async_context(AsyncMemory(service.url, after="x" * 22))
        with pytest.raises(InvalidInput) as refused:
            await wrong.recall("the harbour")
        assert refused.value.path == ["atLeastSequence"]
        # own tokens that the database does not know, as after a restore, are left out
        await reader.recall("the harbour")
        reader.operations.carried.end(reader.operations.carried.begin(), "y" * 22, replayed=False)
        assert (await reader.recall("the harbour")).memories
        assert reader.sequence is None


def test_every_connection_can_be_read_to_its_end(memory: Memory) -> None:
    for number in range(5):
        memory.remember(f"Note {number} on boats", tags=[f"tag{number}"])
    assert len(list(memory.records(RecordFilter(types=[MemoryType.SEMANTIC]), page_size=2))) == 5
    assert {one.name for one in memory.every(memory.operations.tags_in_use, first=2)} == {f"tag{n}" for n in range(5)}
    record = next(iter(memory.records()))
    operations = memory.operations
    assert len(list(memory.every(operations.history, record.id, first=1))) == 1
    assert len(list(memory.every(operations.changes, memory.position()))) == 0
    paged = {name for name, one in OPERATIONS.items() if "{ hasNextPage endCursor }" in one.text}
    assert paged >= {"Records", "History", "AuditLog", "Fading", "Disputes", "LessonPage", "EntityPage", "Changes"}


def test_changes_can_be_followed_without_a_position(service_url: str, memory: Memory) -> None:
    position = memory.position()
    memory.remember("Before the mast")
    with Memory(service_url) as writer:
        for change in memory.changes(position, ChangeFilter(types=[MemoryType.SEMANTIC])):
            assert change.kind is ChangeKind.CREATED
            assert change.record is not None
            assert "mast" in (change.record.name or "")
            break
        writer.remember("After it")
    with pytest.raises(InvalidInput) as refused:
        next(iter(memory.changes("nonsense")))
    assert refused.value.path == ["after"]


CALLS = ["remember", "fact", "recall", "correct", "forget", "thread", "lesson", "records", "explain", "wrong"]


class Story:
    """A random sequence of calls, made by a sync or an async client; `told` is what they returned, without ids."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.ids: list[str] = []
        self.told: list[Any] = []

    def steps(self) -> Iterator[tuple[str, int]]:
        for _ in range(25):
            yield self._chance.choice(CALLS), self._chance.randrange(6)

    def numbered(self, id_: str) -> int:
        if id_ not in self.ids:
            self.ids.append(id_)
        return self.ids.index(id_)

    async def run(self, memory: Any, *, is_async: bool) -> list[Any]:  # noqa: PLR0912
        async def done(value: Any) -> Any:
            return await value if is_async else value

        for call, number in self.steps():
            about = f"Person {number}"
            id_ = self.ids[number % len(self.ids)] if self.ids else "none"
            try:
                match call:
                    case "remember":
                        told = await done(memory.remember(f"{about} likes tea", about=about))
                        self.told.append((self.numbered(told.id), told.text, told.is_new))
                    case "fact":
                        told = await done(memory.remember_fact(about, "works_at", f"Firm {number % 2}"))
                        self.told.append((self.numbered(told.id), told.text, told.is_new, len(told.in_doubt)))
                    case "recall":
                        found = await done(memory.recall(f"What does {about} like?"))
                        self.told.append(sorted((one.text, one.state, one.type) for one in found.memories))
                    case "correct":
                        told = await done(memory.correct(id_, f"Firm {number}", "It moved."))
                        self.told.append((self.numbered(told.id), told.text))
                    case "forget":
                        self.told.append(await done(memory.forget(id_, "No reason.", erase=number == 0)))
                    case "thread":
                        if is_async:
                            async with memory.thread(f"t{number}") as thread:
                                await thread.say("user", f"Hello {number}")
                                await thread.tool_called("greet", {"n": number}, "hi")
                        else:
                            with memory.thread(f"t{number}") as thread:
                                thread.say("user", f"Hello {number}")
                                thread.tool_called("greet", {"n": number}, "hi")
                    case "lesson":
                        told = await done(memory.learn_lesson(f"task {number}", "Do it slowly."))
                        self.told.append((self.numbered(told.id), told.is_new))
                    case "records":
                        records = memory.records(page_size=7)
                        found = [one async for one in records] if is_async else list(records)
                        self.told.append([(one.name, one.type_, one.state) for one in found])
                    case "explain":
                        why = await done(memory.explain(id_))
                        self.told.append((why.text, why.state, [one.predicate for one in why.related]))
                    case "wrong":
                        await done(memory.remember("", tags=[""]))
            except StratagraphError as error:
                self.told.append((type(error).__name__, error.code, error.path, error.retryable))
        return self.told


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 12))])
async def test_async_and_sync_tell_the_same_story_of_two_equal_stores(
    postgres_url: str, template_database: str, tmp_path: Path, seed: int
) -> None:
    told = []
    for is_async in (True, False):
        with (
            fresh_database(postgres_url, template_database) as url,
            running(database_url=url, single_user="on", data_dir=str(tmp_path / str(is_async))) as service,
        ):
            assert service.url is not None
            story = Story(seed)
            if is_async:
                async with AsyncMemory(service.url) as memory:
                    told.append(await story.run(memory, is_async=True))
            else:
                with Memory(service.url) as blocking:
                    told.append(await story.run(blocking, is_async=False))
    assert told[0] == told[1]
    assert len(told[0]) > 10
