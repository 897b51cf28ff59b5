"""Imports of git histories and agent conversations: each item is stored once, also after an interruption."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fix_memory import Memory

from stratagraph.memory.imports.git_history import import_history, open_repository
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import DeletionPolicy, MemoryType
from stratagraph.store.model.errors import InvalidInput

AIRLINE = Path(__file__).resolve().parents[4] / "shared" / "data" / "tau-airline" / "traces.jsonl"


def git(path: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=Ann Other", "-c", "user.email=Ann@Example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(path), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two branches and a merge, a renamed file, a non-ASCII file name and a named issue."""
    path = tmp_path / "widgets"
    path.mkdir()
    git(path, "init", "-b", "main")
    (path / "a.py").write_text("one = 1\n" * 20)
    git(path, "add", ".")
    git(path, "commit", "-m", "Add the first module\n\nIt counts. Fixes #12.")
    git(path, "checkout", "-b", "side")
    (path / "größe.py").write_text("two = 2\n")
    git(path, "add", ".")
    git(path, "commit", "-m", "Measure the size")
    git(path, "checkout", "main")
    git(path, "mv", "a.py", "b.py")
    git(path, "commit", "-m", "Rename the module")
    git(path, "merge", "--no-ff", "side", "-m", "Merge side (#13)")
    return path


async def test_a_git_history_becomes_episodes_that_follow_each_other(memory: Memory, repository: Path) -> None:
    opened = await open_repository(repository)
    done: list[int] = []
    summary = await import_history(memory.capture, memory.trust, opened, advance=done.append)
    assert (summary.items, summary.captured, summary.replayed) == (4, 4, 0)
    assert sum(done) == opened.commits == 4
    assert summary.records["episodic"] == 4
    commits = (await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.EPISODIC]))).records
    by_name = {record.name: record for record in commits}
    merge = by_name["Merge side (#13)"]
    relations = (await memory.lookup.relations(memory.trust, [merge.id]))[merge.id]
    parents = {edge.target for edge in relations if edge.predicate == "follows" and edge.source == merge.id}
    assert parents == {by_name["Measure the size"].id, by_name["Rename the module"].id}
    assert merge.lifecycle is not None
    assert merge.lifecycle.deletion_policy is DeletionPolicy.MANUAL_ONLY
    assert merge.lifecycle.decay.half_life_s == timedelta(days=30).total_seconds()
    for name in ("größe.py", "b.py", "Ann Other", "widgets", "widgets#12", "#13"):
        assert len(await memory.lookup.entities(memory.trust, name, scope=None, first=5)) == 1, name


async def test_importing_a_git_history_again_adds_only_new_commits(memory: Memory, repository: Path) -> None:
    opened = await open_repository(repository)
    await import_history(memory.capture, memory.trust, opened)
    (repository / "c.py").write_text("three = 3\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Count further")
    again = await import_history(memory.capture, memory.trust, await open_repository(repository))
    assert (again.captured, again.replayed) == (1, 4)
    assert again.records == {"episodic": 1, "entity": 1}


async def test_a_directory_without_a_repository_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a git repository"):
        await open_repository(tmp_path)


def line(**fields: Any) -> str:
    return json.dumps(fields)


MESSAGES = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "cancel my flight, I am mia_li_3668"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "get_user", "arguments": '{"id": "mia_li_3668"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": '{"reservation": "OI5L9G"}'},
    {
        "role": "assistant",
        "content": "one moment",
        "tool_calls": [
            {"id": "c2", "function": {"name": "cancel", "arguments": '{"reservation_id": "OI5L9G"}'}},
            {"id": "c3", "function": {"name": "log", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": "Error: not allowed"},
    {"role": "tool", "tool_call_id": "c3", "content": "ok"},
    {"role": "assistant", "content": [{"type": "text", "text": "I am sorry."}]},
]


async def test_a_conversation_becomes_a_closed_episode_with_its_tool_graph(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(line(id="x1", messages=MESSAGES, reward=0.0) + "\n\n")
    summary = await import_traces(memory.capture, memory.trust, file)
    assert summary.items == 1
    assert summary.skipped == {"system prompts (instructions, not experience)": 1}
    found = await memory.retrieve.retrieve(
        memory.trust,
        RetrieveRequest(task_descriptor="cancel flight", memory_types=(MemoryType.EPISODIC,), root_limit=9),
    )
    episode = next(n.record for n in found.nodes if n.record.name and n.record.name.startswith("Episode"))
    whole = await memory.lookup.record(memory.trust, episode.id)
    assert whole is not None
    assert whole.payload is not None
    assert whole.payload["outcome"] == "failure"
    assert len(whole.payload["timeline"]) == 6
    graph = {node["id"]: node for node in whole.payload["tool_graph"]}
    assert graph["c1"].get("depends_on") is None
    assert graph["c1"]["result"] == {"reservation": "OI5L9G"}
    assert graph["c2"]["depends_on"] == ["c1"]  # it uses a value from the result of c1
    assert graph["c3"]["depends_on"] == ["c1"]  # it uses no earlier value, but follows the result of c1


async def test_an_interrupted_import_resumes_without_duplicates(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(line(id=f"x{number}", messages=MESSAGES * 6, reward=1) for number in range(20)))

    class Interrupted(Exception):
        pass

    def interrupt(_: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        await import_traces(memory.capture, memory.trust, file, advance=interrupt)
    summary = await import_traces(memory.capture, memory.trust, file)
    assert summary.replayed > 0
    assert summary.captured > 0
    async with memory.database.engine.begin() as connection:
        rows = (await connection.exec_driver_sql("SELECT events, outcome FROM episode")).all()
    assert [tuple(row) for row in rows] == [(36, 1)] * 20


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("{not json", "is not JSON"),
        (line(id=1), "has no list `messages`"),
        (line(messages=[{"content": "x"}]), "messages.0 has no `role`"),
        (line(messages=[{"role": "tool", "content": "x", "tool_call_id": {}}]), "messages.0.tool_call_id: must be"),
        (line(messages=[{"role": "assistant", "tool_calls": [{"id": "1"}]}]), "tool_calls.0"),
        (line(messages=[], reward="great"), "is not an outcome"),
        (line(messages=[{"role": "user", "content": "x", "timestamp": "2026-01-01T00:00:00"}]), "no UTC offset"),
    ],
)
async def test_a_malformed_line_is_named_and_the_others_are_imported_whole(
    memory: Memory, tmp_path: Path, bad: str, expected: str
) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(line(id="one", messages=MESSAGES) + "\n" + bad + "\n" + line(id="two", messages=MESSAGES) + "\n")
    summary = await import_traces(memory.capture, memory.trust, file)
    assert [refused.item for refused in summary.refused] == ["line 2"]
    assert expected in summary.refused[0].reason
    async with memory.database.engine.begin() as connection:
        rows = (await connection.exec_driver_sql("SELECT events FROM episode")).all()
    assert [row.events for row in rows] == [6, 6]


async def test_all_airline_conversations_are_imported_once_from_files_of_three_names(
    memory: Memory, tmp_path: Path
) -> None:
    if not AIRLINE.exists():
        pytest.skip(f"no recorded conversations at {AIRLINE}")
    summary = await import_traces(memory.capture, memory.trust, AIRLINE)
    assert summary.items == 100
    for name in ("copy.jsonl", "renamed.log"):
        shutil.copy(AIRLINE, tmp_path / name)
        again = await import_traces(memory.capture, memory.trust, tmp_path / name)
        assert (again.captured, again.replayed, again.edited) == (0, summary.captured, [])
    async with memory.database.engine.begin() as connection:
        row = (
            await connection.exec_driver_sql(
                "SELECT count(*), count(closed_at), count(*) FILTER (WHERE outcome = 1), count(outcome) FROM episode"
            )
        ).one()
        tools = await connection.exec_driver_sql("SELECT count(*) FROM episode_event WHERE call_key IS NOT NULL")
    rewarded = sum(json.loads(text)["reward"] == 1.0 for text in AIRLINE.read_text().splitlines())
    assert tuple(row) == (100, 100, rewarded, 100)
    assert tools.scalar_one() == 572
    found = await memory.retrieve.retrieve(
        memory.trust, RetrieveRequest(task_descriptor="sofia_kim_7287 wants the quickest flight from Denver to Houston")
    )
    assert any("trace" in (node.record.name or "") and ":3:" in (node.record.name or "") for node in found.nodes)
