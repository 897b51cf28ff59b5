"""A conversation reads alike from every format of chat messages that can express it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from hypothesis import given
from trace_writers import WRITERS, Call, Story, Turn, chat_completions, stories

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.known import format_of
from stratagraph.memory.imports.trace_captures import captures_of

FORMATS = {
    "legacy": "chat completions",
    "anthropic": "Anthropic messages",
    "responses": "OpenAI Responses",
    "langgraph": "LangChain messages",
    "langchain dicts": "LangChain messages",
    "langchain constructors": "LangChain messages",
    "gemini": "Gemini contents",
    "sharegpt": "ShareGPT",
}
AIRLINE = ROOT.parent / "shared" / "data" / "tau-airline" / "traces.jsonl"


def conversation_in(document: Any, name: str = "chat completions") -> Conversation:
    """Return the one conversation of a document, which is found to have the format."""
    value = json.loads(json.dumps(document))
    found = format_of(value, whole_file=False)
    assert found is not None
    assert found.name == name
    (conversation,) = found.read(value, Reading)
    return conversation


def told(conversation: Conversation) -> list[Any]:
    """Return what a conversation becomes: each capture, with the places of the calls that it depends on."""
    captures = captures_of(conversation).captures
    places = {one.content["call_id"]: place for place, one in enumerate(captures) if "call_id" in one.content}
    found = []
    for one in captures:
        content = {name: value for name, value in one.content.items() if name not in ("call_id", "depends_on")}
        used = [places[id_] for id_ in one.content.get("depends_on", ())]
        found.append((one.fingerprint, content, used, one.attachments))
    return found


@pytest.mark.parametrize("name", WRITERS)
@given(story=stories())
def test_a_conversation_reads_alike_from_every_format(name: str, story: Story) -> None:
    write, expressed = WRITERS[name]
    assert told(conversation_in(write(story), FORMATS[name])) == told(
        conversation_in(chat_completions(expressed(story)))
    )


def airline() -> Iterator[list[Turn]]:
    """Yield the conversations of the airline's file as turns."""
    for line in AIRLINE.read_text().splitlines():
        turns: list[Turn] = []
        results: dict[str, list[str]] = {}
        messages = json.loads(line)["messages"]
        for message in messages:
            if message["role"] == "tool":
                results.setdefault(message["tool_call_id"], []).append(message["content"])
        for message in messages:
            if message["role"] not in ("user", "assistant"):
                continue
            calls = tuple(
                Call(
                    tool=call["function"]["name"],
                    arguments=json.loads(call["function"]["arguments"]),
                    result=results[call["id"]].pop(0) if results.get(call["id"]) else None,
                )
                for call in message.get("tool_calls") or ()
            )
            turns.append(Turn(role=message["role"], text=message["content"] or "", calls=calls))
        yield turns


@pytest.mark.skipif(not Path(AIRLINE).exists(), reason="the airline's conversations are not here")
@pytest.mark.parametrize("name", WRITERS)
def test_real_conversations_have_one_fingerprint_in_every_format(name: str) -> None:
    write, expressed = WRITERS[name]
    count = 0
    for story in airline():
        expected = told(conversation_in(chat_completions(expressed(story))))
        assert told(conversation_in(write(story), FORMATS[name])) == expected
        count += 1
    assert count == 100
