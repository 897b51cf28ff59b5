"""Anthropic messages, whose contents are blocks: text, tool_use, tool_result and others.

A document is a request body `{system, messages, tools}`, also with the response beside it, or the list of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stratagraph.memory.imports.conversation import Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.contents import read_parts, read_result
from stratagraph.memory.imports.formats.envelope import read_envelope, read_half
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference, one_a_line
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, read_failure, result_text
from stratagraph.memory.imports.formats.transcript import Message, Transcript

_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_OWN = (*_CALLS, "tool_result", "thinking", "redacted_thinking", "search_result", "container_upload")
_OPAQUE = ("type", "encrypted_content", "encrypted_stdout", "encrypted_index")  # of results of the server's tools
_OTHERS = ("tool_calls", "function_call", "tool_call_id")  # of messages of chat completions


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of Anthropic messages; None if it is one."""
    body = _request(document)
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    is_message = isinstance(first, dict) and isinstance(first.get("role"), str)
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (isinstance(messages, list), "it has no list `messages`"),
            (
                isinstance(messages, list) and (_has_blocks(messages) or _is_body(document, body)),
                "no message has a block such as tool_use or tool_result",
            ),
            (is_message, "messages.0 has no `role`"),
            (isinstance(first, dict) and isinstance(first.get("content"), str | list), "messages.0 has no `content`"),
        ]
    )


def _request(document: Any) -> dict[str, Any]:
    """Return the body of the request in a document."""
    if isinstance(document, list):
        return {"messages": document}
    if not isinstance(document, dict):
        return {}
    request = document.get("request")
    return request if isinstance(request, dict) and "messages" not in document else document


def _has_blocks(messages: list[Any]) -> bool:
    """Return whether a message has a block that only this format has, and none is of chat completions."""
    shown = [message for message in messages if isinstance(message, dict)]
    contents = [message.get("content") for message in shown]
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(_is_own(block) for block in blocks) and not any(_is_of_chat_completions(message) for message in shown)


def _is_own(block: Any) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in ("image", "document"):
        return isinstance(block.get("source"), dict)
    return isinstance(kind, str) and (kind in _OWN or kind.endswith("_tool_result"))


def _is_body(document: Any, body: dict[str, Any]) -> bool:
    """Return whether a document without such blocks is one of this API: by its `system`, or its response."""
    response = document.get("response") if isinstance(document, dict) else None
    is_answered = isinstance(response, dict) and response.get("type") == "message" and "role" in response
    return (is_answered or bool(body.get("system"))) and not any(
        isinstance(message, dict) and _is_of_chat_completions(message) for message in body["messages"]
    )


def _is_of_chat_completions(message: dict[str, Any]) -> bool:
    return any(message.get(name) for name in _OTHERS) or message.get("role") in ("tool", "function")


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"messages": document}, "") as fields:
        transcript = Transcript()
        user = read_half(fields, "request", lambda body: _read_body(body, transcript))
        _read_body(fields, transcript)
        read_half(fields, "response", lambda body: _read_answer(body, transcript))
        id_ = fields.peek("id")
        is_of_message = isinstance(id_, str) and id_.startswith("msg_")
        yield read_envelope(fields.without("id") if is_of_message else fields, transcript.steps, user=user)


def _read_answer(body: Fields, transcript: Transcript) -> None:
    if body.peek("role") is not None:
        _read_message(body, transcript)


def _read_body(fields: Fields, transcript: Transcript) -> None:
    fields.skip(PROMPTS, "system")
    for message in fields.objects("messages"):
        with message:
            _read_message(message, transcript)


def _read_message(fields: Fields, transcript: Transcript) -> None:
    role = fields.required_text("role")
    if role in INSTRUCTING:
        fields.skip_all(PROMPTS)
        return
    if fields.peek("type") == "message":
        fields.take("type", "id")
    at, speaker = fields.time("timestamp", "created_at"), fields.id("name")
    with transcript.message(role, speaker=speaker, at=at) as message:
        read_parts(fields.reading, fields.take("content"), fields.path("content"), message, read_block)


def read_block(block: Fields, message: Message) -> bool:
    """Read a block that only this format has; return False for others."""
    kind = block.peek("type")
    if kind in _CALLS:
        block.take("type")
        message.call(block.required_text("name"), block.take("input"), block.id("id"))
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        block.take("type")
        _read_result(block, message)
    elif kind == "search_result":
        block.take("type")
        message.say("\n".join(text for text in (block.text("title"), block.text("source")) if text))
        read_parts(block.reading, block.take("content"), block.path("content"), message)
    elif kind == "tool_reference":
        block.take("type")
        message.say(block.text("tool_name"))
    elif kind == "mid_conv_system":
        block.skip_all(PROMPTS)
    else:
        return False
    return True


def _read_result(block: Fields, message: Message) -> None:
    failed, id_ = read_failure(block), block.id("tool_use_id")
    content, path = block.take("content"), block.path("content")
    if isinstance(content, dict):
        with block.reading.object(content, path) as inner:
            text, of_content = _server_result(inner)
        message.result(text, id_=id_, failed=of_content if failed is None else failed)
        return
    if isinstance(content, list) and any(isinstance(one, dict) and _OPAQUE[1] in one for one in content):
        content = [_without_opaque(one) for one in content]
    text, attachments = read_result(block.reading, content, path, read_block)
    message.result(text, id_=id_, failed=failed, attachments=attachments)


def _server_result(content: Fields) -> tuple[str, bool | None]:
    """Return the text of a result of the API's own tools, and whether it failed."""
    kind = content.text("type") or ""
    if kind.endswith("_error"):
        return result_text(content.take("error_message", "error_code") or kind), True
    if content.holds("stdout", str) or content.holds("stderr", str):
        code, output = content.take("return_code"), (content.text("stdout"), content.text("stderr"))
        return "\n".join(text for text in output if text), code != 0 if isinstance(code, int) else None
    content.take(*_OPAQUE)
    return result_text(content.rest()), None


def _without_opaque(value: Any) -> Any:
    return {name: inner for name, inner in value.items() if name not in _OPAQUE} if isinstance(value, dict) else value


ANTHROPIC = Format(
    name="Anthropic messages",
    documented="Messages API of 2023-06-01, anthropic-sdk-python 0.111 with its beta blocks",
    difference=difference,
    read=read,
    marks=("messages", "role", "content", "tool_use_id", "input"),
)
ANTHROPIC_LINES = one_a_line(ANTHROPIC)
