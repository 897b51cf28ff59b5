"""Chat completions: `{messages: [{role, content, tool_calls, tool_call_id}]}`, or the list of messages itself.

Also read are the older `function_call` and the role `function`, refusals, calls without ids (Ollama), and the roles
`human` and `ai`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stratagraph.memory.imports.conversation import ROLES, Attachment, Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.envelope import read_envelope
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import (
    INSTRUCTING,
    PROMPTS,
    REASONING,
    decoded,
    read_arguments,
    read_content,
    read_failure,
    storable,
)
from stratagraph.store.model.errors import InvalidInput

_SHOWN = 20  # messages at the beginning by which the format is recognised
_SPOKEN = ("content", "tool_calls", "function_call", "refusal", "text", "audio", "reasoning_content", "reasoning")


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of chat completions; None if it is one."""
    messages = document.get("messages") if isinstance(document, dict) else document
    listed = isinstance(messages, list)
    beginning = messages[:_SHOWN] if isinstance(messages, list) else []
    shown = [message for message in beginning if isinstance(message, dict)]
    place = next((i for i, one in enumerate(shown) if not isinstance(one.get("role"), str)), None)
    silent = next((i for i, one in enumerate(shown) if not any(name in one for name in _SPOKEN)), None)
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (listed, "it has no list `messages`; a conversation is {messages: [{role, content}, …]}"),
            (isinstance(document, dict) or len(shown) > 0, "it is a list without messages"),
            (listed and len(shown) == len(beginning), "messages has an element that is no object"),
            (listed and place is None, f"messages.{place} has no `role`"),
            (listed and silent is None, f"messages.{silent} has no `content` and no `tool_calls`"),
        ]
    )


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"messages": document}, "") as fields:
        steps: list[Step] = []
        for turn, message in enumerate(fields.objects("messages")):
            with message:
                steps += _message(message, turn)
        yield read_envelope(fields, steps)


def _message(message: Fields, turn: int) -> list[Step]:
    """Return the steps of one message."""
    role = message.required_text("role")
    role = ROLES.get(role.casefold(), role)
    at = message.time("timestamp", "created_at", "time")
    reading = message.reading
    if role in INSTRUCTING:
        message.skip(PROMPTS, "content")
        return []
    message.skip(REASONING, "reasoning_content", "reasoning", "thinking", "reasoning_details")
    text, attachments = read_content(message.take("content", "text"), message.path("content"), reading)
    attachments += _pictures(message)
    if role in ("tool", "function"):
        return [
            Returned(
                text=text,
                id=_id(message, "tool_call_id"),
                tool=message.id("name", "tool_name"),
                failed=read_failure(message),
                at=at,
                attachments=attachments,
            )
        ]
    refusal, spoken = message.text("refusal"), message.object("audio")
    if spoken is not None:
        with spoken:
            transcript = spoken.text("transcript")
            text = text or transcript or ""
    text = "\n".join(part for part in (text, storable(refusal or "")) if part)
    steps: list[Step] = []
    if text.strip() or attachments:
        steps.append(Said(role=role, text=text, speaker=message.id("name"), at=at, attachments=attachments))
    for call in message.objects("tool_calls"):
        with call:
            call.take("type")
            function = call.object("function") or call
            with function:
                tool, arguments = function.required_text("name"), function.take("arguments", "args")
            steps.append(Called(tool=tool, arguments=read_arguments(arguments), turn=turn, id=_id(call, "id"), at=at))
    legacy = message.object("function_call")
    if legacy is not None:
        with legacy:
            arguments = read_arguments(legacy.take("arguments"))
            steps.append(Called(tool=legacy.required_text("name"), arguments=arguments, turn=turn, at=at))
    return steps


def _id(fields: Fields, name: str) -> str | None:
    """Return the id of a call, as it is; None without one."""
    value = fields.take(name)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return None if value is None else str(value)
    raise InvalidInput(f"{fields.path(name)}: must be a string, the id of the call")


def _pictures(message: Fields) -> tuple[Attachment, ...]:
    """Return the pictures of a message of Ollama, which are base64 beside the content."""
    return tuple(
        Attachment(media_type=None, data=decoded(data)) for data in message.list("images") if isinstance(data, str)
    )


def _difference_of_lines(lines: Any) -> Difference | None:
    """Return in what the lines of a file are no messages of one conversation."""
    if isinstance(lines, list) and len(lines) > 1 and all(isinstance(line, dict) for line in lines):
        return difference(lines)
    return Difference(share=0.0, what="its lines are no messages {role, content}")


CHAT_LINES = Format(
    name="chat completions, one message a line",
    documented="as chat completions",
    difference=_difference_of_lines,
    read=read,
    whole_file=True,
)
CHAT_COMPLETIONS = Format(
    name="chat completions",
    documented="OpenAI API reference of 2026-08, Ollama 0.12",
    difference=difference,
    read=read,
)
