"""Conversations written in each format of chat messages, to see that all of them are read back alike."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call and its result; None without one."""

    tool: str
    arguments: dict[str, Any]
    result: str | None = "ok"
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message of the user or of the assistant, whose calls ran side by side; `picture` is a PNG beside its text."""

    role: str
    text: str = ""
    picture: bytes | None = None
    calls: tuple[Call, ...] = ()


Story = Sequence[Turn]
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00<"), min_size=1, max_size=30).filter(str.strip)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)
_TOOLS = st.sampled_from(["look_up", "move", "weigh", "post"])
_CALLS = st.builds(
    Call, tool=_TOOLS, arguments=st.dictionaries(_TEXTS, _VALUES, max_size=3), result=_TEXTS, failed=st.booleans()
)
_USERS = st.builds(Turn, role=st.just("user"), text=_TEXTS, picture=st.none() | st.binary(min_size=1, max_size=9))
_ASSISTANTS = st.builds(
    Turn, role=st.just("assistant"), text=_TEXTS | st.just(""), calls=st.lists(_CALLS, max_size=3).map(tuple)
).filter(lambda turn: turn.text or turn.calls)


@st.composite
def stories(draw: st.DrawFn) -> list[Turn]:
    """Draw a conversation. The calls of its last message may have no results yet."""
    turns = draw(st.lists(_USERS | _ASSISTANTS, min_size=1, max_size=6))
    kept = draw(st.integers(0, len(turns[-1].calls)))
    if kept < len(turns[-1].calls):
        calls = [call if place < kept else replace(call, result=None) for place, call in enumerate(turns[-1].calls)]
        turns[-1] = replace(turns[-1], calls=tuple(calls))
    return turns


def _base64(turn: Turn) -> str:
    return base64.b64encode(turn.picture or b"").decode()


def _openai_content(turn: Turn) -> Any:
    """Return the content of a message of chat completions or LangChain."""
    if turn.picture is None:
        return turn.text
    url = {"url": f"data:image/png;base64,{_base64(turn)}"}
    return [{"type": "text", "text": turn.text}, {"type": "image_url", "image_url": url}]


def _numbered(story: Story) -> Iterator[tuple[Turn, list[tuple[str, Call]]]]:
    numbers = count()
    for turn in story:
        yield turn, [(f"call_{next(numbers)}", call) for call in turn.calls]


def chat_completions(story: Story) -> Any:
    """Write chat completions."""
    messages: list[Any] = [{"role": "system", "content": "Be brief."}]
    for turn, calls in _numbered(story):
        listed = [
            {"id": id_, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}
            for id_, call in calls
        ]
        messages.append(
            {"role": turn.role, "content": _openai_content(turn) or None} | ({"tool_calls": listed} if listed else {})
        )
        messages += [
            {"role": "tool", "tool_call_id": id_, "content": call.result} | ({"status": "error"} if call.failed else {})
            for id_, call in calls
            if call.result is not None
        ]
    return {"messages": messages}


def legacy(story: Story) -> Any:
    """Write chat completions with `function_call`, which has one call for a message and no ids."""
    messages: list[Any] = []
    for turn in story:
        texts = [_openai_content(turn) or None, *[None] * (len(turn.calls) - 1)]
        calls = turn.calls or (None,)
        for text, call in zip(texts, calls, strict=True):
            said: dict[str, Any] = {"role": turn.role, "content": text}
            if call is None:
                messages.append(said)
                continue
            messages.append(said | {"function_call": {"name": call.tool, "arguments": json.dumps(call.arguments)}})
            if call.result is not None:
                failed = {"is_error": True} if call.failed else {}
                messages.append({"role": "function", "name": call.tool, "content": call.result} | failed)
    return {"messages": messages}


def anthropic(story: Story) -> Any:
    """Write a request body of Anthropic's messages; results of calls come before what the user says next."""
    messages: list[Any] = []
    for turn, calls in _numbered(story):
        blocks: list[Any] = [{"type": "text", "text": turn.text}] if turn.text else []
        if turn.picture is not None:
            source = {"type": "base64", "media_type": "image/png", "data": _base64(turn)}
            blocks.append({"type": "image", "source": source})
        blocks += [{"type": "tool_use", "id": id_, "name": call.tool, "input": call.arguments} for id_, call in calls]
        messages.append({"role": turn.role, "content": blocks})
        results = [
            {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": call.result}]}
            | ({"is_error": True} if call.failed else {})
            for id_, call in calls
            if call.result is not None
        ]
        if results:
            messages.append({"role": "user", "content": results})
    return {"model": "m", "system": "Be brief.", "messages": messages}


def responses(story: Story) -> Any:
    """Write the input of the Responses API."""
    items: list[Any] = []
    for turn, calls in _numbered(story):
        if turn.text:
            kind = "input_text" if turn.role == "user" else "output_text"
            content = [{"type": kind, "text": turn.text}]
            if turn.picture is not None:
                content.append({"type": "input_image", "image_url": f"data:image/png;base64,{_base64(turn)}"})
            items.append({"type": "message", "role": turn.role, "content": content})
        items += [
            {"type": "function_call", "call_id": id_, "name": call.tool, "arguments": json.dumps(call.arguments)}
            for id_, call in calls
        ]
        items += [
            {"type": "function_call_output", "call_id": id_, "output": call.result}
            | ({"status": "incomplete"} if call.failed else {})
            for id_, call in calls
            if call.result is not None
        ]
    return {"input": items, "instructions": "Be brief."}


def langgraph(story: Story) -> Any:
    """Write the state of a LangGraph agent."""
    messages: list[Any] = [{"type": "system", "content": "Be brief."}]
    for turn, calls in _numbered(story):
        listed = [{"name": call.tool, "args": call.arguments, "id": id_, "type": "tool_call"} for id_, call in calls]
        kind = {"user": "human", "assistant": "ai"}[turn.role]
        messages.append({"type": kind, "content": _openai_content(turn)} | ({"tool_calls": listed} if listed else {}))
        messages += [
            {
                "type": "tool",
                "content": call.result,
                "name": call.tool,
                "tool_call_id": id_,
                "status": "error" if call.failed else "success",
            }
            for id_, call in calls
            if call.result is not None
        ]
    return {"values": {"messages": messages}, "next": []}


def langchain_dicts(story: Story) -> Any:
    """Write the list that `messages_to_dict` returns."""
    messages = langgraph(story)["values"]["messages"]
    return [{"type": one["type"], "data": one} for one in messages]


def langchain_constructors(story: Story) -> Any:
    """Write a checkpoint with constructors, as `dumpd` returns them."""
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
    messages = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", names[one["type"]]], "kwargs": one}
        for one in langgraph(story)["values"]["messages"]
    ]
    return {"v": 4, "ts": "2026-11-20T10:00:00Z", "id": "1f0a", "channel_values": {"messages": messages}}


def gemini(story: Story) -> Any:
    """Write Gemini contents, whose calls have no ids."""
    contents: list[Any] = []
    for turn in story:
        parts: list[Any] = [{"text": turn.text}] if turn.text else []
        if turn.picture is not None:
            parts.append({"inlineData": {"mimeType": "image/png", "data": _base64(turn)}})
        parts += [{"functionCall": {"name": call.tool, "args": call.arguments}} for call in turn.calls]
        contents.append({"role": {"user": "user", "assistant": "model"}[turn.role], "parts": parts})
        results = [
            {"functionResponse": {"name": call.tool, "response": {"error" if call.failed else "output": call.result}}}
            for call in turn.calls
            if call.result is not None
        ]
        if results:
            contents.append({"role": "user", "parts": results})
    return {"contents": contents}


def sharegpt(story: Story) -> Any:
    """Write ShareGPT entries, whose results name no call and have no flags."""
    entries: list[Any] = [{"from": "system", "value": "Be brief."}]
    for turn in story:
        if turn.text:
            entries.append({"from": {"user": "human", "assistant": "gpt"}[turn.role], "value": turn.text})
        if turn.calls:
            calls = [{"name": call.tool, "arguments": call.arguments} for call in turn.calls]
            entries.append({"from": "function_call", "value": json.dumps(calls)})
        entries += [{"from": "observation", "value": call.result} for call in turn.calls if call.result is not None]
    return {"conversations": entries}


def in_sequence(story: Story) -> list[Turn]:
    """Return the conversation as formats with one call for a message write it."""
    found: list[Turn] = []
    for turn in story:
        texts = [turn.text, *[""] * (len(turn.calls) - 1)]
        calls: list[tuple[Call, ...]] = [(call,) for call in turn.calls] or [()]
        found += [replace(turn, text=text, calls=some) for text, some in zip(texts, calls, strict=True)]
    return found


def only_texts(story: Story) -> list[Turn]:
    """Return the conversation as formats without pictures and flags of failure write it."""
    return [
        replace(turn, picture=None, calls=tuple(replace(call, failed=False) for call in turn.calls)) for turn in story
    ]


def as_it_is(story: Story) -> Story:
    """Return the conversation."""
    return story


# What each format writes, and what of a conversation it can express.
WRITERS: dict[str, tuple[Callable[[Story], Any], Callable[[Story], Story]]] = {
    "legacy": (legacy, in_sequence),
    "anthropic": (anthropic, as_it_is),
    "responses": (responses, as_it_is),
    "langgraph": (langgraph, as_it_is),
    "langchain dicts": (langchain_dicts, as_it_is),
    "langchain constructors": (langchain_constructors, as_it_is),
    "gemini": (gemini, as_it_is),
    "sharegpt": (sharegpt, only_texts),
}
