"""Runs of agents, written as the spans that an instrumented agent sends, in the forms of several instrumentations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from stratagraph.memory.imports.conversation import Called, Returned, Said, Step

START_NS = 1_770_000_000 * 10**9  # of the first span
Attributes = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MadeSpan:
    """A span as the test makes it: `began` and `ended` are in seconds since the first one."""

    id: int
    parent: int | None
    name: str
    began: int
    ended: int
    attributes: Mapping[str, Any]
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    failed: bool = False


def messages_of(steps: Sequence[Step]) -> list[list[Step]]:
    """Group steps to messages: a turn with its calls, and each result by itself."""
    messages: list[list[Step]] = []
    for step in steps:
        before = messages[-1][-1] if messages else None
        follows_turn = isinstance(before, Said) and before.role == "assistant"
        follows_call = isinstance(before, Called) and isinstance(step, Called) and before.turn == step.turn
        if isinstance(step, Called) and (follows_turn or follows_call):
            messages[-1].append(step)
        else:
            messages.append([step])
    return messages


def as_parts(message: Sequence[Step]) -> dict[str, Any]:
    """Return a message in the form of the current conventions."""
    parts: list[dict[str, Any]] = []
    role = "assistant"
    for step in message:
        if isinstance(step, Said):
            role = step.role
            parts.append({"type": "text", "content": step.text})
        elif isinstance(step, Called):
            parts.append({"type": "tool_call", "id": step.id, "name": step.tool, "arguments": step.arguments})
        else:
            role = "tool"
            parts.append({"type": "tool_call_response", "id": step.id, "response": step.text})
    return {"role": role, "parts": parts}


def as_chat(message: Sequence[Step]) -> dict[str, Any]:
    """Return a message of chat completions."""
    found: dict[str, Any] = {"role": "assistant", "content": None}
    for step in message:
        if isinstance(step, Said):
            found |= {"role": step.role, "content": step.text}
        elif isinstance(step, Called):
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            found.setdefault("tool_calls", []).append({"id": step.id, "type": "function", "function": function})
        else:
            found = {"role": "tool", "tool_call_id": step.id, "content": step.text}
    return found


def flattened(prefix: str, value: Any) -> Attributes:
    """Return a JSON value as attributes with dotted names."""
    if isinstance(value, dict):
        return {k: v for key, one in value.items() for k, v in flattened(f"{prefix}.{key}", one).items()}
    if isinstance(value, list):
        return {k: v for key, one in enumerate(value) for k, v in flattened(f"{prefix}.{key}", one).items()}
    return {} if value is None else {prefix: value}


def _current(history: list[list[Step]], answer: list[Step]) -> tuple[Attributes, list[Any]]:
    inputs = [{"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}, *map(as_parts, history)]
    output = [{**as_parts(answer), "finish_reason": "stop"}]
    return {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(output)}, []


def _details(history: list[list[Step]], answer: list[Step]) -> tuple[Attributes, list[Any]]:
    attributes, _ = _current(history, answer)
    return {}, [("gen_ai.client.inference.operation.details", attributes)]


def _openllmetry(history: list[list[Step]], answer: list[Step]) -> tuple[Attributes, list[Any]]:
    def plain(message: list[Step]) -> dict[str, Any]:
        chat = as_chat(message)
        calls = [{"id": one["id"], **one["function"]} for one in chat.pop("tool_calls", [])]
        return {**chat, **({"tool_calls": calls} if calls else {})}

    return (
        flattened("gen_ai.prompt", [plain(one) for one in history])
        | flattened("gen_ai.completion", [{"finish_reason": "stop", **plain(answer)}]),
        [],
    )


def _openinference(history: list[list[Step]], answer: list[Step]) -> tuple[Attributes, list[Any]]:
    def nested(message: list[Step]) -> dict[str, Any]:
        chat = as_chat(message)
        calls = [{"tool_call": one} for one in chat.pop("tool_calls", [])]
        return {"message": {**chat, **({"tool_calls": calls} if calls else {})}}

    return (
        {"openinference.span.kind": "LLM"}
        | flattened("llm.input_messages", [nested(one) for one in history])
        | flattened("llm.output_messages", [nested(answer)]),
        [],
    )


def _events(history: list[list[Step]], answer: list[Step]) -> tuple[Attributes, list[Any]]:
    events: list[tuple[str, dict[str, Any]]] = []
    for message in history:
        chat = as_chat(message)
        role = chat.pop("role")
        body = {k: json.dumps(v) if k == "tool_calls" else v for k, v in chat.items() if v is not None}
        if role == "tool":
            body["id"] = body.pop("tool_call_id")
        events.append((f"gen_ai.{role}.message", body))
    events.append(("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps(as_chat(answer))}))
    return {}, events


STYLES: Mapping[str, Callable[[list[list[Step]], list[Step]], tuple[Attributes, list[Any]]]] = {
    "current": _current,
    "details": _details,
    "openllmetry": _openllmetry,
    "openinference": _openinference,
    "events": _events,
}


def spans_of(steps: Sequence[Step], *, conversation: str | None, style: str = "current") -> list[MadeSpan]:
    """Return the spans of a run: one for the agent, one for each call of the model and of a tool."""
    messages = messages_of(steps)
    named = {} if conversation is None else {"gen_ai.conversation.id": conversation}
    spans: list[MadeSpan] = []
    runs: dict[str | None, Called] = {}
    at = 1
    for place, message in enumerate(messages):
        first = message[0]
        if isinstance(first, Returned):
            call = runs[first.id]
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.call.arguments": json.dumps(call.arguments),
            }
            failure = {"error.type": "ToolError"} if first.failed else {"gen_ai.tool.call.result": first.text}
            span = MadeSpan(
                id=at,
                parent=999_999,
                name=f"execute_tool {call.tool}",
                began=at,
                ended=at + 1,
                attributes=attributes | failure,
                failed=bool(first.failed),
            )
        elif isinstance(first, Called) or first.role == "assistant":
            runs |= {one.id: one for one in message if isinstance(one, Called)}
            given, events = STYLES[style](messages[:place], message)
            base = {} if style == "openinference" else {"gen_ai.operation.name": "chat"}
            span = MadeSpan(
                id=at,
                parent=999_999,
                name="chat some-model",
                began=at,
                ended=at + 1,
                attributes={**base, **named, **given, "gen_ai.usage.input_tokens": at},
                events=events,
            )
        else:
            continue
        spans.append(span)
        at += 2
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk", **named}
    spans.append(MadeSpan(id=999_999, parent=None, name="invoke_agent clerk", began=0, ended=at, attributes=agent))
    return spans


def as_otlp(span: MadeSpan, trace: str) -> dict[str, Any]:
    """Return a span of OTLP/JSON."""

    def attributes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
        kinds = {bool: "boolValue", int: "intValue", str: "stringValue"}
        return [
            {"key": key, "value": {kinds[type(one)]: str(one) if type(one) is int else one}}
            for key, one in given.items()
        ]

    return {
        "traceId": trace,
        "spanId": f"{span.id:016x}",
        **({} if span.parent is None else {"parentSpanId": f"{span.parent:016x}"}),
        "name": span.name,
        "startTimeUnixNano": str(START_NS + span.began * 10**9),
        "endTimeUnixNano": str(START_NS + span.ended * 10**9),
        "attributes": attributes(span.attributes),
        "events": [{"name": name, "attributes": attributes(given)} for name, given in span.events],
        "status": {"code": 2} if span.failed else {},
    }


def as_sdk_json(span: MadeSpan, trace: str) -> dict[str, Any]:
    """Return a span as the Python SDK writes it."""
    return {
        "name": span.name,
        "context": {"trace_id": f"0x{trace}", "span_id": f"0x{span.id:016x}", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None if span.parent is None else f"0x{span.parent:016x}",
        "start_time": f"2026-02-02T02:{span.began // 60 % 60:02}:{span.began % 60:02}.000000Z",
        "end_time": f"2026-02-02T02:{span.ended // 60 % 60:02}:{span.ended % 60:02}.000000Z",
        "status": {"status_code": "ERROR" if span.failed else "UNSET"},
        "attributes": dict(span.attributes),
        "events": [{"name": name, "timestamp": "2026-02-02T02:00:00Z", "attributes": a} for name, a in span.events],
        "links": [],
        "resource": {"attributes": {"service.name": "clerk"}},
    }


_words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and text == text.strip()
)
_arguments = st.dictionaries(st.sampled_from(["port", "day"]), _words | st.integers(0, 99), max_size=2)


@st.composite
def runs(draw: st.DrawFn) -> list[Step]:
    """Steps of an agent: rounds of a user's turn, calls with their results, and an answer. Texts may repeat."""
    steps: list[Step] = []
    turn = 0
    for _ in range(draw(st.integers(1, 3))):
        steps.append(Said(role="user", text=draw(_words)))
        for _ in range(draw(st.integers(0, 2))):
            turn += 1
            if draw(st.booleans()):
                steps.append(Said(role="assistant", text=draw(_words)))
            calls = [
                Called(
                    tool=draw(st.sampled_from(["tides", "cranes"])),
                    arguments=draw(_arguments),
                    turn=turn,
                    id=f"c{turn}-{place}",
                )
                for place in range(draw(st.integers(1, 3)))
            ]
            results: list[Step] = [
                Returned(text=draw(_words), id=call.id, failed=True if draw(st.booleans()) else None) for call in calls
            ]
            steps += [*calls, *draw(st.permutations(results))]
        steps.append(Said(role="assistant", text=draw(_words)))
    return steps


def essence(steps: Sequence[Step]) -> list[tuple[Any, ...]]:
    """Return what steps say and do, without their times and the numbers of their turns."""
    found: list[tuple[Any, ...]] = []
    for step in steps:
        if isinstance(step, Said):
            found.append(("said", step.role, step.text))
        elif isinstance(step, Called):
            found.append(("called", step.tool, step.arguments, step.id))
        else:
            found.append(("returned", step.text, step.id, step.failed))
    return found
