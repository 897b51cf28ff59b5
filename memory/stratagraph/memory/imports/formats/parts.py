"""Reading what messages of several formats share: attached files, flags of failure, and arguments."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import Attachment
from stratagraph.memory.imports.fields import Fields
from stratagraph.store.model.errors import InvalidInput

PROMPTS = "system prompts (instructions, not experience)"
REASONING = "reasoning of the model"
OTHER_PARTS = "parts of messages that are not text"
INSTRUCTING = ("system", "developer")  # roles whose messages are prompts

_DATA_URL = re.compile(r"data:(?P<media>[\w.+/-]*)(?:;[\w.=+-]+)*;base64,(?P<data>.*)", re.DOTALL)
_ATTACHED = ("image", "audio", "video", "file", "document", "media", "text-plain", "input_image", "input_file")
_FAILED = frozenset({"error", "failed", "failure", "errored", "exception", "timeout", "cancelled"})
_SUCCEEDED = frozenset({"success", "ok", "succeeded", "completed", "complete", "done"})


def read_attachment(fields: Fields) -> Attachment | None:
    """Return the picture, sound or file of a part in one of the known forms; None if it is another part."""
    fields.take("source_type", "detail")
    inner = fields.take("image_url", "input_audio", "file", "source", "audio_url", "video_url")
    if isinstance(inner, str):
        return _addressed(inner, None, None)
    if not isinstance(inner, dict):
        if fields.take("type") not in _ATTACHED:
            return None
        inner = {}
    with fields.reading.object(inner, fields.path("source")) as source:
        kind = source.take("type", "detail")
        media = source.text("media_type", "mime_type", "format") or fields.text("mime_type", "media_type")
        name = source.text("filename", "name", "title") or fields.text("filename", "name", "title")
        data = source.text("data", "file_data") or fields.text("file_data", "data", "base64")
        uri = source.text("url", "uri", "file_id", "file_uri") or fields.text("file_id", "file_url", "url", "file_uri")
    if data is not None and kind == "text":
        return Attachment(name=name, media_type=_media_type(media), data=data.encode())
    if data is not None and not data.startswith("data:"):
        return Attachment(name=name, media_type=_media_type(media), data=decoded(data))
    address = data or uri
    return None if address is None else _addressed(address, name, media)


def _addressed(address: str, name: str | None, media: str | None) -> Attachment:
    inline = _DATA_URL.fullmatch(address)
    if inline is None:
        return Attachment(name=name, media_type=_media_type(media), uri=address)
    return Attachment(name=name, media_type=_media_type(inline["media"] or media), data=decoded(inline["data"]))


def decoded(data: str) -> bytes | None:
    """Return the bytes of base64 text, standard or URL-safe; None if it is malformed."""
    packed = "".join(data.split())
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _media_type(value: str | None) -> str | None:
    return value if value is not None and "/" in value else None


def read_failure(fields: Fields) -> bool | None:
    """Return whether the flags of a result say that its call failed; None if it has none."""
    flag = fields.take("is_error", "isError")
    if isinstance(flag, bool):
        fields.take("status")
        return flag
    status = fields.take("status")
    if isinstance(status, str) and status.casefold() in _FAILED | _SUCCEEDED:
        return status.casefold() in _FAILED
    succeeded = fields.take("success")
    if isinstance(succeeded, bool):
        return not succeeded
    code = fields.take("exit_code", "exitCode", "returncode")
    if isinstance(code, int) and not isinstance(code, bool):
        return code != 0
    error = fields.take("error")
    return True if error else None


def tells_failure(result: Any) -> bool:
    """Return whether a result without a flag beside it says itself that the call failed.

    That is a text that begins with "error", or a JSON object with an error, `is_error`, `success` or `ok` false, the
    status "error", or an exit code. Other words of a status, such as "cancelled", may be what was asked for.
    """
    if isinstance(result, str):
        return result.lstrip().lower().startswith("error")
    if not isinstance(result, dict):
        return False
    codes = [result.get(name) for name in ("exit_code", "exitCode", "returncode", "return_code")]
    return (
        True in (result.get("is_error"), result.get("isError"))
        or False in (result.get("success"), result.get("ok"))
        or bool(result.get("error"))
        or str(result.get("status")).casefold() == "error"
        or any(isinstance(code, int) and not isinstance(code, bool) and code != 0 for code in codes)
    )


def read_arguments(value: Any) -> Any:
    """Return the arguments of a call: JSON, that of a text which is JSON, or else the text."""
    if isinstance(value, str):
        try:
            value = orjson.loads(storable(value))
        except orjson.JSONDecodeError:
            return storable(value)
    return {} if value is None else _storable_json(value)


def _storable_json(value: Any) -> Any:
    """Return a JSON value without the character that the database cannot store, in its texts and its names."""
    try:
        if b"\\u0000" not in orjson.dumps(value):
            return value
    except orjson.JSONEncodeError:
        return value  # it is nested too deeply, and refused for that
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(name): _storable_json(inner) for name, inner in value.items()}
    return [_storable_json(inner) for inner in value]


def json_or_text(text: str) -> Any:
    """Return the JSON value that a text is, or the text."""
    if "\\u0000" in text:  # the database cannot store that character
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def result_text(value: Any) -> str:
    """Return a result as the text that it is compared and searched by: JSON for what is no text.

    Raises InvalidInput for a value that is nested too deeply.
    """
    if isinstance(value, str):
        return storable(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:
        raise InvalidInput("a result of a tool is nested too deeply; at most 250 levels are read") from None


def canonical(value: Any) -> bytes:
    """Return the bytes that equal JSON values share. Raises InvalidInput for a value that is nested too deeply."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        raise InvalidInput("the arguments of a call are nested too deeply; at most 250 levels are read") from None


def storable(text: str) -> str:
    """Return the text without the character that the database cannot store."""
    return text.replace("\x00", "\ufffd")
