"""Codex sessions: JSON Lines of `~/.codex/sessions/**/rollout-*.jsonl`.

A line is `{timestamp, type, payload}`. Older files have a header and then the items themselves. Events repeat what the
items say, so only the flags of failure are taken from them. What was rolled back was said all the same, and is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import ROLES, Attachment, Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.contents import read_content
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import (
    INSTRUCTING,
    PROMPTS,
    REASONING,
    decoded,
    json_or_text,
    read_arguments,
    read_failure,
    result_text,
    storable,
)
from stratagraph.memory.imports.formats.sessions import (
    COPIES,
    SUMMARIES,
    call_id,
    parts_of,
    read_parts,
    report_version,
    required_object,
    tag,
)
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_NOTICES = ("turn_context", "world_state", "inter_agent_communication_metadata")
_SAID_BY = {"user_message": "user", "agent_message": "assistant"}
_KNOWN = re.compile(r"0\.\d+\.\d+.*")
# The lines of bookkeeping that a shell's result may begin with.
_HEADER = re.compile(
    r"(?:Exit code: (?P<code>-?\d+)|Process exited with code (?P<exited>-?\d+)|Wall time: [^\n]*|Chunk ID: [^\n]*"
    r"|Original token count: \d+|Total output lines: \d+)"
)
_OUTPUT = "Output:\n"
_MAX_HEADER = 400  # characters


def difference(lines: Any) -> Difference | None:
    """Return in what the lines of a file are no session of Codex."""
    first = lines[0] if isinstance(lines, list) and lines else None
    fields = first if isinstance(first, dict) else {}
    is_header = _is_header(fields)
    return first_difference(
        [
            (isinstance(first, dict), "its first line is no object"),
            (
                is_header or fields.get("type") in _LINES,
                "its first line has neither the `type` session_meta nor an `id` and `instructions`",
            ),
            (is_header or isinstance(fields.get("payload"), dict), "its first line has no `payload`"),
        ]
    )


def _is_header(line: dict[str, Any]) -> bool:
    """Return whether the line is the first one of an older file."""
    return "type" not in line and isinstance(line.get("timestamp"), str) and {"id", "instructions"} <= line.keys()


def read(lines: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the session."""
    session = _Session(reading=new_reading(), reads_events=not any(map(_is_message, lines)))
    for line in lines:
        session.take_failure(line)
    for number, line in enumerate(lines, 1):
        session.add(line, f"lines.{number}")
    yield Conversation(
        id=session.id,
        steps=session.steps,
        tags=("codex", *session.tags),
        began_at=session.began_at,
        skipped=session.reading.skipped,
        unread=session.reading.unread,
    )


def _is_message(line: Any) -> bool:
    """Return whether a line is an item that somebody said."""
    item = line.get("payload", line) if isinstance(line, dict) else None
    return isinstance(item, dict) and item.get("type") == "message" and item.get("role") in ("user", "assistant")


@dataclass(slots=True, kw_only=True)
class _Session:
    """What is read of a file. `failures` has the flags of events, by call. `turn` counts the model's answers.

    Events tell what was said only where no item does (`reads_events`).
    """

    reading: Reading
    reads_events: bool
    id: str | None = None
    steps: list[Step] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    began_at: datetime | None = None
    failures: dict[str, bool] = field(default_factory=dict)
    turn: int = 0
    has_called: bool = False
    has_header: bool = False

    def add(self, value: Any, path: str) -> None:
        """Add one line."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{path}: must be an object, not {json_type(value)}")
        kind = value.get("type")
        if "payload" not in value:
            self._add_bare(value, path)
        elif kind in _NOTICES:
            self.reading.skipped[f"lines that are no turns ({kind})"] += 1
        elif kind == "compacted":
            self.reading.skipped[SUMMARIES] += 1
        elif kind == "event_msg":
            with self.reading.object(value, path) as line:
                line.take("type")
                self._add_event(line)
        elif kind in ("session_meta", "response_item"):
            with self.reading.object(value, path) as line:
                line.take("type")
                at = line.time("timestamp")
                with required_object(line, "payload") as payload:
                    if kind == "session_meta":
                        self._add_header(payload)
                    else:
                        self.steps += self._item(payload, at)
        else:
            if not isinstance(kind, str):
                raise InvalidInput(f"{path}.type: is missing; it must be a string, such as response_item")
            self.reading.unread[f"lines[] of the type {shown(kind)}"] += 1

    def _add_bare(self, value: dict[str, Any], path: str) -> None:
        """Add a line of an older file: the header, a mark of the program, or an item."""
        if value.keys() == {"record_type"}:
            self.reading.skipped["lines that are no turns (record_type)"] += 1
            return
        with self.reading.object(value, path) as line:
            if _is_header(value):
                self._add_header(line)
            else:
                self.steps += self._item(line, line.time("timestamp"))

    def _add_header(self, meta: Fields) -> None:
        """Take the identity and tags of the session; of a fork, the header of the other session follows."""
        meta.skip(PROMPTS, "instructions", "base_instructions")
        id_, at = meta.id("id", "session_id"), meta.time("timestamp")
        version = meta.text("cli_version")
        found = [tag("cwd", meta.take("cwd")), None, tag("version", version)]
        found.append(tag("forked-from", meta.take("forked_from_id")))
        found.append(tag("session", meta.take("parent_thread_id")))  # of which it is a subagent
        git = meta.object("git")
        if git is not None:
            with git:
                found[1] = tag("branch", git.take("branch"))
        if self.has_header:
            self.reading.skipped[COPIES] += 1
            return
        self.has_header = True
        self.id, self.began_at, self.tags = id_, at, [one for one in found if one is not None]
        report_version(version, _KNOWN, "0", self.reading)

    def take_failure(self, line: Any) -> None:
        """Take the flag of failure from an event."""
        event = line.get("payload") if isinstance(line, dict) and line.get("type") == "event_msg" else None
        if not isinstance(event, dict) or not isinstance(event.get("call_id"), str):
            return
        code, success, result = event.get("exit_code"), event.get("success"), event.get("result")
        if isinstance(code, int) and not isinstance(code, bool):
            self.failures[event["call_id"]] = code != 0
        elif isinstance(success, bool):
            self.failures[event["call_id"]] = not success
        elif isinstance(result, dict) and ("Ok" in result or "Err" in result):
            answer = result.get("Ok")
            self.failures[event["call_id"]] = not isinstance(answer, dict) or answer.get("isError") is True

    def _add_event(self, line: Fields) -> None:
        """Add what an event says where the file has no items of messages; else it repeats what an item says."""
        event = line.take("payload")
        kind = event.get("type") if isinstance(event, dict) else None
        role = _SAID_BY.get(kind) if self.reads_events and isinstance(kind, str) else None
        if role is None:
            line.take("timestamp")
            self.reading.skipped["events (the items say the same)"] += 1
            return
        at = line.time("timestamp")
        with self.reading.object(event, line.path("payload")) as said:
            said.take("type")
            path = said.path("message")
            text, _ = read_parts(parts_of(said.text("message"), path), path, self.reading, role=role)
        if text.strip():
            if role == "user":
                self._end_turn()
            self.steps.append(Said(role=role, text=text, at=at))

    def _item(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the steps of an item."""
        kind = item.required_text("type")
        if kind in ("message", "agent_message"):
            return self._message(item, at)
        if kind in _ITEMS:
            return _ITEMS[kind](self, item, at)
        reason = _LEFT_OUT.get(kind)
        if reason is not None:
            item.take(*_LEFT_OUT_FIELDS)
            self.reading.skipped[reason] += 1
        else:
            self.reading.unread[f"items of the type {shown(kind)}"] += 1
        return []

    def _message(self, item: Fields, at: datetime | None) -> list[Step]:
        role = item.text("role") or "agent"
        role = ROLES.get(role.casefold(), role)
        if role in INSTRUCTING:
            item.skip(PROMPTS, "content")
            return []
        path = item.path("content")
        text, attachments = read_parts(parts_of(item.take("content"), path), path, self.reading, role=role)
        if not text.strip() and not attachments:
            return []
        if role != "assistant":
            self._end_turn()
        return [Said(role=role, text=text, speaker=item.id("author"), at=at, attachments=attachments)]

    def _end_turn(self) -> None:
        """Let the next call be one of the next turn; calls between which nothing came ran side by side."""
        self.turn += self.has_called
        self.has_called = False

    def call(self, tool: str, arguments: Any, id_: str | None, at: datetime | None) -> Called:
        """Return a call of the present turn."""
        self.has_called = True
        return Called(tool=tool, arguments=arguments, turn=self.turn, id=id_, at=at)

    def function_call(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the call of a function or of a tool that takes a text."""
        item.take("status")
        tool, arguments = item.required_text("name"), read_arguments(item.take("arguments", "input"))
        return [self.call(tool, arguments, call_id(item, "call_id"), at)]

    def shell_call(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the call of the built-in shell."""
        item.take("status")
        with required_object(item, "action") as action:
            action.take("type")
            names = ("command", "working_directory", "timeout_ms", "env", "user")
            arguments = {name: value for name in names if (value := action.take(name)) is not None}
        return [self.call("local_shell", arguments, item.id("call_id", "id"), at)]

    def search_call(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return a search of the web, whose results are not in the file."""
        status, action = item.take("status"), item.take("action")
        steps: list[Step] = [self.call("web_search", read_arguments(action), item.id("id"), at)]
        if status == "failed":
            steps.append(Returned(text=status, id=item.id("id"), tool="web_search", failed=True, at=at))
        return steps

    def tool_search_call(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return a search for tools."""
        item.take("status", "execution")
        return [self.call("tool_search", read_arguments(item.take("arguments")), call_id(item, "call_id"), at)]

    def tool_search_output(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the tools that were found."""
        item.take("status", "execution")
        return self._returned(result_text(item.take("tools")), (), call_id(item, "call_id"), None, at)

    def picture_call(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the call that made a picture, with it."""
        id_, prompt, status = item.id("id"), item.text("revised_prompt"), item.take("status")
        data = item.text("result")
        called = self.call("image_generation", {"prompt": prompt} if prompt else {}, id_, at)
        if data is None:
            return [called]
        picture = Attachment(media_type="image/png", data=decoded(data))
        failed = status == "failed" if isinstance(status, str) else None
        self._end_turn()
        return [called, Returned(text="", id=id_, tool=called.tool, failed=failed, at=at, attachments=(picture,))]

    def output(self, item: Fields, at: datetime | None) -> list[Step]:
        """Return the result of a call: a text, which may be JSON or have a header, parts, or an object."""
        id_, value, failed = call_id(item, "call_id"), item.take("output"), read_failure(item)
        item.take("name")
        path = item.path("output")
        if isinstance(value, dict):
            with self.reading.object(value, path) as output:
                failed = read_failure(output)
                value = output.take("content", "content_items", "output")
        if isinstance(value, str):
            text, code = shell_result(storable(value))
            failed = failed if code is None else code != 0
            return self._returned(text, (), id_, failed, at)
        text, attachments = read_content(value, path, self.reading)
        return self._returned(text, attachments, id_, failed, at)

    def _returned(
        self, text: str, attachments: tuple[Attachment, ...], id_: str, failed: bool | None, at: datetime | None
    ) -> list[Step]:
        self._end_turn()
        failed = self.failures.get(id_) if failed is None else failed
        return [Returned(text=text, id=id_, failed=failed, at=at, attachments=attachments)]


_ITEMS: dict[str, Callable[[_Session, Fields, datetime | None], list[Step]]] = {
    "function_call": _Session.function_call,
    "custom_tool_call": _Session.function_call,
    "local_shell_call": _Session.shell_call,
    "web_search_call": _Session.search_call,
    "tool_search_call": _Session.tool_search_call,
    "tool_search_output": _Session.tool_search_output,
    "image_generation_call": _Session.picture_call,
    "function_call_output": _Session.output,
    "custom_tool_call_output": _Session.output,
}
_LEFT_OUT = {
    "reasoning": REASONING,
    "compaction": SUMMARIES,
    "compaction_summary": SUMMARIES,
    "context_compaction": SUMMARIES,
    "ghost_snapshot": "lines that are no turns (ghost_snapshot)",
}
_LEFT_OUT_FIELDS = ("id", "summary", "content", "encrypted_content", "ghost_commit")


def shell_result(text: str) -> tuple[str, int | None]:
    """Return what a command printed, and its exit code if the result has one.

    >>> shell_result("Exit code: 1\\nWall time: 0.1 seconds\\nOutput:\\nno such file")
    ('no such file', 1)
    """
    if text.startswith("{") and '"exit_code"' in text:
        value = json_or_text(text)
        metadata = value.get("metadata") if isinstance(value, dict) else None
        if isinstance(metadata, dict) and isinstance(value.get("output"), str):
            code = metadata.get("exit_code")
            return value["output"], code if isinstance(code, int) else None
    end = text.find(_OUTPUT, 0, _MAX_HEADER)
    if end < 0:
        return text, None
    header = [_HEADER.fullmatch(line) for line in text[:end].splitlines() if line]
    if not header or not all(header):
        return text, None
    codes = [int(match["code"] or match["exited"]) for match in header if match and (match["code"] or match["exited"])]
    return text[end + len(_OUTPUT) :], codes[0] if codes else None


CODEX = Format(
    name="Codex session",
    documented="rollout files of Codex 0.20 to 0.144",
    difference=difference,
    read=read,
    marks=("timestamp", "type", "payload"),
    whole_file=True,
)
