"""The items of the OpenAI Responses API: messages, calls and their outputs, in the order in which they happened."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import Attachment
from stratagraph.memory.imports.fields import Fields
from stratagraph.memory.imports.formats.contents import read_parts, read_result
from stratagraph.memory.imports.formats.parts import INSTRUCTING, PROMPTS, REASONING, decoded, read_failure, result_text
from stratagraph.memory.imports.formats.transcript import Message, Transcript

_LEFT_OUT = {
    "reasoning": REASONING,
    "item_reference": "references to items that are not in the file",
    "mcp_list_tools": "definitions of tools",
    "mcp_approval_request": "requests to approve a call",
    "mcp_approval_response": "requests to approve a call",
    "compaction": "compacted turns, which only the API can read",
    "compaction_summary": "compacted turns, which only the API can read",
}
_CALLS = (
    *("function_call", "custom_tool_call", "mcp_call", "tool_search_call", "web_search_call", "file_search_call"),
    *("computer_call", "code_interpreter_call", "image_generation_call", "local_shell_call", "shell_call"),
    "apply_patch_call",
)
_OUTPUTS = (*(f"{call}_output" for call in _CALLS), "tool_search_output")
_ARGUMENTS = ("action", "actions", "operation", "arguments", "input", "queries", "code", "revised_prompt")
_FAILED = ("failed", "incomplete")


def is_item(value: Any) -> bool:
    """Return whether a value is an item of a known type."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind is None or kind == "message":
        return isinstance(value.get("role"), str) and "content" in value
    return isinstance(kind, str) and (kind in _LEFT_OUT or kind in _CALLS or kind in _OUTPUTS)


class ItemReader:
    """Reads the items of one document into a transcript. Close it after the last one.

    `at` is the time of all of them. The calls between two outputs ran side by side, and belong to the message before
    them.
    """

    def __init__(self, transcript: Transcript, *, at: datetime | None = None) -> None:
        self._transcript, self._at = transcript, at
        self._message: Message | None = None
        self._call_ids: dict[str, str] = {}  # by the id of the item

    def read(self, item: Fields) -> None:
        """Read one item."""
        kind = item.text("type") or ("message" if item.peek("role") is not None else "")
        if kind == "message":
            self._read_message(item)
        elif kind in _LEFT_OUT:
            item.skip_all(_LEFT_OUT[kind])
        elif kind.endswith("_output"):
            self._read_output(item, kind)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.take("arguments" if kind == "function_call" else "input")
            item.take("status")
            self._calling().call(item.required_text("name"), arguments, self._call_id(item))
        elif kind == "mcp_call":
            self._read_mcp_call(item)
        elif kind.endswith("_call"):
            self._read_built_in_call(item, kind.removesuffix("_call"))
        else:
            item.reading.skipped["items of a type that is not known"] += 1

    def close(self) -> None:
        """Add what was said and called last to the steps."""
        if self._message is not None:
            self._message.close()
            self._message = None

    def say(self, role: str, text: str) -> None:
        """Add a message that is only a text."""
        self.close()
        with self._transcript.message(role, at=self._at) as message:
            message.say(text)

    def _read_message(self, item: Fields) -> None:
        role = item.required_text("role")
        if role in INSTRUCTING:
            item.skip_all(PROMPTS)
            return
        item.take("id")
        if item.text("status") == "incomplete":
            item.reading.skipped["ends of messages that were cut off"] += 1
        self.close()
        message = self._transcript.message(role, speaker=item.text("name"), at=self._at)
        read_parts(item.reading, item.take("content"), item.path("content"), message)
        if message.role == "assistant":
            self._message = message
        else:
            message.close()

    def _calling(self) -> Message:
        if self._message is None:
            self._message = self._transcript.message("assistant", at=self._at)
        return self._message

    def _call_id(self, item: Fields) -> str | None:
        own, id_ = item.id("id"), item.id("call_id")
        if own is not None and id_ is not None:
            self._call_ids[own] = id_
        return id_ or own

    def _read_output(self, item: Fields, kind: str) -> None:
        own, id_ = item.id("id"), item.id("call_id")
        if id_ is None and own is not None:
            id_ = self._call_ids.get(own, own)
        status, path = item.text("status"), item.path("output")
        output = item.take("output", "tools" if kind == "tool_search_output" else "output")
        # `completed` says of other outputs only that they are whole.
        says = status is not None and (status not in ("completed", "in_progress") or kind == "apply_patch_call_output")
        failed = status in _FAILED if says else read_failure(item)
        attachments: tuple[Attachment, ...] = ()
        if isinstance(output, list) and any(isinstance(one, dict) and "stdout" in one for one in output):
            text, of_chunks = _shell_output(item, output)
            failed = of_chunks if failed is None else failed
        elif isinstance(output, dict) and isinstance(output.get("type"), str):
            text, attachments = read_result(item.reading, [output], path)
        else:
            text, attachments = read_result(item.reading, output, path)
            if failed is None and kind == "local_shell_call_output":
                failed = _exit_failed(text)
        if item.peek("error"):
            failed, text = True, text or result_text(item.take("error"))
        self._result(text, id_=id_, failed=failed, attachments=attachments)

    def _result(
        self, text: str, *, id_: str | None, failed: bool | None, attachments: tuple[Attachment, ...] = ()
    ) -> None:
        message = self._calling()
        message.result(text, id_=id_, failed=failed, attachments=attachments)
        self._message = None

    def _read_mcp_call(self, item: Fields) -> None:
        id_, error, status = self._call_id(item), item.take("error"), item.text("status")
        output = item.take("output")
        self._calling().call(item.required_text("name"), item.take("arguments"), id_)
        if error:
            self._result(result_text(error), id_=id_, failed=True)
        elif output is not None or status in _FAILED:
            self._result(
                result_text(output) if output is not None else status or "", id_=id_, failed=status in _FAILED or None
            )

    def _read_built_in_call(self, item: Fields, tool: str) -> None:
        """Read a call of a tool of the API, which holds its own result if it has one."""
        id_, status = self._call_id(item), item.text("status")
        given = {name: value for name in _ARGUMENTS if (value := item.take(name)) is not None}
        arguments: Any = next(iter(given.values())) if len(given) == 1 else given
        if not isinstance(arguments, dict):
            arguments = given
        sources = arguments.get("sources")
        arguments = {name: value for name, value in arguments.items() if name != "sources"}
        self._calling().call(tool, arguments, id_)
        attachments: list[Attachment] = []
        texts: list[str] = []
        if tool == "image_generation" and (image := item.text("result")) is not None:
            form = item.text("output_format") or "png"
            attachments.append(Attachment(media_type=f"image/{form}", data=decoded(image)))
        for output in item.objects("outputs"):
            with output:
                if output.take("type") == "image":
                    attachments.append(Attachment(uri=output.text("url")))
                else:
                    texts.append(output.text("logs") or "")
        texts += [result_text(value) for value in (item.take("results"), sources) if value]
        if item.peek("error"):
            texts.append(result_text(item.take("error")))
            status = "failed"
        failed = True if status in _FAILED else None
        if texts or attachments or failed:
            text = "\n".join(texts) or (status or "" if failed else "")
            self._result(text, id_=id_, failed=failed, attachments=tuple(attachments))


def _shell_output(item: Fields, chunks: list[Any]) -> tuple[str, bool | None]:
    """Return the text of the output of shell commands, and whether one of them failed."""
    texts: list[str] = []
    failed: bool | None = None
    for place, value in enumerate(chunks):
        with item.reading.object(value, f"{item.path('output')}.{place}") as chunk:
            texts += [text for text in (chunk.text("stdout"), chunk.text("stderr")) if text]
            outcome = chunk.object("outcome")
            if outcome is not None:
                with outcome:
                    is_late = outcome.take("type") == "timeout"
                    failed = bool(failed) or is_late or outcome.take("exit_code") not in (None, 0)
    return "\n".join(texts), failed


def _exit_failed(text: str) -> bool | None:
    """Return whether the exit code in the output of a command says that it failed; None without one."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    metadata = found.get("metadata") if isinstance(found, dict) else None
    code = (metadata if isinstance(metadata, dict) else found if isinstance(found, dict) else {}).get("exit_code")
    return code != 0 if isinstance(code, int) else None
