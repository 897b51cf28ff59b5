"""Following session files: however they grow, are cut, moved or read anew, each turn is stored once."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fix_memory import Memory
from session_files import SESSION, claude_code, codex

from stratagraph.memory.imports import watching
from stratagraph.memory.imports.conversation import Called, Returned, Said, Step
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.trace_files import read_documents
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.imports.watching import QUIET_S, SessionWatch
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import StoreUnavailable

SAMPLES = Path(__file__).parents[2] / "data" / "traces"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file be read again without a pause."""
    monkeypatch.setattr(watching, "SHARE", 0)


def watch_of(memory: Memory, *paths: Path, scope: str | None = None, **options: Any) -> SessionWatch:
    return SessionWatch(memory.capture, memory.trust, paths, scope_of=lambda _: scope, **options)


async def looked(watch: SessionWatch, *, later_s: float = 0.0) -> list[ImportSummary]:
    return [summary async for summary in watch.look(time.time() + later_s)]


async def stored(memory: Memory, scope: str) -> list[dict[str, Any]]:
    """What the episodes of a scope tell: who said what, and the calls with their results."""
    page = await memory.lookup.records(
        memory.trust, RecordFilter(types=[MemoryType.EPISODIC], scopes=[scope]), first=100, after=None
    )
    found = []
    for one in page.records:
        if one.name is None or not one.name.startswith("Episode "):
            continue
        record = await memory.lookup.record(memory.trust, one.id)
        assert record is not None
        assert record.payload is not None
        payload = record.payload
        keys = ("id", "tool", "args", "result", "error", "depends_on")
        found.append(
            {
                "thread": payload["thread_id"],
                "outcome": payload.get("outcome"),
                "said": [event["summary"] for event in payload["timeline"]],
                "calls": [{key: call.get(key) for key in keys} for call in payload.get("tool_graph") or ()],
            }
        )
    return sorted(found, key=lambda one: str(one["thread"]))


def written(lines: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def told(*parts: str) -> list[Step]:
    """A conversation: what each part says, with a call after each part that ends in a question mark."""
    steps: list[Step] = []
    for number, part in enumerate(parts):
        steps.append(Said(role="assistant" if number % 2 else "user", text=part))
        if part.endswith("?"):
            steps.append(Called(tool="look", arguments={"at": part}, turn=number, id=f"c{number}"))
            steps.append(Returned(text=f"seen: {part}", id=f"c{number}"))
    return steps


@pytest.mark.parametrize("seed", range(6))
async def test_a_session_that_grows_by_any_bytes_is_stored_as_it_is_at_its_end(
    memory: Memory, tmp_path: Path, seed: int
) -> None:
    rnd = random.Random(seed)
    name = ("claude_code.jsonl", "codex.jsonl")[seed % 2]
    content = (SAMPLES / name).read_bytes()
    folder = tmp_path / "sessions" / "project"
    folder.mkdir(parents=True)
    path = folder / name
    watch = watch_of(memory, folder.parent, scope="project:grown")
    reported: list[ImportSummary] = []
    for end in [*sorted(rnd.sample(range(len(content)), 12)), len(content)]:
        path.write_bytes(content[:end])
        reported += await looked(watch)
        if rnd.random() < 0.3:  # as after a kill: nothing is known but what the database has
            watch = watch_of(memory, folder.parent, scope="project:grown")
    reported += await looked(watch, later_s=2 * QUIET_S)
    assert [one.refused for one in reported] == [[]] * len(reported)
    assert [one.edited for one in reported] == [[]] * len(reported)
    whole = tmp_path / name
    whole.write_bytes(content)
    await import_traces(memory.capture, memory.trust, whole, scope="project:whole")
    again = await import_traces(memory.capture, memory.trust, whole, scope="project:grown")
    assert (again.captured, again.edited) == (0, [])
    grown = await stored(memory, "project:grown")
    assert grown == await stored(memory, "project:whole")
    assert [len(one["said"]) for one in grown] == ([17, 3] if name.startswith("claude") else [10])
    assert await looked(watch_of(memory, folder.parent, scope="project:grown"), later_s=2 * QUIET_S) == []


async def test_a_call_waits_for_its_result_until_the_file_is_quiet(memory: Memory, tmp_path: Path) -> None:
    lines = claude_code(told("where?", "there"))
    path = tmp_path / "s.jsonl"
    path.write_bytes(written(lines[:3]))  # the header, the question and the call
    watch = watch_of(memory, tmp_path, scope="a")
    (summary,) = await looked(watch)
    assert (summary.captured, summary.skipped["calls that wait for their results"]) == (1, 1)
    assert await looked(watch) == []
    (summary,) = await looked(watch, later_s=QUIET_S + 1)
    assert summary.captured == 1
    path.write_bytes(written(lines))
    (summary,) = await looked(watch)
    assert summary.captured == 2
    (episode,) = await stored(memory, "a")
    assert [(call["id"], call["result"]) for call in episode["calls"]] == [("c0", None), ("c0#result", "seen: where?")]


async def test_files_are_read_only_when_they_change_and_the_oldest_first(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(path: Path) -> Any:
        read.append(path.name)
        return read_documents(path)

    monkeypatch.setattr(watching, "read_documents", counted)
    for number, name in enumerate(("b.jsonl", "a.jsonl", "c.jsonl")):
        (tmp_path / name).write_bytes(written(codex(told(name))).replace(SESSION.encode(), name.encode()))
        os.utime(tmp_path / name, (1_000_000 + number, 1_000_000 + number))
    (tmp_path / "notes.md").write_text("no session")
    watch = watch_of(memory, tmp_path, since=1_000_001)
    for _ in range(3):
        await looked(watch)
    assert read == ["a.jsonl", "c.jsonl"]  # b is older than the instant given
    with (tmp_path / "c.jsonl").open("ab") as file:
        file.write(written(codex(told("x", "more"))[-1:]))
    await looked(watch)
    assert read == ["a.jsonl", "c.jsonl", "c.jsonl"]
    monkeypatch.setattr(watching, "SHARE", 1e9)
    for _ in range(3):  # a file that is written to all the time is not read all the time
        with (tmp_path / "a.jsonl").open("ab") as file:
            file.write(b"\n")
        await looked(watch)
    assert read == ["a.jsonl", "c.jsonl", "c.jsonl", "a.jsonl"]


async def test_new_moved_cut_and_deleted_files_leave_each_turn_once(memory: Memory, tmp_path: Path) -> None:
    watch = watch_of(memory, tmp_path, scope="a")
    assert await looked(watch) == []
    lines = claude_code(told("one", "two?", "three"))
    path = tmp_path / "new.jsonl"
    path.write_bytes(written(lines))
    assert [one.captured for one in await looked(watch)] == [4]
    path.rename(tmp_path / "moved.jsonl")
    assert await looked(watch) == []
    (tmp_path / "moved.jsonl").write_bytes(written(lines[:3]))
    assert await looked(watch) == []
    (tmp_path / "moved.jsonl").write_bytes(written(claude_code(told("one", "two?", "three", "four"))))
    assert [one.captured for one in await looked(watch)] == [1]
    (tmp_path / "moved.jsonl").unlink()
    assert await looked(watch) == []
    (episode,) = await stored(memory, "a")
    assert episode["said"] == ["one", "two?", *[one for one in episode["said"] if "look" in one], "three", "four"]


async def test_a_file_that_cannot_be_read_is_reported_once_and_stops_no_other(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"type": 1}\n{"type": 2}\n')
    (tmp_path / "half.jsonl").write_text('{"type": "us')
    (tmp_path / "good.jsonl").write_bytes(written(claude_code(told("hello"))))
    watch = watch_of(memory, tmp_path)
    reported = await looked(watch)
    assert sorted((Path(one.source).name, one.captured, len(one.refused)) for one in reported) == [
        ("bad.jsonl", 0, 1),
        ("good.jsonl", 1, 0),
    ]
    (tmp_path / "bad.jsonl").touch()
    assert await looked(watch) == []
    (late,) = await looked(watch, later_s=QUIET_S + 1)  # nothing was added to what looked unfinished
    assert (Path(late.source).name, len(late.refused)) == ("half.jsonl", 1)
    assert await looked(watch, later_s=QUIET_S + 1) == []
    (tmp_path / "bad.jsonl").write_bytes(written(claude_code(told("hello", "you"))))
    assert [one.captured for one in await looked(watch)] == [1]


async def test_a_session_gets_no_outcome(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(claude_code(told("one", "two"))))
    await looked(watch_of(memory, tmp_path, scope="a"))
    (episode,) = await stored(memory, "a")
    assert episode["outcome"] is None


async def test_a_file_that_cannot_be_stored_stops_no_other(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("a", "b", "c")):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(written(codex(told(name))).replace(SESSION.encode(), name.encode()))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    capture = memory.capture.capture

    async def failing(trust: Any, requests: Sequence[Any], **options: Any) -> Any:
        if any(request.content["text"] == "a" for request in requests):
            raise StoreUnavailable
        return await capture(trust, requests, **options)

    monkeypatch.setattr(memory.capture, "capture", failing)
    watch = watch_of(memory, tmp_path, scope="a")
    found: list[str] = []

    async def look() -> None:
        async for one in watch.look(time.time()):
            found.append(Path(one.source).name)  # noqa: PERF401 - what came before the failure is kept

    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await look()
    assert found == ["b.jsonl", "c.jsonl"]
    monkeypatch.undo()
    assert [Path(one.source).name for one in await looked(watch)] == ["a.jsonl"]
