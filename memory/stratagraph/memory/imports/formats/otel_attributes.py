"""Attributes and events of spans about models, agents and tools: of OpenTelemetry, OpenLLMetry and OpenInference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from stratagraph.memory.imports.conversation import Returned
from stratagraph.memory.imports.fields import Fields
from stratagraph.memory.imports.formats.otel_messages import json_of, unflattened
from stratagraph.memory.imports.formats.otel_spans import Event, Span
from stratagraph.memory.imports.formats.parts import PROMPTS, read_arguments, result_text
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput

DETAILS = "gen_ai.client.inference.operation.details"  # the event that has the messages where the span has not
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_PROMPT, _COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"  # events of versions before 1.28
_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")
_INPUTS = ("gen_ai.prompt", "llm.input_messages")  # flattened, or as JSON
_OUTPUTS = ("gen_ai.completion", "llm.output_messages")


class Kind(Enum):
    """What a span is of."""

    CHAT = "a call of a model"
    AGENT = "a run of an agent, whose parts have spans of their own"
    TOOL = "a run of a tool"
    OTHER = "anything else"


_KINDS = {
    "chat": Kind.CHAT,
    "text_completion": Kind.CHAT,
    "generate_content": Kind.CHAT,
    "completion": Kind.CHAT,
    "llm": Kind.CHAT,
    "execute_tool": Kind.TOOL,
    "tool": Kind.TOOL,
    "invoke_agent": Kind.AGENT,
    "invoke_workflow": Kind.AGENT,
    "create_agent": Kind.AGENT,
    "agent": Kind.AGENT,
    "chain": Kind.AGENT,
    "workflow": Kind.AGENT,
    "task": Kind.AGENT,
}


def kind_of(span: Span) -> Kind:
    """Return the kind of a span, by its attributes."""
    given = span.attributes
    for name in ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type"):
        value = given.get(name)
        if isinstance(value, str):
            return _KINDS.get(value.casefold(), Kind.OTHER)
    if "gen_ai.tool.name" in given:
        return Kind.TOOL
    has_messages = any(name.startswith((*_MESSAGES, *_INPUTS, *_OUTPUTS)) for name in given)
    return Kind.CHAT if has_messages or any(event.name in _ROLES for event in span.events) else Kind.OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """What the span of a tool tells. `text` is the result, None if the span has none."""

    tool: str
    arguments: Any
    text: str | None
    error: str
    failed: bool | None
    id: str | None
    began_at: datetime | None
    ended_at: datetime | None

    def returned(self, id_: str | None) -> Returned:
        """Return the result as a step."""
        text = self.text if self.text is not None else f"Error: {self.error}"
        return Returned(text=text, id=id_, tool=self.tool, failed=self.failed, at=self.ended_at)


def read_tool(span: Span, fields: Fields) -> ToolRun:
    """Return what the span of a tool tells."""
    name = fields.take("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
    if not isinstance(name, str) or not name.strip():
        name = span.name.removeprefix("execute_tool ").strip()
    if not name:
        raise InvalidInput("gen_ai.tool.name: is missing; it must be the name of the tool")
    arguments = fields.take("gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input")
    result = fields.take("gen_ai.tool.call.result", "output.value", "traceloop.entity.output")
    fields.take("input.mime_type", "output.mime_type")
    error = fields.take("error.type")
    raised = next((event for event in span.events if event.name == "exception"), None)
    told = None if raised is None else raised.attributes.get("exception.message")
    return ToolRun(
        tool=name,
        arguments=read_arguments(arguments),
        text=None if result is None else result_text(result),
        error=str(told or error or "the tool failed"),
        failed=True if error is not None or span.failed else span.failed,
        id=fields.id("gen_ai.tool.call.id", "tool_call.id"),
        began_at=span.began_at,
        ended_at=span.ended_at,
    )


def read_messages(span: Span, fields: Fields) -> Iterator[tuple[str, Any, bool]]:
    """Yield the path, the JSON and whether it is an output, of each message of a span, those of the input first."""
    fields.take("error.type")
    details = [event for event in span.events if event.name == DETAILS]
    for event in details:
        with fields.reading.object(dict(event.attributes), "events") as inner:
            yield from _current(inner)
    if fields.take("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions") is not None:
        yield from _current(fields)
        return
    if details:
        return
    events = [event for event in span.events if event.name in _ROLES]
    if events:
        for event in events:
            yield event.name, _of_event(event), event.name == "gen_ai.choice"
        return
    for event in span.events:
        for name, inner_name, is_output in ((_PROMPT, _INPUTS[0], False), (_COMPLETION, _OUTPUTS[0], True)):
            if event.name == name:
                yield from _listed(name, event.attributes.get(inner_name), is_output)
    for names, is_output in ((_INPUTS, False), (_OUTPUTS, True)):
        for name in names:
            whole = fields.take(name)
            if whole is not None:
                yield from _listed(name, whole, is_output)
            flat = [one for one in span.attributes if one.startswith(f"{name}.")]
            fields.take(*flat)
            for place, message in enumerate(unflattened(span.attributes, name)):
                yield f"{name}.{place}", _with_role(message, is_output), is_output


def _current(fields: Fields) -> Iterator[tuple[str, Any, bool]]:
    """Yield the messages in the attributes of the current conventions."""
    fields.skip(PROMPTS, "gen_ai.system_instructions")
    yield from _listed("gen_ai.input.messages", fields.take("gen_ai.input.messages"), False)
    outputs = list(_listed("gen_ai.output.messages", fields.take("gen_ai.output.messages"), True))
    # Each is one of several answers of the model, of which an agent goes on with one.
    choices = [one for one in outputs if isinstance(one[1], dict) and "finish_reason" in one[1]]
    if len(choices) == len(outputs) > 1:
        fields.reading.skipped["further answers of the model (choices)"] += len(outputs) - 1
        outputs = outputs[:1]
    yield from outputs


def _listed(path: str, value: Any, is_output: bool) -> Iterator[tuple[str, Any, bool]]:
    value = json_of(value)
    if value is None:
        return
    if isinstance(value, str):  # older versions record a text
        value = [{"role": "assistant" if is_output else "user", "content": value}]
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise InvalidInput(f"{path}: must be a list of messages, not {json_type(value)}")
    for place, message in enumerate(value):
        yield f"{path}.{place}", _with_role(json_of(message), is_output), is_output


def _with_role(message: Any, is_output: bool) -> Any:
    """Return a message, with the role of an answer where an output says none."""
    if isinstance(message, dict) and is_output and "role" not in message and "message" not in message:
        return {"role": "assistant", **message}
    return message


def _of_event(event: Event) -> dict[str, Any]:
    """Return the message of an event such as `gen_ai.user.message`."""
    body: dict[str, Any] = {"role": _ROLES[event.name]}
    for name in ("gen_ai.event.content", "event.body", "body"):
        whole = json_of(event.attributes.get(name))
        if isinstance(whole, dict):
            body |= whole
    for name, value in event.attributes.items():
        if not name.startswith(("gen_ai.", "event.")):
            body[name] = json_of(value) if name in ("tool_calls", "message", "parts") else value
    message = json_of(body.pop("message", None))
    if isinstance(message, dict):
        body |= message
    elif isinstance(message, str):
        body.setdefault("content", message)
    return body
