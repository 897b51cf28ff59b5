"""What the store tells of imported conversations, and files of chats to compare it with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fix_memory import Memory
from fix_spans import as_chat, messages_of

from stratagraph.memory.imports.conversation import Returned, Step
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.trust import Trust

_MADE = ("t", "at", "timestamp", "event")  # of a node, by the time or the store


async def threads(memory: Memory, trust: Trust | None = None) -> dict[str, Any]:
    """The events and tool graphs of the episodes, by thread, without ids and times."""
    found: dict[str, Any] = {}
    listed = await memory.lookup.records(
        trust or memory.trust, RecordFilter(types=[MemoryType.EPISODIC]), first=100, after=None
    )
    for one in listed.records:
        record = await memory.lookup.record(trust or memory.trust, one.id)
        if record is not None and record.payload is not None and "thread_id" in record.payload:
            events = [(event["event_kind"], event["summary"]) for event in record.payload["timeline"]]
            nodes = [{k: v for k, v in node.items() if k not in _MADE} for node in record.payload.get("tool_graph", ())]
            found[str(record.payload["thread_id"])] = (events, nodes)
    return found


def chat_file(path: Path, steps: Sequence[Step], *, id_: str) -> Path:
    messages = []
    for message in messages_of(steps):
        (first, *_), chat = message, as_chat(message)
        if isinstance(first, Returned) and first.failed:
            chat["is_error"] = True
        messages.append(chat)
    file = path / "chat.jsonl"
    file.write_text(json.dumps({"id": id_, "messages": messages}) + "\n")
    return file
