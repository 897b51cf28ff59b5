"""Reading the content of messages: texts, and the names of pictures, sound and files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stratagraph_client.frameworks.steps import result_text

REASONING = ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_text", "thought")
_TEXTS = ("text", "refusal", "transcript")
_ATTACHED = ("image", "audio", "video", "file", "document", "media", "text-plain", "input_image", "input_file")
_INNER = ("image_url", "input_audio", "file", "source", "audio_url", "video_url")
_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w.=+-]+)*;base64,", re.DOTALL)
_FAILED = frozenset({"error", "failed", "failure", "errored", "exception", "timeout", "cancelled"})
_SUCCEEDED = frozenset({"success", "ok", "succeeded", "completed", "complete", "done"})


def text_and_files(content: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text of a content, its parts joined by newlines, and the names of what is no text."""
    texts: list[str] = []
    files: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type") not in REASONING:
            said = [part[name] for name in _TEXTS if isinstance(part.get(name), str)]
            inner = part.get("text")
            if said:
                texts += said
            elif isinstance(inner, Mapping):
                texts.append(str(inner.get("value") or ""))
            elif (file := file_name(part)) is not None:
                files.append(file)
    return "\n".join(text for text in texts if text), tuple(files)


def result_of(content: Any) -> str:
    """Return the text of a tool's result: a text, a list of texts and parts, or any other JSON."""
    is_parts = isinstance(content, list) and all(
        isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("type"), str)) for part in content
    )
    if not is_parts:
        return "" if content is None else result_text(content)
    return text_and_files(content)[0]


def file_name(part: Mapping[str, Any]) -> str | None:
    """Return the name or the media type of a picture, sound or file of a message; None if it is none."""
    inner = next((part[name] for name in _INNER if part.get(name) is not None), None)
    if isinstance(inner, str):
        return _described(inner, None, None)
    if not isinstance(inner, Mapping):
        if part.get("type") not in _ATTACHED:
            return None
        inner = {}
    media = _first(inner, "media_type", "mime_type", "format") or _first(part, "mime_type", "media_type")
    name = _first(inner, "filename", "name", "title") or _first(part, "filename", "name", "title")
    data = _first(inner, "data", "file_data") or _first(part, "file_data", "data", "base64")
    uri = _first(inner, "url", "uri", "file_id", "file_uri") or _first(part, "file_id", "file_url", "url", "file_uri")
    if data is not None and not data.startswith("data:"):
        return name or _media_type(media) or "a file"
    address = data or uri
    return None if address is None else _described(address, name, media)


def failure(value: Mapping[str, Any]) -> bool | None:
    """Return whether the flags of a result say that its call failed; None if it has none."""
    flag = next((value[name] for name in ("is_error", "isError") if value.get(name) is not None), None)
    if isinstance(flag, bool):
        return flag
    status = value.get("status")
    if isinstance(status, str) and status.casefold() in _FAILED | _SUCCEEDED:
        return status.casefold() in _FAILED
    succeeded = value.get("success")
    if isinstance(succeeded, bool):
        return not succeeded
    code = next((value[name] for name in ("exit_code", "exitCode", "returncode") if value.get(name) is not None), None)
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    return True if value.get("error") else None


def _described(address: str, name: str | None, media: str | None) -> str:
    inline = _DATA_URL.match(address)
    return name or _media_type((inline[1] if inline is not None else "") or media) or "a file"


def _media_type(value: str | None) -> str | None:
    return value if value is not None and "/" in value else None


def _first(values: Mapping[str, Any], *names: str) -> str | None:
    return next((values[name] for name in names if isinstance(values.get(name), str)), None)
