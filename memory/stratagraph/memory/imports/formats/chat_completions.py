"""Chat completions: `{messages: [{role, content, tool_calls, tool_call_id}]}`, or the list of messages itself.

Also read are the older `function_call` and the role `function`, refusals, calls without ids (Ollama), the roles `human`
and `ai`, a request and its response beside each other, and calls that stand in contents as parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import ROLES, Attachment, Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.anthropic import read_block
from stratagraph.memory.imports.formats.contents import read_parts, read_result
from stratagraph.memory.imports.formats.envelope import read_envelope, read_half
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference, one_a_line
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, REASONING, decoded, read_failure, result_text
from stratagraph.memory.imports.formats.transcript import Message, Transcript
from stratagraph.store.model.errors import InvalidInput

_LISTS = ("messages", "conversation", "conversations")
_SHOWN = 20  # messages at the beginning by which the format is recognised
_SPOKEN = ("content", "tool_calls", "function_call", "refusal", "text", "audio", "reasoning_content", "reasoning")


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of chat completions; None if it is one."""
    messages = _messages(document)
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


def _messages(document: Any) -> Any:
    """Return the messages in a document: its own, those of a request, or the document itself."""
    if not isinstance(document, dict):
        return document
    own = next((document[name] for name in _LISTS if document.get(name) is not None), None)
    request = document.get("request")
    return request.get("messages") if own is None and isinstance(request, dict) else own


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"messages": document}, "") as fields:
        transcript = Transcript()
        user = read_half(fields, "request", lambda body: _read_body(body, transcript, _LISTS))
        _read_body(fields, transcript, _LISTS)
        read_half(fields, "response", lambda body: _read_body(body, transcript, _LISTS))
        yield read_envelope(fields, transcript.steps, user=user)


def _read_body(fields: Fields, transcript: Transcript, lists: Sequence[str]) -> None:
    """Read the messages of a request, and the first answer of a response, which Ollama gives without `choices`."""
    name = next((name for name in lists if fields.peek(name) is not None), lists[0])
    for message in fields.objects(name):
        with message:
            _read_message(message, transcript)
    at = fields.time("created_at", "created")
    _read_answer(fields, transcript, at)
    for place, choice in enumerate(fields.objects("choices")):
        if place > 0:
            fields.reading.skipped["other choices of an answer"] += 1
            continue
        with choice:
            _read_answer(choice, transcript, at)


def _read_answer(fields: Fields, transcript: Transcript, at: datetime | None) -> None:
    answer = fields.object("message")
    if answer is not None:
        with answer:
            _read_message(answer, transcript, at)


def _read_message(fields: Fields, transcript: Transcript, at: datetime | None = None) -> None:
    role = fields.required_text("role")
    role = ROLES.get(role.casefold(), role)
    at = fields.time("timestamp", "created_at", "time") or at
    if role in INSTRUCTING:
        fields.skip(PROMPTS, "content")
        return
    fields.skip(REASONING, "reasoning_content", "reasoning", "thinking", "reasoning_details")
    content, path = fields.take("content", "text"), fields.path("content")
    if role in ("tool", "function") and not _has_results(content):
        text, attachments = read_result(fields.reading, content, path)
        transcript.message(role, at=at).result(
            text,
            id_=_id(fields, "tool_call_id"),
            tool=fields.id("name", "tool_name"),
            failed=read_failure(fields),
            attachments=(*attachments, *_pictures(fields)),
        )
        return
    with transcript.message(role, speaker=fields.id("name"), at=at) as message:
        read_parts(fields.reading, content, path, message, _read_part)
        for picture in _pictures(fields):
            message.attach(picture)
        spoken = fields.object("audio")
        if spoken is not None:
            with spoken:
                transcribed = spoken.text("transcript")
                message.say(None if message.text else transcribed)
        message.say(fields.text("refusal"))
        _read_calls(fields, message)


def _read_calls(fields: Fields, message: Message) -> None:
    for call in fields.objects("tool_calls"):
        with call:
            call.take("type")
            function = call.object("function", "custom") or call
            with function:
                arguments = function.take("arguments", "args", "input", "parameters")
                message.call(function.required_text("name"), arguments, _id(call, "id"))
    legacy = fields.object("function_call")
    if legacy is not None:
        with legacy:
            message.call(legacy.required_text("name"), legacy.take("arguments"))


def _has_results(content: Any) -> bool:
    """Return whether the parts of a tool's message are results with ids of their own."""
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") in ("tool-result", "tool_result") for part in parts)


def _read_part(part: Fields, message: Message) -> bool:
    """Read a call or a result that stands in the content, as Vercel's AI SDK and Anthropic write them."""
    kind = part.peek("type")
    if kind == "tool-call":
        part.take("type")
        message.call(part.required_text("toolName"), part.take("input", "args"), part.id("toolCallId"))
    elif kind == "tool-result":
        part.take("type")
        failed, output = read_failure(part), part.take("output", "result")
        if isinstance(output, dict) and output.keys() == {"type", "value"} and isinstance(output["type"], str):
            failed = True if output["type"].startswith(("error", "execution-denied")) else failed
            output = output["value"]
        text = "" if output is None else result_text(output)
        message.result(text, id_=part.id("toolCallId"), tool=part.text("toolName"), failed=failed)
    else:
        return read_block(part, message)
    return True


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


CHAT_COMPLETIONS = Format(
    name="chat completions",
    documented="OpenAI API reference of 2026-08, Ollama 0.12",
    difference=difference,
    read=read,
    marks=("messages", "role", "content", "tool_calls", "tool_call_id"),
)
CHAT_LINES = one_a_line(CHAT_COMPLETIONS)
