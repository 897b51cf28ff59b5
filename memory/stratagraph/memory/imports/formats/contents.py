"""Reading the content of messages part by part, into the message or as the result of a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stratagraph.memory.imports.conversation import Attachment
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.parts import OTHER_PARTS, REASONING, read_attachment, result_text, storable
from stratagraph.memory.imports.formats.transcript import Message, Transcript
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput

_REASONING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_text", "thought")
_TEXTS = ("text", "refusal", "transcript")

ReadPart = Callable[[Fields, Message], bool]


def read_parts(reading: Reading, content: Any, path: str, message: Message, read: ReadPart | None = None) -> None:
    """Add the content of a message to it: a text, a part, or a list of texts and parts.

    `read` is asked first, and returns whether it has read the part. Reasoning is counted as left out, and so are parts
    that are neither text nor an attachment. Raises InvalidInput for another value.
    """
    is_list = isinstance(content, list)
    for place, part in enumerate(content if is_list else [] if content is None else [content]):
        where = f"{path}.{place}" if is_list else path
        if isinstance(part, str):
            message.say(part)
        elif isinstance(part, dict):
            with reading.object(part, where) as fields:
                if read is None or not read(fields, message):
                    _read_part(fields, message)
        elif part is not None:
            raise InvalidInput(f"{where}: must be a text or an object, not {json_type(part)}")


def read_content(value: Any, path: str, reading: Reading) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text of a content and its other parts, as `read_parts` adds them to a message."""
    message = Message(Transcript(), "", None, None)
    read_parts(reading, value, path, message)
    return storable(message.text), message.attachments


def read_result(
    reading: Reading, content: Any, path: str, read: ReadPart | None = None
) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text and the attachments of a tool's result: a text, a list of texts and parts, or any other JSON."""
    if not isinstance(content, list) or not all(_is_part(part) for part in content):
        return "" if content is None else result_text(content), ()
    inner = Message(Transcript(), "tool", None, None)
    read_parts(reading, content, path, inner, read)
    return inner.text, inner.attachments


def _is_part(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("type"), str))


def _read_part(part: Fields, message: Message) -> None:
    if part.peek("type") in _REASONING:
        part.skip_all(REASONING)
    elif any(part.holds(name, str) for name in _TEXTS):
        part.take("type")
        for name in _TEXTS:
            message.say(part.text(name))
    elif part.holds("text", dict):
        part.take("type")
        inner = part.object("text")  # a text of OpenAI's assistants
        assert inner is not None
        with inner:
            message.say(inner.text("value"))
    elif (attachment := read_attachment(part)) is not None:
        part.take("type")
        message.attach(attachment)
    else:
        part.reading.skipped[OTHER_PARTS] += 1
