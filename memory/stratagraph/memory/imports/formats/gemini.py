"""Gemini contents, whose parts are texts, function calls and their responses.

A document is a request body `{contents, systemInstruction}`, also with the response beside it, or the list of contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stratagraph.memory.imports.conversation import Attachment, Conversation
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.envelope import read_envelope, read_half
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference, one_a_line
from stratagraph.memory.imports.formats.parts import INSTRUCTING, OTHER_PARTS, PROMPTS, REASONING, decoded, result_text
from stratagraph.memory.imports.formats.transcript import Message, Transcript

CODE_EXECUTION = "code_execution"  # the tool that runs code of the model
_LISTS = ("contents", "messages", "history")
_PARTS = (
    *("text", "thought"),
    *("functionCall", "function_call", "functionResponse", "function_response"),
    *("inlineData", "inline_data", "fileData", "file_data"),
    *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
)
_OUTCOMES = {"OUTCOME_OK": False, "OUTCOME_FAILED": True, "OUTCOME_DEADLINE_EXCEEDED": True}
_SHOWN = 20  # contents at the beginning by which the format is recognised


def difference(document: Any) -> Difference | None:
    """Return in what a document is no conversation of Gemini contents; None if it is one."""
    contents = _contents(document)
    shown = [one for one in (contents or [])[:_SHOWN] if isinstance(one, dict)]
    parts = [part for one in shown for part in _listed(one.get("parts"))]
    return first_difference(
        [
            (isinstance(document, dict | list), "it is no object and no list"),
            (contents is not None, "it has no list `contents`; a conversation is {contents: [{role, parts}, …]}"),
            (len(shown) == len((contents or [])[:_SHOWN]), "contents has an element that is no object"),
            (bool(parts), "contents.0 has no `parts`"),
            (all("content" not in one for one in shown), "its contents have `content` beside `parts`"),
            (
                all(isinstance(part, str) or _is_part(part) for part in parts),
                "a part has no field such as `text` or `functionCall`",
            ),
        ]
    )


def _contents(document: Any) -> list[Any] | None:
    """Return the list of contents in a document: its own, that of a request, or the document itself."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    found = next((document[name] for name in _LISTS if isinstance(document.get(name), list)), None)
    return _contents(document["request"]) if found is None and isinstance(document.get("request"), dict) else found


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and "type" not in value and any(name in value for name in _PARTS)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def read(document: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the conversation."""
    with new_reading().object(document if isinstance(document, dict) else {"contents": document}, "") as fields:
        transcript = Transcript()
        user = read_half(fields, "request", lambda body: _read_body(body, transcript))
        _read_body(fields, transcript)
        read_half(fields, "response", lambda body: _read_body(body, transcript))
        yield read_envelope(fields, transcript.steps, user=user)


def _read_body(fields: Fields, transcript: Transcript) -> None:
    """Read the contents of a request, and the first answer of a response."""
    fields.skip(PROMPTS, "systemInstruction", "system_instruction")
    for name in _LISTS:
        for content in fields.objects(name):
            with content:
                _read_content(content, transcript)
    for place, candidate in enumerate(fields.objects("candidates")):
        if place > 0:
            fields.reading.skipped["other candidates of an answer"] += 1
            continue
        with candidate:
            answer = candidate.object("content")
            if answer is not None:
                with answer:
                    _read_content(answer, transcript)


def _read_content(fields: Fields, transcript: Transcript) -> None:
    role = fields.text("role") or "user"
    if role in INSTRUCTING:
        fields.skip_all(PROMPTS)
        return
    at = fields.time("timestamp", "created_at", "createTime", "create_time")
    parts, path = fields.take("parts"), fields.path("parts")
    with transcript.message(role, at=at) as message:
        for place, part in enumerate(_listed(parts)):
            if isinstance(part, str):
                message.say(part)
            else:
                with fields.reading.object(part, f"{path}.{place}") as one:
                    _read_part(one, message)


def _read_part(part: Fields, message: Message) -> None:
    part.skip("signatures of thoughts", "thoughtSignature", "thought_signature")
    if part.take("thought") is True:
        part.skip_all(REASONING)
        return
    if not any(part.peek(name) is not None for name in _PARTS):
        part.reading.skipped[OTHER_PARTS] += 1
        return
    message.say(part.text("text"))
    attachment = _attachment(part)
    if attachment is not None:
        message.attach(attachment)
    call = part.object("functionCall", "function_call")
    if call is not None:
        with call:
            message.call(call.required_text("name"), call.take("args"), call.id("id"))
    code = part.object("executableCode", "executable_code")
    if code is not None:
        with code:
            arguments = {name: text for name in ("language", "code") if (text := code.text(name)) is not None}
            message.call(CODE_EXECUTION, arguments, code.id("id"))
    response = part.object("functionResponse", "function_response")
    if response is not None:
        with response:
            _read_function_response(response, message)
    output = part.object("codeExecutionResult", "code_execution_result")
    if output is not None:
        with output:
            failed = _OUTCOMES.get(output.text("outcome") or "")
            message.result(output.text("output") or "", id_=output.id("id"), tool=CODE_EXECUTION, failed=failed)


def _read_function_response(fields: Fields, message: Message) -> None:
    """Read a response: its `output` or its `error`, or else all of it, as the API documents it."""
    response = fields.take("response")
    failed = None
    if isinstance(response, dict):
        if response.get("error"):
            failed, response = True, response["error"] if len(response) == 1 else response
        elif len(response) == 1:
            response = response.get("output", response.get("result", response))
    attachments = []
    for part in fields.objects("parts"):
        with part:
            attachment = _attachment(part)
            if attachment is not None:
                attachments.append(attachment)
    message.result(
        "" if response is None else result_text(response),
        id_=fields.id("id"),
        tool=fields.required_text("name"),
        failed=failed,
        attachments=tuple(attachments),
    )


def _attachment(part: Fields) -> Attachment | None:
    inner = part.object("inlineData", "inline_data", "fileData", "file_data")
    if inner is None:
        return None
    with inner:
        data = inner.text("data")
        return Attachment(
            name=inner.text("displayName", "display_name"),
            media_type=inner.text("mimeType", "mime_type"),
            data=None if data is None else decoded(data),
            uri=inner.text("fileUri", "file_uri"),
        )


GEMINI = Format(
    name="Gemini contents",
    documented="Gemini API v1beta (generateContent), types of python-genai",
    difference=difference,
    read=read,
    marks=("contents", "role", "parts", "functionCall", "functionResponse"),
)
GEMINI_LINES = one_a_line(GEMINI)
