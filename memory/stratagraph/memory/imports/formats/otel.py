"""OpenTelemetry's GenAI spans in files, and lines of messages in OpenTelemetry's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from stratagraph.memory.imports.conversation import Conversation, Step
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.formats.envelope import read_envelope
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.otel_messages import read_message
from stratagraph.memory.imports.formats.otel_spans import read_span, span_lists
from stratagraph.memory.imports.formats.otel_steps import conversations_of
from stratagraph.store.model.errors import InvalidInput

DOCUMENTED = (
    "OTLP 1.5; GenAI conventions of 2026 (semantic-conventions-genai), and those of 1.28 to 1.36; OpenLLMetry;"
    " OpenInference"
)
_SHOWN = 20  # lines, spans or messages at the beginning by which the formats are recognised
_IDS = ("traceId", "trace_id", "context", "spanContext", "span_context", "spanId", "span_id")
_TIMES = ("startTimeUnixNano", "start_time", "startTime", "start_time_unix_nano")
_PARTS = frozenset((
    "text", "tool_call", "tool_call_response", "reasoning", "blob", "uri", "file", "server_tool_call",
    "server_tool_call_response",
))  # fmt: skip


def _difference_of_spans(document: Any) -> Difference | None:
    lines = document if isinstance(document, list) else [document]
    shown: list[Any] = []
    for line in lines[:_SHOWN]:
        shown += line[:_SHOWN] if isinstance(line, list) else [line]
    place = next((i for i, one in enumerate(shown) if not isinstance(one, dict)), None)
    objects = [one for one in shown if isinstance(one, dict)]
    stranger = next((i for i, one in enumerate(objects) if not _is_of_spans(one)), None)
    return first_difference(
        [
            (bool(objects), "it has no object"),
            (place is None, f"its element {place} is no object"),
            (bool(objects) and stranger is None, f"its element {stranger} has neither resourceSpans nor a span's ids"),
        ]
    )


def _is_of_spans(value: dict[str, Any]) -> bool:
    if "resourceSpans" in value or "resource_spans" in value:
        return True
    has_ids = any(name in value for name in _IDS)
    return has_ids and "messages" not in value and ("attributes" in value or any(name in value for name in _TIMES))


def _read_spans(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    found = conversations_of((read_span(value, path) for path, value in span_lists(document)), new_reading)
    if not found:
        raise InvalidInput("none of the spans has an attribute gen_ai.*; give those of agents and models")
    return found


def _difference_of_messages(document: Any) -> Difference | None:
    messages = document.get("messages") if isinstance(document, dict) else None
    shown = list(islice(messages, _SHOWN)) if isinstance(messages, list) else []
    place = next((i for i, one in enumerate(shown) if not _has_parts(one)), None)
    parts = [part for one in shown if _has_parts(one) for part in one["parts"]]
    unknown = next((part for part in parts if not _is_part(part)), None)
    return first_difference(
        [
            (isinstance(document, dict), "it is no object"),
            (isinstance(messages, list), "it has no list `messages`; a line is {messages: [{role, parts}]}"),
            (bool(shown) and place is None, f"messages.{place or 0} has no list `parts`"),
            (bool(parts) and unknown is None, "a part has no `type` of OpenTelemetry, such as text or tool_call"),
        ]
    )


def _has_parts(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("parts"), list)


def _is_part(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and (kind in _PARTS or "content" in part)


def _read_messages(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    with new_reading().object(document, "") as fields:
        steps: list[Step] = []
        for turn, message in enumerate(fields.objects("messages")):
            with message:
                steps += read_message(message, turn)
        yield read_envelope(fields, steps)


OTEL = Format(
    name="OpenTelemetry GenAI spans",
    documented=DOCUMENTED,
    difference=_difference_of_spans,
    read=_read_spans,
    marks=("resourceSpans", "scopeSpans", "spans", "traceId", "attributes"),
    whole_file=True,
)
OTEL_MESSAGES = Format(
    name="OpenTelemetry GenAI messages",
    documented=DOCUMENTED,
    difference=_difference_of_messages,
    read=_read_messages,
    marks=("messages", "role", "parts"),
)
