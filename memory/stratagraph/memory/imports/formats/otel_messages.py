"""Messages of OpenTelemetry: `{role, parts: [{type, …}]}`, and the older forms with `content` and `tool_calls`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import ROLES, Attachment, Called, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields
from stratagraph.memory.imports.formats.contents import read_content
from stratagraph.memory.imports.formats.parts import (
    INSTRUCTING,
    OTHER_PARTS,
    PROMPTS,
    REASONING,
    decoded,
    read_arguments,
    read_failure,
    result_text,
    storable,
)

_TOOL = ("tool", "function", "tool_result")
_TEXTS = ("text", "refusal", "input_text", "output_text")
MAX_NAMED = 20  # parts of a flattened name after the number of its message; a longer one is none
_NUMBER = re.compile(r"[0-9]{1,5}")


def read_message(message: Fields, turn: int, at: datetime | None = None) -> list[Step]:
    """Return the steps of one message. Raises InvalidInput for a malformed one."""
    inner = message.take("message")
    if isinstance(inner, dict):  # OpenInference nests each message, older events of a choice too
        with message.reading.object(inner, message.path("message")) as nested:
            return read_message(nested, turn, at)
    role = message.required_text("role")
    role = ROLES.get(role.casefold(), role)
    at = message.time("timestamp", "created_at") or at
    message.take("finish_reason", "index")
    if role in INSTRUCTING:
        message.skip(PROMPTS, "parts", "content", "contents")
        return []
    message.skip(REASONING, "reasoning_content", "reasoning", "thinking")
    speaker = message.id("name")
    if message.take("parts") is not None:
        return _read_parts(message, role, None if role in _TOOL else speaker, turn, at)
    return _read_plain(message, role, speaker, turn, at)


def _read_parts(message: Fields, role: str, speaker: str | None, turn: int, at: datetime | None) -> list[Step]:
    answered = message.id("tool_call_id")
    texts: list[str] = []
    attachments: list[Attachment] = []
    calls: list[Step] = []
    results: list[Step] = []
    for part in message.objects("parts"):
        with part:
            kind = part.take("type") or ("text" if part.take("content", "text") is not None else None)
            if kind == "tool_call":
                calls.append(
                    Called(
                        tool=part.required_text("name"),
                        arguments=read_arguments(part.take("arguments")),
                        turn=turn,
                        id=part.id("id"),
                        at=at,
                    )
                )
            elif kind == "server_tool_call":
                calls.append(_server_call(part, turn, at))
            elif kind in ("tool_call_response", "server_tool_call_response"):
                result = part.take("response", "result", "server_tool_call_response", "content")
                results.append(
                    Returned(
                        text=result_text("" if result is None else result),
                        id=part.id("id") or answered,
                        tool=part.id("name"),
                        failed=read_failure(part),
                        at=at,
                    )
                )
            elif kind in _TEXTS:
                text = part.take("content", "text", "refusal")
                if text is not None:
                    texts.append(storable(text if isinstance(text, str) else result_text(text)))
            elif kind in ("reasoning", "thinking"):
                part.take("content", "text")
                message.reading.skipped[REASONING] += 1
            elif (attachment := _attachment(part, kind)) is not None:
                attachments.append(attachment)
            else:
                message.reading.skipped[OTHER_PARTS] += 1
    text = "\n".join(texts)
    if role in _TOOL and not results:
        return [Returned(text=text, id=answered, tool=message.id("name"), failed=read_failure(message), at=at)]
    steps: list[Step] = []
    if text.strip() or attachments:
        steps.append(Said(role=role, text=text, speaker=speaker, at=at, attachments=tuple(attachments)))
    if role in _TOOL or role == "user":  # results come before what a user says with them
        return [*results, *calls, *steps] if results else [*steps, *calls]
    return [*steps, *calls, *results]


def _server_call(part: Fields, turn: int, at: datetime | None) -> Called:
    """Return the call of a tool that the model's provider runs."""
    inner = part.take("server_tool_call")
    arguments = {k: v for k, v in inner.items() if k != "type"} if isinstance(inner, dict) else inner
    return Called(
        tool=part.required_text("name"), arguments=read_arguments(arguments), turn=turn, id=part.id("id"), at=at
    )


def _attachment(part: Fields, kind: Any) -> Attachment | None:
    """Return the attachment of a part of type blob, uri or file."""
    if kind not in ("blob", "uri", "file"):
        return None
    media, modality = part.text("mime_type", "media_type"), part.take("modality")
    name = part.text("name", "filename") or (modality if isinstance(modality, str) and media is None else None)
    data = part.take("content", "data", "blob")
    uri = part.take("uri", "url", "file_id")
    return Attachment(
        name=name,
        media_type=media,
        data=decoded(data) if isinstance(data, str) else None,
        uri=uri if isinstance(uri, str) else None,
    )


def _read_plain(message: Fields, role: str, speaker: str | None, turn: int, at: datetime | None) -> list[Step]:
    """Return the steps of a message with `content` and `tool_calls`, as older versions and other libraries have it."""
    content = message.take("content", "contents")
    if isinstance(content, list):
        content = [_unnested(part) for part in content]
    if isinstance(content, dict) and "parts" not in content and "type" not in content:
        content = result_text(content)
    text, attachments = read_content(content, message.path("content"), message.reading)
    answered = message.id("tool_call_id", "id") if role in _TOOL else None
    if role in _TOOL:
        failed = read_failure(message)
        return [Returned(text=text, id=answered, tool=speaker, failed=failed, at=at, attachments=attachments)]
    steps: list[Step] = []
    if text.strip() or attachments:
        steps.append(Said(role=role, text=text, speaker=speaker, at=at, attachments=attachments))
    calls = message.take("tool_calls")
    if isinstance(calls, str):
        calls = json_of(calls)
    for place, call in enumerate(calls if isinstance(calls, list) else [calls] if isinstance(calls, dict) else []):
        path = message.path(f"tool_calls.{place}")
        with message.reading.object(call, path) as fields:
            steps.append(_called(fields, turn, at))
    return steps


def _called(fields: Fields, turn: int, at: datetime | None) -> Called:
    inner = fields.object("tool_call")
    if inner is not None:
        with inner:
            return _called(inner, turn, at)
    fields.take("type", "index")
    id_ = fields.id("id", "tool_call_id")
    function = fields.object("function") or fields
    with function:
        tool, arguments = function.required_text("name"), function.take("arguments", "args", "input")
    return Called(tool=tool, arguments=read_arguments(arguments), turn=turn, id=id_, at=at)


def _unnested(part: Any) -> Any:
    inner = part.get("message_content") if isinstance(part, dict) else None
    if not isinstance(inner, dict):
        return part
    image = inner.get("image")
    url = (
        image.get("image", {}).get("url") if isinstance(image, dict) and isinstance(image.get("image"), dict) else None
    )
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else inner


def json_of(value: Any) -> Any:
    """Return the JSON value that a text is; any other value, and a text that is none, as it is."""
    if isinstance(value, str):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def unflattened(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the messages of flattened attributes such as `gen_ai.prompt.0.role`, in order."""
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(f"{prefix}."):
            continue
        at, *path = name[len(prefix) + 1 :].split(".")
        if not path or len(path) > MAX_NAMED or not _NUMBER.fullmatch(at):
            continue
        inner = found.setdefault(at, {})
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                break
        else:
            inner[path[-1]] = value
    listed = _listed(found)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _listed(value: Any) -> Any:
    """Return nested objects whose keys are all numbers as lists."""
    if not isinstance(value, dict):
        return value
    if value and all(_NUMBER.fullmatch(key) for key in value):
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(one) for key, one in value.items()}
