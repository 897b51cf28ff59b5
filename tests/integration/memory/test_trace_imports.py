"""Imports of recorded conversations: files that grow, are edited, renamed or damaged leave each conversation once."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fix_memory import Memory, fresh_database, memory_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.memory.imports.lines import MAX_LINE
from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.database import Database


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def called(*calls: tuple[str, str], text: str | None = None) -> dict[str, Any]:
    """A message with calls, each given by its id and the name of its tool."""
    listed = [{"id": id_, "function": {"name": tool, "arguments": "{}"}} for id_, tool in calls]
    return {"role": "assistant", "content": text, "tool_calls": listed}


def returned(id_: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def written(path: Path, *lines: dict[str, Any] | str, name: str = "t.jsonl") -> Path:
    file = path / name
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return file


async def imported(memory: Memory, file: Path, **options: Any) -> ImportSummary:
    return await import_traces(memory.capture, memory.trust, file, **options)


async def episodes(memory: Memory) -> list[dict[str, Any]]:
    """The payloads of the threads' episodes, in order of the threads' names, then of time."""
    found = []
    after = None
    while True:
        page = await memory.lookup.records(
            memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100, after=after
        )
        found += [record.id for record in page.records if record.name and record.name.startswith("Episode ")]
        after = page.end_cursor
        if not page.has_next:
            break
    whole = [await memory.lookup.record(memory.trust, id_) for id_ in sorted(found)]
    payloads = [dict(one.payload) for one in whole if one is not None and one.payload is not None]
    return sorted(payloads, key=lambda payload: str(payload["thread_id"]))


async def conversations(memory: Memory) -> dict[str, list[str]]:
    """What was said, by thread; the episodes of a thread are joined."""
    threads: dict[str, list[str]] = {}
    for payload in await episodes(memory):
        threads.setdefault(payload["thread_id"], []).extend(event["summary"] for event in payload["timeline"])
    return threads


HELLO = [said("hello"), said("hi", "assistant")]


async def test_a_longer_version_of_a_known_conversation_adds_its_new_turns(memory: Memory, tmp_path: Path) -> None:
    await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO}))
    longer = [*HELLO, said("and now?"), said("nothing", "assistant")]
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": longer, "reward": 1}, name="new.jsonl"))
    assert (summary.captured, summary.replayed, summary.continued, summary.edited) == (3, 2, 1, [])
    assert await conversations(memory) == {"trace:x": ["hello", "hi", "and now?", "nothing"]}
    shorter = await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO}))
    assert (shorter.captured, shorter.replayed, shorter.edited) == (0, 2, [])


async def test_a_conversation_that_goes_on_after_its_outcome_gets_another_one(memory: Memory, tmp_path: Path) -> None:
    await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO, "reward": 0}))
    longer = {"id": "x", "messages": [*HELLO, said("again"), said("done", "assistant")], "reward": 1}
    for captured in (3, 0):
        assert (await imported(memory, written(tmp_path, longer))).captured == captured
    assert [payload["outcome"] for payload in await episodes(memory)] == ["failure", "success"]


async def test_an_edited_conversation_is_new_and_reported_once(memory: Memory, tmp_path: Path) -> None:
    await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO}))
    edited = {"id": "x", "messages": [said("hello"), said("good morning", "assistant")]}
    file = written(tmp_path, {"id": "y", "messages": HELLO}, edited)
    summary = await imported(memory, file)
    assert (summary.captured, summary.edited) == (4, ["line 2"])
    again = await imported(memory, file)
    assert (again.captured, again.replayed, again.edited) == (0, 4, [])
    assert await conversations(memory) == {
        "trace:x": ["hello", "hi"],
        "trace:x#2": ["hello", "good morning"],
        "trace:y": ["hello", "hi"],
    }
    # Both versions are known, so each goes on where it ended.
    longer = [{"id": "x", "messages": [*one["messages"], said("more")]} for one in ({"messages": HELLO}, edited)]
    more = await imported(memory, written(tmp_path, *longer))
    assert (more.captured, more.continued, more.edited) == (2, 2, [])


async def test_trials_of_one_task_are_conversations_of_their_own(memory: Memory, tmp_path: Path) -> None:
    lines = [{"task_id": 7, "trial": trial, "messages": HELLO} for trial in (0, 1)]
    assert (await imported(memory, written(tmp_path, *lines))).captured == 4
    assert set(await conversations(memory)) == {"trace:7:trial-0", "trace:7:trial-1"}


async def test_a_line_without_an_id_is_known_by_its_content_and_may_grow(memory: Memory, tmp_path: Path) -> None:
    other = [said("something else"), said("yes", "assistant")]
    await imported(memory, written(tmp_path, {"messages": HELLO}, {"messages": other}, {"messages": HELLO}))
    assert sorted((await conversations(memory)).values()) == [["hello", "hi"], ["something else", "yes"]]
    longer = {"messages": [*HELLO, said("and now?")]}
    summary = await imported(memory, written(tmp_path, {"messages": other}, longer, name="new.jsonl"))
    assert (summary.captured, summary.continued, summary.edited) == (1, 1, [])
    fork = {"messages": [*HELLO, said("or then?")]}
    summary = await imported(memory, written(tmp_path, fork, longer))
    assert (summary.captured, summary.edited) == (3, [])
    assert len(await conversations(memory)) == 3


async def test_parallel_calls_and_calls_without_a_result_are_kept(memory: Memory, tmp_path: Path) -> None:
    calls = called(("a", "look"), ("b", "listen"), ("a", "smell"))  # two calls of one id
    messages = [said("go"), calls, returned("b", "quiet"), returned("a", "dark"), returned("z", "stray")]
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": messages}))
    assert summary.skipped == {"results of tool calls (the calls are kept without one)": 1}
    (payload,) = await episodes(memory)
    graph = {node["id"]: node for node in payload["tool_graph"]}
    assert {id_: node["tool"] for id_, node in graph.items()} == {
        "a": "look",
        "b": "listen",
        "a#2": "smell",
        "z": "tool",
    }
    assert graph["a"]["result"] == "dark"
    assert graph["a#2"].get("result") is None


@pytest.mark.parametrize("ids", [("a", "a", "a#2"), ("a#2", "a", "a", "a"), ("a", "a#2", "a", "a#2")])
async def test_calls_keep_apart_whatever_their_ids_are(memory: Memory, tmp_path: Path, ids: tuple[str, ...]) -> None:
    calls = called(*((id_, f"tool {number}") for number, id_ in enumerate(ids)))
    await imported(memory, written(tmp_path, {"id": "x", "messages": [said("go"), calls]}))
    (payload,) = await episodes(memory)
    tools = {node["id"]: node["tool"] for node in payload["tool_graph"]}
    assert sorted(tools.values()) == [f"tool {number}" for number in range(len(ids))]


async def test_a_result_that_comes_with_a_later_version_follows_its_call(memory: Memory, tmp_path: Path) -> None:
    messages = [said("go"), called(("a", "look"))]
    await imported(memory, written(tmp_path, {"id": "x", "messages": messages}))
    longer = [*messages, returned("a", "dark"), said("It is dark.", "assistant")]
    for captured in (2, 0):
        summary = await imported(memory, written(tmp_path, {"id": "x", "messages": longer}))
        assert (summary.captured, summary.edited) == (captured, [])
    (payload,) = await episodes(memory)
    graph = {node["id"]: node for node in payload["tool_graph"]}
    assert graph["a#result"]["depends_on"] == ["a"]
    assert graph["a#result"]["result"] == "dark"
    assert len(graph) == 2


async def test_parts_that_are_not_text_are_counted(memory: Memory, tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "see"}, picture, picture, "this"]}]
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": messages}))
    assert summary.skipped == {"parts of messages that are not text": 2}
    assert await conversations(memory) == {"trace:x": ["see\nthis"]}


@pytest.mark.parametrize(
    "timestamp",
    [1_700_000_000, 1_700_000_000.0, 1_700_000_000_000, 1_700_000_000_000_000, "1700000000", "2023-11-14T22:13:20Z"],
)
async def test_times_may_be_numbers_since_1970(memory: Memory, tmp_path: Path, timestamp: object) -> None:
    await imported(memory, written(tmp_path, {"id": "x", "messages": [said("hello", timestamp=timestamp)]}))
    (payload,) = await episodes(memory)
    assert payload["timeline"][0]["t"] == "2023-11-14T22:13:20Z"


async def test_a_time_or_a_message_that_capture_refuses_refuses_its_conversation_only(
    memory: Memory, tmp_path: Path
) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "messages": HELLO},
        {"id": "b", "messages": [*HELLO, said("later", timestamp="2199-01-01T00:00:00Z")]},
        {"id": "c", "messages": [*HELLO, said("long" * 300_000)]},
        {"id": "d", "messages": [*HELLO, said("at no time", timestamp=True)]},
        {"id": "e", "messages": HELLO},
        {"id": ["f"], "messages": HELLO},
        {"id": "g", "messages": [{"role": "system", "content": "be kind"}], "reward": 1},
    ]
    summary = await imported(memory, written(tmp_path, *lines))
    assert sorted(refused.item for refused in summary.refused) == ["line 2", "line 3", "line 4", "line 6"]
    assert set(await conversations(memory)) == {"trace:a", "trace:e"}


async def test_line_ends_byte_order_marks_empty_lines_and_compression_do_not_matter(
    memory: Memory, tmp_path: Path
) -> None:
    lines = [json.dumps({"id": str(number), "messages": HELLO}).encode() for number in range(3)]
    text = b"\xef\xbb\xbf" + b"\r\n\r\n  \r\n".join(lines)
    (tmp_path / "t.jsonl").write_bytes(text)
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(text))
    assert (await imported(memory, tmp_path / "t.jsonl")).captured == 6
    again = await imported(memory, tmp_path / "t.jsonl.gz")
    assert (again.items, again.captured, again.replayed) == (3, 0, 6)


async def test_a_line_above_16_mib_is_refused_without_being_held(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    good = json.dumps({"id": "x", "messages": HELLO}).encode()
    with file.open("wb") as opened:
        opened.write(good + b"\n")
        opened.write(b'{"id": "y", "messages": [')
        for _ in range(6 * MAX_LINE // (1 << 20)):
            opened.write(b" " * (1 << 20))
        opened.write(b"]}\n" + good.replace(b'"x"', b'"z"') + b"\n")
    tracemalloc.start()
    try:
        summary = await imported(memory, file)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [refused.item for refused in summary.refused] == ["line 2"]
    assert "bytes" in summary.refused[0].reason
    assert set(await conversations(memory)) == {"trace:x", "trace:z"}
    assert held < 3 * MAX_LINE


async def test_a_conversation_longer_than_one_transaction_is_whole_or_not_there(memory: Memory, tmp_path: Path) -> None:
    long = [said(f"turn {number}") for number in range(1_100)]
    bad = [*long, said("later", timestamp="2199-01-01T00:00:00Z")]
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": bad}))
    assert [refused.item for refused in summary.refused] == ["line 1"]
    assert await conversations(memory) == {}
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": long}))
    assert (summary.captured, summary.refused) == (1_100, [])


async def test_two_imports_of_one_file_at_once_leave_one_set(memory: Memory, tmp_path: Path) -> None:
    lines = [{"id": str(number), "messages": [said(f"hello {number}"), *HELLO]} for number in range(40)]
    file = written(tmp_path, *lines)
    both = await asyncio.gather(imported(memory, file), imported(memory, file))
    assert sum(summary.captured for summary in both) == 120
    assert [summary.refused for summary in both] == [[], []]
    assert {len(turns) for turns in (await conversations(memory)).values()} == {3}


WORDS = st.sampled_from(["yes", "no", "hello", "more", "stop"])
CONVERSATIONS = st.dictionaries(st.sampled_from("abcd"), st.lists(WORDS, min_size=1, max_size=5), min_size=1)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(versions=st.lists(CONVERSATIONS, min_size=1, max_size=4), random=st.randoms(use_true_random=False))
async def test_files_in_any_order_leave_every_version_that_does_not_go_on_in_another(
    postgres_url: str, template_database: str, tmp_path: Path, versions: list[dict[str, list[str]]], random: Any
) -> None:
    """Each version of a conversation is stored, as a thread of its own or as the beginning of one, and nothing else."""
    with fresh_database(postgres_url, template_database) as url:
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            for number, version in enumerate(versions):
                lines = [{"id": id_, "messages": [said(word) for word in words]} for id_, words in version.items()]
                random.shuffle(lines)
                await imported(memory, written(tmp_path, *lines, name=f"{number}.jsonl"))
            threads = await conversations(memory)
            stored = Counter(
                (thread.removeprefix("trace:").split("#")[0], tuple(said)) for thread, said in threads.items()
            )
            wanted: dict[str, set[tuple[str, ...]]] = {}
            for version in versions:
                for id_, words in version.items():
                    wanted.setdefault(id_, set()).add(tuple(words))
            assert set(stored.values()) == {1}
            for id_, texts in wanted.items():
                kept = {turns for name, turns in stored if name == id_}
                assert all(any(turns[: len(text)] == text for turns in kept) for text in texts)
                assert all(turns in texts for turns in kept)
            again = [
                await imported(memory, tmp_path / f"{number}.jsonl")
                for number in random.sample(range(len(versions)), len(versions))
            ]
            assert [summary.captured for summary in again] == [0] * len(versions)
            assert await conversations(memory) == threads


@pytest.mark.parametrize(
    ("field", "value", "outcome", "reason"),
    [
        ("reward", 1, "success", "reward = 1"),
        ("reward", 0.5, "partial", "reward = 0.5"),
        ("reward", 0.0, "failure", "reward = 0.0"),
        ("success", True, "success", "success = true"),
        ("outcome", "Failure", "failure", "outcome = Failure"),
    ],
)
async def test_the_outcome_of_a_conversation_is_stored_with_its_field_as_json(
    memory: Memory, tmp_path: Path, field: str, value: Any, outcome: str, reason: str
) -> None:
    await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO, field: value}))
    (episode,) = await episodes(memory)
    assert (episode["outcome"], episode["outcome_reason"]) == (outcome, reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reward": 1.5}, "reward: 1.5 is not an outcome"),
        ({"reward": -0.1}, "reward: -0.1 is not an outcome"),
        ({"reward": 100}, "reward: 100 is not an outcome"),
        ({"reward": {"a": 1}}, "reward: an object is not an outcome"),
        ({"outcome": [True]}, "outcome: a list is not an outcome"),
        ({"id": True}, "id: must be a string or a whole number, not a boolean"),
        ({"id": {"a": 1}}, "id: must be a string or a whole number, not an object"),
        ({"id": 2.5}, "id: must be a string or a whole number, not 2.5"),
        ({"messages": [said("a", timestamp={"a": 1})]}, "messages.0.timestamp: an object is not an RFC 3339 time"),
        ({"messages": [said("a", timestamp=True)]}, "messages.0.timestamp: a boolean is not an RFC 3339 time"),
    ],
)
async def test_a_line_with_a_malformed_field_is_refused_with_its_reason(
    memory: Memory, tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    summary = await imported(memory, written(tmp_path, {"id": "x", "messages": HELLO} | fields, {"messages": HELLO}))
    assert [(refused.item, refused.reason.startswith(reason)) for refused in summary.refused] == [("line 1", True)]
    assert summary.captured == len(HELLO)
