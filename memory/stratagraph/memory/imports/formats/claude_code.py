"""Claude Code sessions: JSON Lines of `~/.claude/projects/*/*.jsonl`, and what `--output-format stream-json` prints.

The steps are in the order of the lines, so that a session that grows, also after a retry from an earlier turn,
continues what is known of it. A subagent's lines are a conversation of their own, `<session>:agent-<id>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.conversation import Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.contents import read_content
from stratagraph.memory.imports.formats.format import Difference, Format, first_difference
from stratagraph.memory.imports.formats.parts import read_arguments, read_failure, storable
from stratagraph.memory.imports.formats.sessions import (
    BY_PROGRAM,
    COPIES,
    SHOWN,
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

_SPOKEN = ("user", "assistant")
# Lines in which nobody speaks. Others are counted as unread.
_NOTICES = (
    "system",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "attachment",
    "last-prompt",
    "ai-title",
    "custom-title",
    "agent-name",
    "permission-mode",
    "mode",
    "pr-link",
    "result",
    "stream_event",
    "rate_limit_event",
)
_MARKS = ("sessionId", "session_id", "parentUuid", "leafUuid", "messageId")  # one of them is in every known line
_KNOWN = re.compile(r"[012]\.\d+\.\d+.*")
# Fields of messages that are no turns, and what they are.
_LEFT_OUT = {
    "forkedFrom": COPIES,
    "isCompactSummary": SUMMARIES,
    "isMeta": BY_PROGRAM,
    "isApiErrorMessage": BY_PROGRAM,
}
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")


def difference(lines: Any) -> Difference | None:
    """Return in what the lines of a file are no session of Claude Code."""
    shown_lines = lines[:SHOWN] if isinstance(lines, list) else []
    objects = [line for line in shown_lines if isinstance(line, dict)]
    types = [line.get("type") for line in objects]
    return first_difference(
        [
            (len(objects) > 0 and len(objects) == len(shown_lines), "not every line is an object"),
            (any(one in (*_SPOKEN, *_NOTICES) for one in types), "no line has the `type` user or assistant"),
            (
                any(
                    line.get("type") in (*_SPOKEN, *_NOTICES) and any(name in line for name in _MARKS)
                    for line in objects
                ),
                "no line has a `sessionId`",
            ),
        ]
    )


def read(lines: Any, new_reading: Callable[[], Reading]) -> Iterable[Conversation]:
    """Yield the session, those that it was resumed from, and the conversations of its subagents."""
    session = _Session(new_reading, _first_session(lines))
    for number, line in enumerate(lines, 1):
        session.add(line, f"lines.{number}")
    for thread in session.threads.values():
        yield thread.conversation()


def _first_session(lines: Any) -> str | None:
    """Return the session of the first line that names one; lines before it have none."""
    ids = (line.get("sessionId", line.get("session_id")) for line in lines if isinstance(line, dict))
    return next((id_ for id_ in ids if isinstance(id_, str) and id_.strip()), None)


@dataclass(slots=True)
class _Thread:
    """One conversation of the file. `turns` numbers the messages of the model, which may take several lines.

    `known` has its calls and results: a resumed session may repeat them.
    """

    id: str | None
    reading: Reading
    steps: list[Step] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    known: set[tuple[str, str | None]] = field(default_factory=set)
    began_at: datetime | None = None

    def add(self, steps: Iterable[Step]) -> None:
        """Add steps; a call of a known id, or a known result of one, is a copy."""
        for step in steps:
            if not isinstance(step, Said):
                key = (step.id or "", step.text if isinstance(step, Returned) else None)
                if key in self.known:
                    self.reading.skipped[COPIES] += 1
                    continue
                self.known.add(key)
            self.steps.append(step)

    def conversation(self) -> Conversation:
        """Return what was read."""
        return Conversation(
            id=self.id,
            steps=self.steps,
            tags=("claude-code", *self.tags.values()),
            began_at=self.began_at,
            skipped=self.reading.skipped,
            unread=self.reading.unread,
        )

    def describe(self, line: Fields) -> None:
        """Take the tags of a line; those of the first line that has them are kept."""
        for name, key in (("cwd", "cwd"), ("branch", "gitBranch"), ("version", "version")):
            value = line.take(key)
            found = tag(name, value)
            if found is not None and name not in self.tags:
                self.tags[name] = found
                if name == "version":
                    report_version(value, _KNOWN, "0, 1 and 2", self.reading)


class _Session:
    """The lines of a file, by conversation."""

    def __init__(self, new_reading: Callable[[], Reading], session: str | None) -> None:
        self.threads: dict[str | None, _Thread] = {}
        self._new_reading = new_reading
        self._session = session
        self._seen: set[str] = set()
        self._sidechains: dict[str, str] = {}  # the first line of the sidechain that a line belongs to, by uuid

    def add(self, value: Any, path: str) -> None:
        """Add one line."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{path}: must be an object, not {json_type(value)}")
        thread = self._thread(value, path)
        kind = value.get("type")
        is_spoken = kind in _SPOKEN
        prompt = _queued_prompt(value)
        if not is_spoken and prompt is None:
            if not isinstance(kind, str):
                raise InvalidInput(f"{path}.type: is missing; it must be a string, such as user or assistant")
            if kind in _NOTICES:
                thread.reading.skipped[f"lines that are no turns ({kind})"] += 1
            else:
                thread.reading.unread[f"lines[] of the type {shown(kind)}"] += 1
        elif (reason := self._left_out(value)) is not None:
            thread.reading.skipped[reason] += 1
        else:
            with thread.reading.object(value, path) as line:
                line.take("type", "sessionId", "session_id", "agentId", "parent_tool_use_id", "isSidechain")
                line.take("uuid", "parentUuid", *_LEFT_OUT)
                at = line.time("timestamp")
                thread.began_at = thread.began_at or at
                thread.describe(line)
                thread.add(_spoken(line, thread, at) if is_spoken else _queued(line, prompt, at))

    def _left_out(self, line: dict[str, Any]) -> str | None:
        """Return why a message is no turn of its own; None if it is one."""
        uuid = line.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                return COPIES
            self._seen.add(uuid)
        return next((reason for name, reason in _LEFT_OUT.items() if line.get(name)), None)

    def _thread(self, line: dict[str, Any], path: str) -> _Thread:
        """Return the conversation that a line belongs to."""
        reading = Reading()
        fields = reading.object(line, path)
        self._session = fields.id("sessionId", "session_id") or self._session
        agent, call = fields.id("agentId"), fields.id("parent_tool_use_id")
        uuid, parent = fields.id("uuid"), fields.id("parentUuid")
        part = None
        if agent is not None:
            part = f"agent-{agent}"
        elif call is not None:
            part = f"agent-{call}"
        elif line.get("isSidechain") is True and uuid is not None:
            self._sidechains[uuid] = self._sidechains.get(parent or "", uuid)
            part = f"sidechain-{self._sidechains[uuid]}"
        id_ = self._session if part is None else f"{self._session or ''}:{part}"
        if id_ not in self.threads:
            known = None if self._session is None else id_
            thread = self.threads[id_] = _Thread(id=known, reading=self._new_reading())
            session = tag("session", self._session) if part is not None else None
            if session is not None:
                thread.tags["session"] = session
        return self.threads[id_]


def _spoken(line: Fields, thread: _Thread, at: datetime | None) -> list[Step]:
    """Return the steps of a message."""
    with required_object(line, "message") as message:
        role = message.required_text("role")
        return _answered(message, line, thread, at) if role == "assistant" else _typed(message, line, role, at)


def _answered(message: Fields, line: Fields, thread: _Thread, at: datetime | None) -> list[Step]:
    """Return the steps of a message of the model; its lines have one id."""
    id_ = message.id("id") or line.path("message")
    turn = thread.turns.setdefault(id_, len(thread.turns))
    path, reading = message.path("content"), line.reading
    calls: list[Step] = []
    others: dict[int, Any] = {}
    for place, part in parts_of(message.take("content"), path).items():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _CALLS:
            with reading.object(part, f"{path}.{place}") as call:
                call.take("type")
                calls.append(
                    Called(
                        tool=call.required_text("name"),
                        arguments=read_arguments(call.take("input")),
                        turn=turn,
                        id=call_id(call, "id"),
                        at=at,
                    )
                )
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            with reading.object(part, f"{path}.{place}") as result:
                calls.append(_result(result, None, at))
        else:
            others[place] = part
    if message.take("model") == "<synthetic>":
        reading.skipped[BY_PROGRAM] += 1
        return []
    text, attachments = read_parts(others, path, reading, role="assistant")
    said = [Said(role="assistant", text=text, at=at, attachments=attachments)] if text.strip() or attachments else []
    return [*said, *calls]


def _typed(message: Fields, line: Fields, role: str, at: datetime | None) -> list[Step]:
    """Return the results of a message, and what the user typed."""
    path, reading = message.path("content"), line.reading
    parts = parts_of(message.take("content"), path)
    results = {place for place, part in parts.items() if isinstance(part, dict) and part.get("type") == "tool_result"}
    copy = line.take("toolUseResult", "tool_use_result") if results else None
    if copy is not None:
        reading.skipped[COPIES] += 1
    steps: list[Step] = []
    for place in sorted(results):
        with reading.object(parts[place], f"{path}.{place}") as result:
            steps.append(_result(result, copy if len(results) == 1 else None, at))
    others = {place: part for place, part in parts.items() if place not in results}
    text, attachments = read_parts(others, path, reading, role=role)
    if text.strip() or attachments:
        steps.append(Said(role=role, text=text, at=at, attachments=attachments))
    return steps


def _result(result: Fields, copy: Any, at: datetime | None) -> Returned:
    """Return the result of a call. `copy` is what the program keeps of it, which has more flags."""
    result.take("type")
    text, attachments = read_content(result.take("content"), result.path("content"), result.reading)
    failed = read_failure(result)
    if isinstance(copy, dict):
        output = [copy[name] for name in ("stdout", "stderr") if isinstance(copy.get(name), str) and copy[name]]
        text = text or storable("\n".join(output))
        code = copy.get("exitCode", copy.get("exit_code", copy.get("code")))
        if copy.get("interrupted") is True:
            failed = True
        elif failed is None and isinstance(code, int) and not isinstance(code, bool) and "stdout" in copy:
            failed = code != 0
    return Returned(text=text, id=call_id(result, "tool_use_id"), failed=failed, at=at, attachments=attachments)


def _queued_prompt(line: dict[str, Any]) -> Any:
    """Return the prompt that the user typed while the model worked; None if the line has none."""
    queued = line.get("attachment") if line.get("type") == "attachment" else None
    if isinstance(queued, dict) and queued.get("type") == "queued_command":
        return queued.get("prompt") if queued.get("commandMode") in (None, "prompt") else None
    return None


def _queued(line: Fields, prompt: Any, at: datetime | None) -> list[Step]:
    """Return the turn of a prompt that the user typed while the model worked."""
    path = line.path("attachment.prompt")
    line.take("attachment")
    text, attachments = read_parts(parts_of(prompt, path), path, line.reading, role="user")
    return [Said(role="user", text=text, at=at, attachments=attachments)] if text.strip() or attachments else []


CLAUDE_CODE = Format(
    name="Claude Code session",
    documented="files of Claude Code 1.0 to 2.1 (the format is not documented)",
    difference=difference,
    read=read,
    marks=("sessionId", "uuid", "parentUuid", "message", "type"),
    whole_file=True,
)
