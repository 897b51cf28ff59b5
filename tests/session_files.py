"""Session files of coding agents, written from the steps of a conversation, as each agent writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from stratagraph.memory.imports.conversation import Called, Returned, Said, Step

SESSION = "5a9f0f7e-2b1c-4d55-8f6e-0c2f7a1d9b33"
Lines = list[dict[str, Any]]


def claude_code(steps: Sequence[Step], *, split: bool = True) -> Lines:
    """A Claude Code session; where `split`, each block of the model is a line of its own."""
    lines: Lines = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}]
    parent: str | None = None
    message = 0

    def add(kind: str, content: Any, **more: Any) -> None:
        nonlocal parent
        uuid = f"u{len(lines)}"
        head = {"parentUuid": parent, "isSidechain": False, "cwd": "/w", "sessionId": SESSION, "version": "2.1.1"}
        inner = {"role": kind, "content": content, **({"id": f"msg_{message}"} if kind == "assistant" else {})}
        lines.append({**head, "type": kind, "uuid": uuid, "message": inner, **more})
        parent = uuid

    for place, step in enumerate(steps):
        before = steps[place - 1] if place else None
        if isinstance(step, Said) and step.role == "user":
            add("user", step.text)
        elif isinstance(step, Returned):
            flag = {} if step.failed is None else {"is_error": step.failed}
            add("user", [{"type": "tool_result", "tool_use_id": step.id, "content": step.text, **flag}])
        else:
            if isinstance(step, Said) or not _same_message(before, step):
                message += 1
            block = (
                {"type": "text", "text": step.text}
                if isinstance(step, Said)
                else {"type": "tool_use", "id": step.id, "name": step.tool, "input": step.arguments}
            )
            last = lines[-1]
            if not split and last["type"] == "assistant" and last["message"]["id"] == f"msg_{message}":
                last["message"]["content"].append(block)
            else:
                add("assistant", [block])
    return lines


def _same_message(before: Step | None, step: Called) -> bool:
    """Whether a call is made by the message of the step before it."""
    if isinstance(before, Called):
        return before.turn == step.turn
    return isinstance(before, Said) and before.role == "assistant"


def codex(steps: Sequence[Step], *, bare: bool = False) -> Lines:
    """A Codex session; where `bare`, as files were until September 2025."""
    lines: Lines = []

    def add(kind: str, payload: dict[str, Any]) -> None:
        lines.append({"timestamp": "2026-05-11T14:00:00.000Z", "type": kind, "payload": payload})

    def item(**payload: Any) -> None:
        if bare:
            lines.append(payload)
        else:
            add("response_item", payload)

    if bare:
        lines += [{"id": SESSION, "timestamp": "2025-08-01T07:00:00.000Z", "instructions": None}]
        lines += [{"record_type": "state"}]
    else:
        add("session_meta", {"id": SESSION, "cwd": "/w", "cli_version": "0.137.0"})
        add("turn_context", {"cwd": "/w"})
    for step in steps:
        if isinstance(step, Said):
            kind = "output_text" if step.role == "assistant" else "input_text"
            item(type="message", role=step.role, content=[{"type": kind, "text": step.text}])
            if not bare:
                add("event_msg", {"type": f"{step.role}_message", "message": step.text})
        elif isinstance(step, Called):
            arguments = json.dumps(step.arguments)
            item(type="function_call", name=step.tool, call_id=step.id, arguments=arguments)
        else:
            code = None if step.failed is None else int(step.failed)
            output = step.text if code is None else json.dumps({"output": step.text, "metadata": {"exit_code": code}})
            item(type="function_call_output", call_id=step.id, output=output)
    return lines


def atif(steps: Sequence[Step]) -> dict[str, Any]:
    """An ATIF trajectory."""
    found: Lines = []
    for place, step in enumerate(steps):
        before = steps[place - 1] if place else None
        if isinstance(step, Said):
            source = "agent" if step.role == "assistant" else step.role
            found.append({"source": source, "message": step.text})
        elif isinstance(step, Called):
            if not _same_message(before, step):
                found.append({"source": "agent", "message": ""})
            call = {"tool_call_id": step.id, "function_name": step.tool, "arguments": step.arguments}
            found[-1].setdefault("tool_calls", []).append(call)
        else:
            flag = {} if step.failed is None else {"extra": {"is_error": step.failed}}
            result = {"source_call_id": step.id, "content": step.text, **flag}
            found[-1].setdefault("observation", {"results": []})["results"].append(result)
    numbered = [{"step_id": number, **step} for number, step in enumerate(found, 1)]
    agent = {"name": "tester", "version": "1"}
    return {"schema_version": "ATIF-v1.6", "session_id": SESSION, "agent": agent, "steps": numbered}


WRITERS: dict[str, Callable[[Sequence[Step]], Any]] = {
    "Claude Code, a line a block": lambda steps: claude_code(steps, split=True),
    "Claude Code, a line a message": lambda steps: claude_code(steps, split=False),
    "Codex": codex,
    "Codex of 2025": lambda steps: codex(steps, bare=True),
    "ATIF": atif,
}
