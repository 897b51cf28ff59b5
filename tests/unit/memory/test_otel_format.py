"""OpenTelemetry's spans read as conversations: whatever their form and order, each message once."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fix_spans import STYLES, as_chat, as_otlp, as_parts, as_sdk_json, essence, messages_of, runs, spans_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.imports.conversation import Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.otel import OTEL, OTEL_MESSAGES
from stratagraph.memory.imports.formats.otel_spans import Span, read_span
from stratagraph.memory.imports.formats.otel_steps import MAX_PARTS, conversations_of
from stratagraph.memory.imports.trace_captures import captures_of
from stratagraph.memory.imports.trace_files import Document, read_documents
from stratagraph.store.model.errors import InvalidInput

TRACE = "5b8efff798038103d269b633813fc60c"
SAMPLES = Path(__file__).parents[2] / "data" / "traces"


def new_reading() -> Reading:
    return Reading(zone=UTC)


def read(document: Any) -> list[Conversation]:
    assert OTEL.difference(document) is None
    return list(OTEL.read(document, new_reading))


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def calls_share_turns(steps: Sequence[Step]) -> list[list[str | None]]:
    """The ids of calls, those of one turn together."""
    calls = [step for step in steps if isinstance(step, Called)]
    return [[one.id for one in group] for _, group in itertools.groupby(calls, key=lambda one: one.turn)]


@given(steps=runs(), style=st.sampled_from(sorted(STYLES)), data=st.data())
def test_spans_of_every_form_in_any_order_are_the_run_that_they_tell_of(
    steps: list[Step], style: str, data: st.DataObject
) -> None:
    """Spans come in several requests and lines, some of them twice."""
    spans = spans_of(steps, conversation=data.draw(st.sampled_from([None, "talk-7"])), style=style)
    spans = data.draw(st.permutations([*spans, *data.draw(st.lists(st.sampled_from(spans), max_size=3))]))
    cut = data.draw(st.integers(0, len(spans)))
    if data.draw(st.booleans()):
        parts = [spans[:cut], spans[cut:]]
        document: list[Any] = [otlp(*(as_otlp(one, TRACE) for one in part)) for part in parts if part]
    else:
        document = [as_sdk_json(one, TRACE) for one in spans]
    (found,) = read(document)
    assert essence(found.steps) == essence(steps)
    assert calls_share_turns(found.steps) == calls_share_turns(steps)
    assert found.id in ("talk-7", TRACE)
    assert found.unread["attributes.gen_ai.usage.input_tokens"] == sum(
        one.name.startswith("chat") for one in spans_of(steps, conversation=None)
    )
    assert all(step.at is not None for step in found.steps)


@given(steps=runs(), data=st.data())
def test_what_is_settled_of_a_part_of_the_spans_is_a_beginning_of_the_whole(
    steps: list[Step], data: st.DataObject
) -> None:
    spans = spans_of(steps, conversation="talk-7")
    some = data.draw(st.lists(st.sampled_from(spans), min_size=1, unique_by=lambda one: one.id))
    part = [read_span(as_otlp(one, TRACE), "") for one in some]
    (found,) = conversations_of(part, new_reading, is_over=False)
    said = [(one[:2] if one[0] == "returned" else one) for one in essence(found.steps)]
    whole = [(one[:2] if one[0] == "returned" else one) for one in essence(steps)]
    beginning = [one for one in whole[: len(said)] if one[0] != "called"]
    assert [one for one in said if one[0] != "called"] == beginning or said == whole[: len(said)]
    answered = {step.id for step in found.steps if isinstance(step, Returned)}
    last = next((one for one in reversed(found.steps) if isinstance(one, Said)), None)
    after = found.steps[found.steps.index(last) :] if last is not None else found.steps
    assert all(step.id in answered for step in after if isinstance(step, Called))


@given(steps=runs())
def test_lines_of_messages_in_the_shape_of_opentelemetry_are_the_same_conversation(steps: list[Step]) -> None:
    document = {"trace_id": "ot-1", "messages": [as_parts(message) for message in messages_of(steps)]}
    assert OTEL_MESSAGES.difference(document) is None
    assert OTEL.difference([document]) is not None
    (found,) = OTEL_MESSAGES.read(document, new_reading)
    without_flags = [(*one[:3], None) if one[0] == "returned" else one for one in essence(steps)]
    assert essence(found.steps) == without_flags
    assert found.id == "ot-1"
    assert OTEL_MESSAGES.difference({"messages": [as_chat(one) for one in messages_of(steps)]}) is not None


def test_a_tool_whose_result_no_message_repeats_is_told_by_its_span() -> None:
    steps: list[Step] = [
        Said(role="user", text="Order it."),
        Called(tool="order", arguments={"n": 1}, turn=1, id="a"),
        Returned(text="done", id="a"),
    ]
    spans = spans_of(steps, conversation="x")
    (found,) = read([otlp(*(as_otlp(one, TRACE) for one in spans))])
    assert essence(found.steps) == essence(steps)
    only_tools = [one for one in spans if one.name.startswith("execute_tool")]
    (found,) = read([otlp(*(as_otlp(one, TRACE) for one in only_tools))])
    assert essence(found.steps) == essence(steps[1:])


def test_the_outcome_is_what_the_span_of_the_agent_states_or_a_failure_of_its_run() -> None:
    steps: list[Step] = [Said(role="user", text="Order it."), Said(role="assistant", text="Done.")]
    for attributes, failed, outcome in (
        ({}, False, (None, None)),
        ({}, True, ("failure", "status = error")),
        ({"error.type": "timeout"}, True, ("failure", "error.type = timeout")),
        ({"reward": "0.5"}, False, None),
        ({"success": True}, False, ("success", "success = true")),
        ({"outcome": "partial"}, True, ("partial", "outcome = partial")),
    ):
        *calls, agent = spans_of(steps, conversation="x")
        agent = replace(agent, attributes={**agent.attributes, **attributes}, failed=failed)
        document = [otlp(*(as_otlp(one, TRACE) for one in (*calls, agent)))]
        if outcome is None:
            with pytest.raises(InvalidInput, match="is not an outcome"):
                read(document)
        else:
            (found,) = read(document)
            assert (found.outcome, found.reason) == outcome


def test_another_agent_of_the_same_conversation_is_a_conversation_of_its_own() -> None:
    first: list[Step] = [Said(role="user", text="Plan a trip."), Said(role="assistant", text="To Oslo.")]
    other: list[Step] = [Said(role="user", text="Find a hotel."), Said(role="assistant", text="The Grand.")]
    spans = [as_otlp(one, TRACE) for one in spans_of(first, conversation="x")]
    spans += [{**as_otlp(one, TRACE), "spanId": f"{one.id + 50:016x}"} for one in spans_of(other, conversation="x")]
    found = read([otlp(*spans)])
    assert sorted(essence(one.steps) for one in found) == sorted([essence(first), essence(other)])
    assert {one.id for one in found} == {"x"}


def test_calls_without_messages_and_other_spans_are_counted() -> None:
    silent = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    attributes = [{"key": key, "value": {"stringValue": one}} for key, one in silent.items()]
    bare = {"traceId": TRACE, "spanId": "00000000000000a1", "name": "chat m"}
    (found,) = read([otlp({**bare, "attributes": attributes}, {**bare, "spanId": "00000000000000a2", "name": "GET /"})])
    assert found.steps == []
    assert sorted(found.skipped.values()) == [1, 1]
    assert found.unread == {"attributes.gen_ai.request.model": 1}
    with pytest.raises(InvalidInput, match="none of the spans"):
        read([otlp(bare)])


@pytest.mark.parametrize(
    ("attribute", "value", "says"),
    [
        ("gen_ai.input.messages", '{"role": 7}', "gen_ai.input.messages.0.role: must be a string"),
        ("gen_ai.input.messages", "7", "gen_ai.input.messages: must be a list"),
        ("gen_ai.input.messages", '[{"role": "user", "parts": 7}]', "gen_ai.input.messages.0.parts: must be a list"),
        ("gen_ai.output.messages", '[{"parts": [{"type": "tool_call"}]}]', "parts.0.name: is missing"),
    ],
)
def test_a_malformed_message_is_refused_with_its_place(attribute: str, value: str, says: str) -> None:
    attributes = [{"key": attribute, "value": {"stringValue": value}}]
    span = {"traceId": TRACE, "spanId": "00000000000000a1", "name": "chat", "attributes": attributes}
    with pytest.raises(InvalidInput) as refused:
        read([otlp(span)])
    assert refused.value.message.startswith("0.resourceSpans.0.scopeSpans.0.spans.0.")
    assert says in refused.value.message


def test_parts_that_are_no_text_are_attachments_and_reasoning_is_counted() -> None:
    parts = [
        {"type": "text", "content": "Look:"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="},
        {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
        {"type": "file", "modality": "document", "file_id": "f-1"},
        {"type": "hologram"},
    ]
    answer = [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "A crane."}]
    document = {"messages": [{"role": "user", "parts": parts}, {"role": "assistant", "parts": answer}]}
    (found,) = OTEL_MESSAGES.read(document, new_reading)
    first, second = found.steps
    assert isinstance(first, Said)
    assert [(one.data, one.uri) for one in first.attachments] == [
        (b"hi", None),
        (None, "https://example.org/a.png"),
        (None, "f-1"),
    ]
    assert essence([second]) == [("said", "assistant", "A crane.")]
    assert sum(found.skipped.values()) == 2


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "role",
                        "parts",
                        "type",
                        "content",
                        "key",
                        "value",
                        "name",
                        "attributes",
                        "gen_ai.input.messages",
                        "traceId",
                        "spanId",
                        "stringValue",
                        "events",
                        "tool_calls",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    attributes = {"gen_ai.input.messages": value, "gen_ai.completion": value, "gen_ai.tool.name": value}
    for span in (
        value,
        {"traceId": "1f", "spanId": "2f", "attributes": value, "events": value},
        {"traceId": "1f", "spanId": "2f", "attributes": attributes},
    ):
        document = [otlp(span)]
        if OTEL.difference(document) is None:
            with suppress(InvalidInput):
                read(document)
    line = {"messages": value}
    if OTEL_MESSAGES.difference(line) is None:
        with suppress(InvalidInput):
            list(OTEL_MESSAGES.read(line, new_reading))


@pytest.mark.parametrize("name", ["openai_v2", "openllmetry", "openinference"])
def test_what_three_instrumentations_of_one_library_say_of_a_run_is_the_same(name: str) -> None:
    """The samples are what they printed of two calls of a model that was served for it, one span around them."""
    (document,) = read_documents(SAMPLES / f"otel_{name}.jsonl")
    assert isinstance(document, Document)
    (found,) = document.format.read(document.value, new_reading)
    assert essence(found.steps) == [
        ("said", "user", "Is a berth free at Penhale?"),
        ("called", "find_berths", {"port": "Penhale"}, "call_1"),
        ("returned", '{"berth": 3}', "call_1", None),
        ("said", "assistant", "Berth 3 is free."),
    ]


@pytest.mark.parametrize("indent", [None, 4])
def test_spans_are_read_as_the_sdk_prints_them(tmp_path: Path, indent: int | None) -> None:
    lines = [json.loads(line) for line in (SAMPLES / "otel_sdk.jsonl").read_text().splitlines()]
    file = tmp_path / "spans.json"
    file.write_text("".join(json.dumps(line, indent=indent) + "\n" for line in lines))
    (document,) = read_documents(file)
    assert isinstance(document, Document)
    assert document.format is OTEL
    assert document.value == lines


def test_the_samples_are_read_whole() -> None:
    (run,) = read([json.loads((SAMPLES / "otel_otlp.json").read_text())])
    lines = [json.loads(line) for line in (SAMPLES / "otel_sdk.jsonl").read_text().splitlines()]
    (same,) = read(lines)
    assert essence(run.steps) == essence(same.steps)
    assert [one[0] for one in essence(run.steps)] == ["said", "called", "returned", "called", "returned", "said"]
    assert [step.failed for step in run.steps if isinstance(step, Returned)] == [True, None]
    assert run.user == "maren"


def chat_span(number: int, messages: Sequence[Any], *, began: int) -> Span:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    at = datetime(2026, 2, 2, tzinfo=UTC) + timedelta(seconds=began)
    return Span(trace=TRACE, id=f"{number:016x}", parent="1", began_at=at, attributes=attributes)


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), max_size=12))
def test_a_history_extends_the_longest_one_that_it_continues(histories: list[list[str]]) -> None:
    """Compared with a search of all histories."""
    model: list[list[str]] = []
    for history in histories:
        for known in sorted(model, key=lambda one: -len(one)):
            shared = min(len(known), len(history))
            if known[:shared] == history[:shared]:
                known.extend(history[shared:])
                break
        else:
            model.append(list(history))
    spans = [
        chat_span(place, [said("user", text) for text in history], began=place)
        for place, history in enumerate(histories)
    ]
    found = conversations_of(spans, lambda: Reading(zone=UTC))
    assert [[step.text for step in one.steps if isinstance(step, Said)] for one in found] == model


def test_the_work_grows_with_the_spans_and_not_with_their_square() -> None:
    """Calls of a model that continue none, and calls of tools that wait: the lines that run for four times as many."""

    def lines(count: int) -> int:
        apart = [chat_span(place, [said("user", f"question {place}")], began=place) for place in range(count)]
        calls = [{"type": "tool_call", "id": f"c{place}", "name": "tides", "arguments": {}} for place in range(count)]
        results = [
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{place}", "response": "ok"}]}
            for place in reversed(range(count))
        ]
        together = chat_span(count, [{"role": "assistant", "parts": calls}, *results], began=count)
        run = 0

        def trace(_frame: object, _event: str, _arg: object) -> Any:
            nonlocal run
            run += 1
            return trace

        sys.settrace(trace)
        try:
            for one in conversations_of([*apart, together], lambda: Reading(zone=UTC)):
                captures_of(one)
        finally:
            sys.settrace(None)
        return run

    assert lines(400) < 6 * lines(100)


def test_a_span_of_very_many_parts_is_refused() -> None:
    parts = [{"type": "text", "content": "x"}] * (MAX_PARTS + 1)
    with pytest.raises(InvalidInput, match="at most 10,000 parts"):
        conversations_of([chat_span(1, [{"role": "user", "parts": parts}], began=0)], lambda: Reading(zone=UTC))
