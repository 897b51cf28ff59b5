"""A session of a framework becomes the captures that an import of the same conversation makes, however it is cut."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st
from session_files import SESSION, claude_code
from trace_writers import Story, anthropic, responses, stories

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats import claude_code as claude_format
from stratagraph.memory.imports.formats import responses as responses_format
from stratagraph.memory.imports.formats.anthropic import ANTHROPIC
from stratagraph.memory.imports.trace_captures import captures_of
from stratagraph_client.frameworks.claude_entries import EntryReader
from stratagraph_client.frameworks.response_items import ItemReader
from stratagraph_client.frameworks.steps import StepReader

TRACES = ROOT / "tests" / "data" / "traces"
Captures = list[tuple[str, Any]]
CUTS = st.lists(st.integers(0, 30), max_size=4)


def portions(items: Sequence[Any], cuts: Iterable[int]) -> Iterable[Sequence[Any]]:
    places = [0, *sorted({cut for cut in cuts if cut < len(items)}), len(items)]
    return (items[first:last] for first, last in pairwise(places))


def imported(conversation: Conversation) -> Captures:
    return [(one.kind.name, one.content) for one in captures_of(conversation).captures]


def captured_items(items: Sequence[Any], cuts: Iterable[int]) -> Captures:
    read, steps = ItemReader(), StepReader()
    found = [one for part in portions(items, cuts) for one in steps.read(read.read(part))]
    return [(one.kind, one.content) for one in [*found, *steps.unanswered()]]


def captured_entries(lines: Sequence[Any], cuts: Iterable[int]) -> dict[str, Captures]:
    reader, found = EntryReader(SESSION), defaultdict[str, Captures](list)
    for part in portions(lines, cuts):
        for thread, one in reader.read(part):
            found[thread].append((one.kind, one.content))
    return dict(found)


@given(story=stories(), cuts=CUTS)
def test_items_of_a_session_are_the_steps_of_an_import(story: Story, cuts: list[int]) -> None:
    document = responses(story)
    (conversation,) = responses_format.read(document, Reading)
    assert captured_items(document["input"], cuts) == imported(conversation)


def documents(name: str) -> list[Any]:
    text = (TRACES / name).read_text()
    return [json.loads(text)] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["responses_items.json", "responses.jsonl"])
@given(cuts=CUTS)
def test_the_samples_of_responses_are_the_steps_of_an_import(name: str, cuts: list[int]) -> None:
    for document in documents(name):
        (conversation,) = responses_format.read(document, Reading)
        bodies = [document] if isinstance(document, dict) else [{"input": document}]
        bodies = [half for body in bodies for half in (body, body.get("request") or {}, body.get("response") or {})]
        items: list[Any] = []
        for body in bodies:
            for key in ("input", "items", "output"):
                value = body.get(key)
                items += [{"role": "user", "content": value}] if isinstance(value, str) else value or []
        assert captured_items(items, cuts) == imported(conversation)


def conversations(lines: Sequence[Any]) -> dict[str, Captures]:
    """Return what an import makes of the lines of a file, by conversation, without the calls that have no result."""
    found = {}
    for conversation in claude_format.read(lines, Reading):
        assert conversation.id is not None
        captures = captures_of(conversation)
        captures.leave_open_calls()
        if captures.captures:
            found[conversation.id] = [(one.kind.name, one.content) for one in captures.captures]
    return found


@given(story=stories(), cuts=CUTS, split=st.booleans())
def test_entries_of_a_transcript_are_the_steps_of_an_import(story: Story, cuts: list[int], *, split: bool) -> None:
    (conversation,) = ANTHROPIC.read(anthropic(story), Reading)
    lines = claude_code(conversation.steps, split=split)
    assert captured_entries(lines, cuts) == conversations(lines)


@pytest.mark.parametrize("name", ["claude_code.jsonl", "claude_code_subagent.jsonl"])
@given(cuts=CUTS)
def test_the_samples_of_claude_code_are_the_steps_of_an_import(name: str, cuts: list[int]) -> None:
    lines = documents(name)
    assert captured_entries(lines, cuts) == conversations(lines)


@given(
    st.lists(
        st.recursive(
            st.none() | st.text() | st.integers() | st.booleans(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "type",
                            "role",
                            "content",
                            "output",
                            "call_id",
                            "id",
                            "name",
                            "message",
                            "uuid",
                            "arguments",
                            "text",
                            "input",
                            "function_call",
                            "error",
                            "status",
                        ]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        )
    )
)
def test_what_is_malformed_has_no_steps_and_stops_nothing(items: list[Any]) -> None:
    captured_items(items, [])
    captured_entries(items, [])
