"""An erased source stays erased: its captures are refused for everybody, and imports leave it out and go on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fix_git import new_repository
from fix_memory import Memory, trust_of

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.imports.git_history import import_history, open_repository
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise.request import Delete
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, SourceErased
from stratagraph.store.model.trust import Trust


async def erase(memory: Memory, **target: Any) -> None:
    await memory.erasure.erase(memory.trust, Erase(rationale="ticket 4711", **target))


async def texts(memory: Memory) -> list[str]:
    """The names of the episodic records, episodes of threads excepted."""
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100)
    return sorted(record.name for record in page.records if record.name and not record.name.startswith("Episode "))


async def test_a_capture_with_the_key_of_an_erased_one_is_refused_and_says_why(memory: Memory) -> None:
    kept = await memory.turn("my address is 7 Elm Street", idempotency_key="k")
    await erase(memory, record_id=kept.primary.id)
    for trust in (memory.trust, trust_of(actor="somebody else", access=Access.WRITE)):
        with pytest.raises(SourceErased, match=r"was erased.* use another key") as refused:
            await memory.turn("my address is 7 Elm Street", idempotency_key="k", trust=trust)
        assert refused.value.code == "FORBIDDEN"
        assert refused.value.path == ["idempotencyKey"]
    assert await texts(memory) == []


async def test_an_erased_key_is_refused_in_its_scope_and_sensitivity_only(memory: Memory) -> None:
    kept = await memory.turn("hello", idempotency_key="k", scope="project:a", sensitivity=Sensitivity.MEDIUM)
    await erase(memory, record_id=kept.primary.id)
    others = trust_of(actor="b")
    await memory.turn("hello", idempotency_key="k", scope="project:b", sensitivity=Sensitivity.MEDIUM, trust=others)
    others = trust_of(actor="c")
    await memory.turn("hello", idempotency_key="k", scope="project:a", sensitivity=Sensitivity.LOW, trust=others)
    with pytest.raises(SourceErased):
        await memory.turn("hello", idempotency_key="k", scope="project:a", sensitivity=Sensitivity.MEDIUM)


async def test_erasing_a_scope_or_an_entity_remembers_all_keys(memory: Memory) -> None:
    await memory.turn("one", idempotency_key="one", scope="user:ann")
    mentions = {"mentions": [{"name": "Ann Other", "type": "Person"}]}
    named = await memory.turn("two", idempotency_key="two", context=mentions)
    await erase(memory, scope="user:ann")
    relations = (await memory.lookup.relations(memory.trust, [named.primary.id]))[named.primary.id]
    (ann,) = {edge.target for edge in relations if edge.predicate == "mentions_entity"}
    await erase(memory, entity_id=ann)
    with pytest.raises(SourceErased):
        await memory.turn("one", idempotency_key="one", scope="user:ann")
    with pytest.raises(SourceErased):
        await memory.turn("two", idempotency_key="two")


async def test_deleting_is_no_erasure_until_what_is_left_is_erased(memory: Memory) -> None:
    """The key of a deleted record is still used; once its traces are erased, the key is refused."""
    kept = await memory.observe("Ann", "lives_in", "Elm Street", idempotency_key="k")
    await memory.revision.revise(memory.trust, Delete(record_id=kept.primary.id, rationale="wrong"))
    await memory.observe("Ann", "lives_in", "Elm Street", idempotency_key="k", trust=trust_of(actor="other"))
    await erase(memory, record_id=kept.primary.id)
    with pytest.raises(SourceErased):
        await memory.observe("Ann", "lives_in", "Elm Street", idempotency_key="k", trust=trust_of(actor="third"))


async def test_restoring_needs_admin_access_and_lifts_the_refusal(memory: Memory, tmp_path: Path) -> None:
    file = conversations(tmp_path, {"id": "x", "messages": [said("hello")]})
    await import_traces(memory.capture, memory.trust, file)
    await erase_episodes(memory)
    writer = trust_of(access=Access.WRITE)
    with pytest.raises(Forbidden, match="admin"):
        await import_traces(memory.capture, writer, file, restore_erased=True)
    summary = await import_traces(memory.capture, memory.trust, file, restore_erased=True)
    assert (summary.captured, summary.erased) == (1, 0)
    assert await texts(memory) == ["user: hello"]
    again = await import_traces(memory.capture, memory.trust, file)
    assert (again.captured, again.replayed, again.erased) == (0, 1, 0)


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def conversations(path: Path, *lines: dict[str, Any], name: str = "t.jsonl") -> Path:
    file = path / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


async def erase_episodes(memory: Memory, named: str = "") -> None:
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100)
    for record in page.records:
        if record.name and record.name.startswith("Episode ") and named in record.name:
            await erase(memory, record_id=record.id)


async def test_an_erased_conversation_stays_erased_in_any_version_and_the_others_go_in(
    memory: Memory, tmp_path: Path
) -> None:
    first: dict[str, Any] = {"id": "x", "messages": [said("hello"), said("hi", "assistant")], "reward": 1}
    await import_traces(memory.capture, memory.trust, conversations(tmp_path, first))
    await erase_episodes(memory)
    assert await texts(memory) == []
    longer: dict[str, Any] = {"id": "x", "messages": [*first["messages"], said("and my address?")], "reward": 1}
    edited: dict[str, Any] = {"id": "x", "messages": [said("hello!"), said("hi", "assistant")], "reward": 0}
    other = {"id": "y", "messages": [said("another one")]}
    for line in (first, longer, edited):
        summary = await import_traces(memory.capture, memory.trust, conversations(tmp_path, line, other))
        assert summary.erased == len(line["messages"]) + 1  # with the outcome
        assert summary.refused == []
        assert await texts(memory) == ["user: another one"]


async def test_a_conversation_without_an_id_stays_erased_when_it_grows(memory: Memory, tmp_path: Path) -> None:
    messages = [said("hello"), said("hi", "assistant"), said("my address is 7 Elm Street")]
    await import_traces(memory.capture, memory.trust, conversations(tmp_path, {"messages": messages}))
    await erase_episodes(memory)
    longer = {"messages": [*messages, said("thanks")]}
    summary = await import_traces(memory.capture, memory.trust, conversations(tmp_path, longer))
    assert (summary.captured, summary.erased) == (0, 4)


async def test_an_erased_turn_stays_erased_while_its_conversation_goes_on_or_is_edited(
    memory: Memory, tmp_path: Path
) -> None:
    messages = [said("hello"), said("my address is 7 Elm Street"), said("thanks", "assistant")]
    await import_traces(memory.capture, memory.trust, conversations(tmp_path, {"id": "x", "messages": messages}))
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100)
    (secret,) = [record for record in page.records if record.name and "Elm" in record.name]
    await erase(memory, record_id=secret.id)
    longer = {"id": "x", "messages": [*messages, said("bye")]}
    summary = await import_traces(memory.capture, memory.trust, conversations(tmp_path, longer))
    assert (summary.captured, summary.erased, summary.replayed, summary.continued) == (1, 1, 2, 1)
    again = await import_traces(memory.capture, memory.trust, conversations(tmp_path, longer))
    assert (again.captured, again.erased, again.continued) == (0, 1, 0)
    # In the edited version the turn has another place.
    edited = {"id": "x", "messages": [said("good morning"), *messages]}
    summary = await import_traces(memory.capture, memory.trust, conversations(tmp_path, edited))
    assert summary.edited == ["line 1"]
    assert [text for text in await texts(memory) if "Elm" in text] == []


async def test_an_import_leaves_out_erased_commits_and_goes_on(memory: Memory, tmp_path: Path) -> None:
    made = new_repository(tmp_path / "widgets")
    for number in range(4):
        made.write("a.txt", f"{number}\n")
        made.commit(f"Change {number}", author="Ann Other <ann@example.org>" if number == 1 else None)
    await imported(memory, made.path)
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100)
    await erase(memory, record_id=next(record.id for record in page.records if record.name == "Change 1"))
    made.write("a.txt", "more\n")
    made.commit("Change 4")
    summary = await imported(memory, made.path)
    assert (summary.captured, summary.replayed, summary.erased) == (1, 3, 1)
    assert await texts(memory) == ["Change 0", "Change 2", "Change 3", "Change 4"]
    restored = await imported(memory, made.path, restore_erased=True)
    assert (restored.captured, restored.erased) == (1, 0)
    assert await texts(memory) == [f"Change {number}" for number in range(5)]


@pytest.mark.parametrize("are_erased", [False, True], ids=["captured", "erased"])
async def test_a_caller_with_the_keys_of_an_import_changes_nothing_in_what_is_imported(
    memory: Memory, tmp_path: Path, are_erased: bool
) -> None:
    """Neither captures with the keys, refs and threads of its commits and conversations, nor their erasure."""
    made = new_repository(tmp_path / "widgets")
    made.write("a.txt", "one\n")
    made.commit("Change 1")
    file = conversations(tmp_path, {"id": "x", "messages": [said("hello"), said("good bye", "assistant")]})
    requests: list[CaptureRequest] = []
    capture = recording(memory, requests)

    async def import_both() -> list[ImportSummary]:
        commits = await import_history(capture, memory.trust, await open_repository(made.path))
        return [commits, await import_traces(capture, memory.trust, file)]

    undisturbed = await import_both()
    keys = [request.idempotency_key for request in requests]
    assert len(keys) == 3
    await erase(memory, tenant="acme")
    refs = [request.content.get("ref") for request in requests]
    threads = {request.content.get("thread_id") for request in requests}
    for key, ref in zip(keys, refs, strict=True):
        event = {"event_kind": "note", **({"ref": ref} if ref else {}), "summary": "mine"}
        taken = await memory.remember(SourceKind.EVENT, event, idempotency_key=key)
        if are_erased:
            await erase(memory, record_id=taken.primary.id)
    if are_erased:
        for thread in threads - {None}:
            await memory.turn("mine", thread=thread)
        await erase_episodes(memory)
    requests.clear()
    assert await import_both() == undisturbed
    assert [request.idempotency_key for request in requests] == keys


def recording(memory: Memory, recorded: list[CaptureRequest]) -> Capture:
    """The capture service, which adds the requests that it gets to `recorded`."""

    class Recording(Capture):
        async def capture(
            self, trust: Trust, requests: Sequence[CaptureRequest], *, batch: bool = False, restore_erased: bool = False
        ) -> list[Captured]:
            recorded.extend(requests)
            return await super().capture(trust, requests, batch=batch, restore_erased=restore_erased)

    return Recording(memory.database, memory.directory, memory.clock, Policy())


async def imported(memory: Memory, path: Path, **options: Any) -> ImportSummary:
    return await import_history(memory.capture, memory.trust, await open_repository(path), **options)


async def test_an_erasure_and_an_import_at_once_leave_what_one_after_the_other_would(
    memory: Memory, tmp_path: Path
) -> None:
    """What was there when the erasure began stays erased, whatever an import of the same file does meanwhile."""
    lines = [{"id": str(number), "messages": [said(f"turn {number}"), said("ok", "assistant")]} for number in range(60)]
    file = conversations(tmp_path, *lines)
    await import_traces(memory.capture, memory.trust, file, scope="user:ann")
    more = [{"id": line["id"], "messages": [*line["messages"], said("and more")]} for line in lines]
    longer = conversations(tmp_path, *more, name="longer.jsonl")
    summary, _ = await asyncio.gather(
        import_traces(memory.capture, memory.trust, longer, scope="user:ann"),
        erase(memory, scope="user:ann"),
    )
    assert summary.refused == []
    # The new turns may have been stored after the erasure had ended; the erased ones never are.
    assert set(await texts(memory)) <= {"user: and more"}
    for again in (file, longer):
        await import_traces(memory.capture, memory.trust, again, scope="user:ann")
        assert set(await texts(memory)) <= {"user: and more"}


async def test_a_tenant_erased_whole_leaves_no_sources(memory: Memory) -> None:
    kept = await memory.turn("hello", idempotency_key="k")
    await erase(memory, record_id=kept.primary.id)
    await erase(memory, tenant="acme")
    async with memory.database.engine.begin() as connection:
        assert (await connection.exec_driver_sql("SELECT count(*) FROM erased_source")).scalar_one() == 0
