"""LangChain messages in three forms: `messages_to_dict`, LangGraph states, and constructors as `dumpd` writes them.

A document is the list of messages, or holds it: a state, a snapshot of a thread, or a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.anthropic import read_block
from stratagraph.memory.imports.formats.contents import read_parts, read_result
from stratagraph.memory.imports.formats.envelope import read_envelope
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference, one_a_line
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, REASONING, read_failure
from stratagraph.memory.imports.formats.transcript import Message, Transcript
from stratagraph.store.model.error_values import shown as shown_value
from stratagraph.store.model.errors import InvalidInput

_LISTS = ("messages", "chat_history", "history")
_HOLDERS = ("values", "channel_values", "checkpoint", "state", "kwargs", "outputs", "output", "inputs", "input")
_TYPES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "developer",
    "remove": "remove",
    "chat": "",  # these name their role themselves
    "generic": "",
}
_IN_CONTENT = ("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "custom_tool_call")
_SHOWN = 20  # messages at the beginning by which the format is recognised


def difference(document: Any) -> Difference | None:
    """Return in what a document holds no LangChain messages; None if it holds some."""
    found = _found(document)
    shown = _flat(found or [])[:_SHOWN]
    untyped = next((i for i, one in enumerate(shown) if _type(one) is None and not _is_as_given(one)), None)
    silent = next((i for i, one in enumerate(shown) if not _says(one)), None)
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (found is not None, "it has no list `messages`"),
            (bool(shown), "messages is empty"),
            (any(_type(one) is not None for one in shown), "messages.0 has no `type` such as human or ai"),
            (bool(shown) and untyped is None, f"messages.{untyped} has no `type` such as human or ai"),
            (bool(shown) and silent is None, f"messages.{silent} has no `content`"),
        ]
    )


def _found(document: Any) -> list[Any] | None:
    """Return the list of messages in a document."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    own: list[Any] | None = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    if own is not None:
        return own
    inner = (_found(document[name]) for name in _HOLDERS if isinstance(document.get(name), dict))
    return next((one for one in inner if one is not None), None)


def _flat(messages: list[Any]) -> list[Any]:
    """Return the messages of a list that holds the one list of a batch, as callbacks log it, or of any other list."""
    return messages[0] if len(messages) == 1 and isinstance(messages[0], list) else messages


def _type(message: Any) -> str | None:
    """Return the role of a message by its type or class: empty if it names one itself, None if it is no message."""
    if not isinstance(message, dict) or "message" in message:
        return None
    kind = message.get("type")
    if "lc" in message or kind == "constructor":
        path = message.get("id")
        kind = path[-1] if isinstance(path, list) and path else None
    if not isinstance(kind, str):
        return None
    return _TYPES.get(kind.removesuffix("Chunk").removesuffix("Message").casefold())


def _is_as_given(message: Any) -> bool:
    """Return whether a message is one that a state was given, which is that of chat completions."""
    return isinstance(message, dict) and isinstance(message.get("role"), str) and "type" not in message


def _says(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    inner = next((message[name] for name in ("data", "kwargs") if isinstance(message.get(name), dict)), message)
    return "content" in inner or "tool_calls" in inner or _type(message) == "remove"


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"messages": document}, "") as fields:
        transcript = Transcript()
        _read_holder(fields, transcript)
        thread, user = _configured(fields)
        has_own_id = any(fields.holds(name, list) for name in _LISTS) and fields.peek("lc") is None
        # Otherwise it is that of a checkpoint or of a class.
        described = fields if has_own_id else fields.without("id", "lc", "type")
        conversation = read_envelope(described, transcript.steps, user=user)
        conversation.id = thread or conversation.id
        yield conversation


def _read_holder(fields: Fields, transcript: Transcript) -> bool:
    """Read the messages that an object holds, itself or further inside; return whether there are some."""
    name = next((name for name in _LISTS if fields.holds(name, list)), None)
    if name is not None:
        messages = fields.take(name)
        path = fields.path(name)
        for place, message in enumerate(_flat(messages)):
            _read_message(fields.reading, message, f"{path}.{place}", transcript)
        return True
    for holder in _HOLDERS:
        if fields.holds(holder, dict) and _found(fields.peek(holder)) is not None:
            inner = fields.object(holder)
            assert inner is not None
            with inner:
                return _read_holder(inner, transcript)
    return False


def _configured(fields: Fields) -> tuple[str | None, str | None]:
    """Return the thread and the user that the configuration of a snapshot or a checkpoint names."""
    thread: str | None = None
    user: str | None = None
    for name, inside in (("config", "configurable"), ("checkpoint", "thread_id")):
        if not fields.holds(name, dict) or inside not in fields.peek(name):
            continue
        outer = fields.object(name)
        assert outer is not None
        with outer:
            inner = outer.object(inside) if name == "config" else outer
            if inner is None:
                continue
            with inner:
                inner.take("checkpoint_id", "checkpoint_ns")
                thread, user = thread or inner.id("thread_id"), user or inner.id("user_id")
    return thread, user


def _read_message(reading: Reading, value: Any, path: str, transcript: Transcript) -> None:
    """Read a message of any of the three forms."""
    with reading.object(value, path) as outer:
        role = _type(value)
        if role is None and _is_as_given(value):
            role = ""
        if role is None:
            raise InvalidInput(f"{path}.type: {shown_value(value.get('type'))} is no type of a message, such as human")
        for name in ("data", "kwargs"):
            if outer.holds(name, dict):
                inner = outer.object(name)
                assert inner is not None
                outer.take("type", "lc", "id")
                with inner:
                    _read_fields(inner, role, transcript)
                return
        _read_fields(outer, role, transcript)


def _read_fields(fields: Fields, role: str, transcript: Transcript) -> None:
    fields.take("type", "id")
    role = role or fields.required_text("role")
    if role in INSTRUCTING:
        fields.skip_all(PROMPTS)
        return
    if role == "remove":
        fields.skip_all("messages that remove others")
        return
    given = fields.take("additional_kwargs")
    with fields.reading.object({} if given is None else given, fields.path("additional_kwargs")) as more:
        more.skip(REASONING, "reasoning_content", "reasoning")
        at, name = fields.time("timestamp", "created_at") or more.time("timestamp", "created_at"), fields.id("name")
        if role in ("tool", "function"):
            _read_result(fields, name, transcript.message("tool", at=at))
        else:
            with transcript.message(role, speaker=name, at=at) as message:
                _read_turn(fields, more, message)


def _read_result(fields: Fields, tool: str | None, message: Message) -> None:
    # `success` is what every result has that is not marked as an error.
    failed = None if fields.peek("status") == "success" else read_failure(fields)
    fields.take("status")
    text, attachments = read_result(fields.reading, fields.take("content"), fields.path("content"), read_block)
    message.result(text, id_=fields.id("tool_call_id"), tool=tool, failed=failed, attachments=attachments)


def _read_turn(fields: Fields, more: Fields, message: Message) -> None:
    calls = [*fields.objects("tool_calls"), *fields.objects("invalid_tool_calls")]
    for call in calls:
        with call:
            call.take("type", "index")
            message.call(call.required_text("name"), call.take("args"), call.id("id"))
    message.say(more.text("refusal"))
    if calls:
        fields.take("tool_call_chunks")
        more.take("tool_calls", "function_call")  # the same calls, as the model's provider wrote them
    is_read = bool(calls) or _read_raw_calls(more, message)

    def read_part(part: Fields, message: Message) -> bool:
        """Leave out a part that repeats a call; read one that is the only place of a call."""
        if part.peek("type") not in _IN_CONTENT:
            return read_block(part, message)
        if is_read:
            part.skip_all("calls in contents that `tool_calls` repeats")
        else:
            part.take("type", "index", "status")
            arguments = part.take("input", "args", "arguments")
            message.call(part.required_text("name"), arguments, part.id("call_id", "id"))
        return True

    read_parts(fields.reading, fields.take("content"), fields.path("content"), message, read_part)


def _read_raw_calls(more: Fields, message: Message) -> bool:
    """Read the calls as the model's provider wrote them; return whether there are some."""
    found = False
    for call in more.objects("tool_calls"):
        found = True
        with call:
            call.take("type", "index")
            function = call.object("function") or call
            with function:
                message.call(function.required_text("name"), function.take("arguments", "args"), call.id("id"))
    legacy = more.object("function_call")
    if legacy is None:
        return found
    with legacy:
        message.call(legacy.required_text("name"), legacy.take("arguments"))
    return True


LANGCHAIN = Format(
    name="LangChain messages",
    documented="messages of langchain-core at 005adc3, states and checkpoints of LangGraph",
    difference=difference,
    read=read,
    marks=("messages", "type", "data", "content", "kwargs"),
)
LANGCHAIN_LINES = one_a_line(LANGCHAIN)
