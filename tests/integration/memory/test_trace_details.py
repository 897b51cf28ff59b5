"""What recorded conversations say beside their texts: speakers, users, times, attachments, flags, and other fields."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from fix_memory import Memory

from stratagraph.memory.imports.progress import ImportSummary
from stratagraph.memory.imports.traces import import_traces
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.model.enums import MemoryType


def written(path: Path, *lines: dict[str, Any]) -> Path:
    file = path / "t.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


async def imported(memory: Memory, file: Path, **options: Any) -> ImportSummary:
    return await import_traces(memory.capture, memory.trust, file, **options)


async def first_answer(memory: Memory, question: str) -> str | None:
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=question, root_limit=5))
    return found.nodes[0].record.text if found.nodes else None


@pytest.mark.parametrize("where", ["user_id", "user", "metadata"])
async def test_two_users_of_one_file_stay_apart(memory: Memory, tmp_path: Path, where: str) -> None:
    lines = []
    for number, (user, code) in enumerate({"gull-17": "5512", "tern-4": "9083", "crake-88": "3170"}.items()):
        messages = [{"role": "user", "content": f"My door code is {code}."}, {"role": "assistant", "content": "Kept."}]
        given = {"metadata": {"user_id": user}} if where == "metadata" else {where: user}
        lines.append({"id": f"talk-{number}", "messages": messages, **given})
    summary = await imported(memory, written(tmp_path, *lines))
    assert summary.unread == {}
    for user, code in {"gull-17": "5512", "tern-4": "9083", "crake-88": "3170"}.items():
        assert await first_answer(memory, f"What is the door code of {user}?") == f"user: My door code is {code}."
    again = await imported(memory, written(tmp_path, *lines))
    assert (again.captured, again.replayed) == (0, 6)


async def test_two_users_who_say_the_same_are_two_conversations(memory: Memory, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Remind me of my keys."}, {"role": "assistant", "content": "I will."}]
    lines = [{"user_id": user, "messages": messages} for user in ("gull-17", "tern-4", "gull-17")]
    for captured, replayed in ((4, 2), (0, 6)):
        summary = await imported(memory, written(tmp_path, *lines))
        assert (summary.captured, summary.replayed) == (captured, replayed)
    for user in ("gull-17", "tern-4"):
        page = await memory.lookup.records(memory.trust, RecordFilter(any_tags=[f"user:{user}"]), first=9)
        assert sum(record.name == "user: Remind me of my keys." for record in page.records) == 1
    longer = {"user_id": "tern-4", "messages": [*messages, {"role": "user", "content": "Thanks."}]}
    summary = await imported(memory, written(tmp_path, longer))
    assert (summary.captured, summary.continued) == (1, 1)


async def test_named_speakers_are_persons_whose_words_are_found(memory: Memory, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "name": "Berit", "content": "I cannot eat sesame."},
        {"role": "user", "name": "Oskar", "content": "And I no celery."},
        {"role": "assistant", "content": "I will leave both out."},
    ]
    await imported(memory, written(tmp_path, {"id": "dinner", "messages": messages}))
    assert await first_answer(memory, "What can Berit not eat?") == "Berit: I cannot eat sesame."
    assert await first_answer(memory, "What can Oskar not eat?") == "Oskar: And I no celery."
    page = await memory.lookup.records(memory.trust, RecordFilter(any_tags=["speaker:Oskar"]), first=9)
    assert [record.text for record in page.records] == ["Oskar: And I no celery."]


async def test_times_without_an_offset_are_of_the_named_zone_and_the_conversations_time_is_the_default(
    memory: Memory, tmp_path: Path
) -> None:
    messages = [
        {"role": "user", "content": "The ferry leaves.", "timestamp": "2025-07-01T12:00:00"},
        {"role": "assistant", "content": "Noted."},
    ]
    file = written(tmp_path, {"id": "x", "created_at": "2025-07-01T09:00:00", "messages": messages})
    refused = await imported(memory, file)
    assert "--timezone" in refused.refused[0].reason
    assert refused.captured == 0
    await imported(memory, file, zone=ZoneInfo("Europe/Berlin"))
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Is the ferry noted?"))
    times = {node.record.text: node.record.occurred_at for node in found.nodes}
    assert times["user: The ferry leaves."] == datetime(2025, 7, 1, 10, tzinfo=UTC)
    assert times["assistant: Noted."] == datetime(2025, 7, 1, 7, tzinfo=UTC)


async def test_attachments_are_stored_once_and_read_back_from_the_records(memory: Memory, tmp_path: Path) -> None:
    artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs.below(tmp_path / "artifacts"))
    picture, sound = b"\x89PNG picture", b"RIFF sound"
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    content = [
        {"type": "text", "text": "The picture of the castle hangs here."},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(sound).decode(), "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/wall.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,@@"}},
    ]
    alone = [{"type": "image_url", "image_url": {"url": url}}]
    messages = [{"role": "user", "content": content}, {"role": "user", "content": alone}]
    file = written(tmp_path, {"id": "wall", "messages": messages})
    summary = await imported(memory, file, artifacts=artifacts)
    assert summary.artifacts == 3
    assert summary.skipped == {
        "attachments that the file only names": 1,
        "parts of messages that are not text": 1,
    }
    found = await memory.retrieve.retrieve(
        memory.trust,
        RetrieveRequest(task_descriptor="Where is the castle picture?", memory_types=(MemoryType.EPISODIC,)),
    )
    turns = {node.record.text: node.record for node in found.nodes}
    assert "user: The picture of the castle hangs here." in turns, (turns.keys(), summary)
    turn = turns["user: The picture of the castle hangs here."]
    assert turn.payload is not None
    uris = turn.payload["timeline"][0]["content"]["artifacts"]
    assert [(await artifacts.get(memory.trust, uri)).data for uri in uris] == [picture, sound]
    again = await imported(memory, file, artifacts=artifacts)
    assert (again.captured, again.replayed, again.artifacts) == (0, 2, 0)


async def test_fields_that_are_not_read_are_counted_by_their_path(memory: Memory, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "hello", "annotations": [], "mood": "glad"},
        {"role": "assistant", "content": "hi", "logprobs": {"content": []}, "mood": "calm"},
    ]
    line = {
        "messages": messages,
        "usage": {"total_tokens": 9},
        "metadata": {"channel": "sms"},
        "empty": None,
        "task_id": 7,
    }
    summary = await imported(memory, written(tmp_path, {"id": "x", **line}, {"id": "y", **line}))
    assert summary.unread == {
        "messages[].mood": 4,
        "messages[].logprobs": 2,
        "usage": 2,
        "metadata.channel": 2,
        "task_id": 2,  # the conversation has an id already
    }


@pytest.mark.parametrize(
    ("flags", "failed"),
    [
        ({"content": '{"error": "no route"}'}, True),
        ({"content": '{"is_error": true}'}, True),
        ({"content": '{"success": false, "rows": []}'}, True),
        ({"content": '{"status": "error", "detail": "down"}'}, True),
        ({"content": '{"exit_code": 2, "output": ""}'}, True),
        ({"content": '{"returncode": 0, "error": null, "success": true}'}, False),
        ({"content": '{"status": "cancelled"}'}, False),
        ({"content": '{"error": "no route"}', "is_error": False}, False),
        ({"is_error": True}, True),
        ({"is_error": False}, False),
        ({"status": "error"}, True),
        ({"status": "success"}, False),
        ({"success": False}, True),
        ({"exit_code": 2}, True),
        ({"exit_code": 0}, False),
        ({"error": "no route"}, True),
        ({}, True),
    ],
)
async def test_flags_say_whether_a_call_failed_and_its_text_only_without_them(
    memory: Memory, tmp_path: Path, flags: dict[str, Any], failed: bool
) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": {}}}]},
        {"role": "tool", "content": "Errors found: none", "tool_name": "look", **flags},
    ]
    await imported(memory, written(tmp_path, {"id": "x", "messages": messages, "success": True}))
    found = await memory.retrieve.retrieve(
        memory.trust, RetrieveRequest(task_descriptor="what did the look find?", memory_types=(MemoryType.EPISODIC,))
    )
    calls = [node.record for node in found.nodes if node.record.text and node.record.text.startswith("look")]
    (call,) = calls[:1]
    assert call.payload is not None
    (event,) = call.payload["timeline"]
    assert (event["event_kind"] == "tool_error") is failed


async def test_a_file_whose_name_is_no_utf_8_is_refused_by_its_name_with_escapes(
    memory: Memory, tmp_path: Path
) -> None:
    written(tmp_path, {"messages": [{"role": "user", "content": "hello"}]})
    (tmp_path / os.fsdecode(b"bad\xfe.json")).write_text("{}")
    summary = await import_traces(memory.capture, memory.trust, tmp_path)
    assert summary.captured == 1
    (refused,) = summary.refused
    assert "bad\\xfe.json" in refused.item
