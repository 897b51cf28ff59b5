"""Files of recorded agent conversations in the chat-completions format, one conversation per line.

A line is an object with `messages` (role, content, tool_calls, tool_call_id), optionally a field with the outcome, and
any other fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

OUTCOME_FIELDS = ("outcome", "reward", "success")  # read in this order where the caller names none
ID_FIELDS = ("id", "trace_id", "conversation_id", "task_id")
_OUTCOMES = {"success", "failure", "partial"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded conversation. `thread` is the thread id under which its messages are captured.

    `outcome` is success, failure, partial, or None if the line has none; `reason` quotes the field it was read from.
    """

    thread: str
    messages: Sequence[dict[str, Any]]
    outcome: str | None
    reason: str | None


def count_lines(path: Path) -> int:
    """Return the number of conversations in the file. Raises InvalidInput if it cannot be read."""
    with _open(path) as lines:
        return sum(1 for line in lines if line.strip())


def read_traces(path: Path, *, outcome_field: str | None = None) -> Iterator[Trace]:
    """Yield the conversations of a JSON Lines file. Raises InvalidInput naming the line and field of a malformed one.

    `outcome_field` names the field with the outcome; by default, the first of OUTCOME_FIELDS that a line has.
    """
    mark = hashlib.sha256(str(path.resolve().name).encode()).hexdigest()[:8]
    seen: set[str] = set()
    with _open(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            trace = _trace(line, number, mark, outcome_field)
            if trace.thread in seen:
                trace = Trace(
                    thread=f"{trace.thread}:{number}",
                    messages=trace.messages,
                    outcome=trace.outcome,
                    reason=trace.reason,
                )
            seen.add(trace.thread)
            yield trace


def _trace(line: bytes, number: int, mark: str, outcome_field: str | None) -> Trace:
    where = [f"line {number}"]
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"line {number}: is not JSON ({error}); every line must be one JSON object. Nothing was imported.",
            path=where,
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        raise InvalidInput(
            f'line {number}: has no list `messages`; a line is {{"messages": [{{role, content}}, …]}}.'
            " Nothing was imported.",
            path=[*where, "messages"],
        )
    for place, message in enumerate(data["messages"]):
        _check_message(message, [*where, "messages", str(place)])
    outcome = _outcome(data, outcome_field, where)
    parts = [str(data[name]) for name in ID_FIELDS if data.get(name) is not None][:1]
    if data.get("trial") is not None:
        parts.append(f"trial-{data['trial']}")
    thread = ":".join([f"trace-{mark}", *(parts or [str(number)])])
    return Trace(thread=thread[:400], messages=data["messages"], outcome=outcome, reason=_reason(data, outcome_field))


def _check_message(message: Any, path: list[str]) -> None:
    where = ".".join(path)
    if not isinstance(message, dict) or not isinstance(message.get("role"), str) or not message["role"]:
        raise InvalidInput(
            f"{where}: must be an object with a `role`, such as user or assistant. Nothing was imported.", path=path
        )
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise InvalidInput(
            f"{where}.tool_call_id: must be a string, the id of the call that the tool answers. Nothing was imported.",
            path=[*path, "tool_call_id"],
        )
    for place, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or "id" not in call:
            raise InvalidInput(
                f"{where}.tool_calls.{place}: must be {{id, function: {{name, arguments}}}}. Nothing was imported.",
                path=[*path, "tool_calls", str(place)],
            )
    message_time(message, path)


def message_time(message: dict[str, Any], path: list[str] | None = None) -> datetime | None:
    """Return when the message was sent; None if it does not say. Raises InvalidInput for a malformed time."""
    value = message.get("timestamp", message.get("created_at"))
    if value is None:
        return None
    where = [*(path or ["messages"]), "timestamp"]
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput(
            f"{'.'.join(where)}: {shown(value)} is not an RFC 3339 time; write one such as 2026-01-28T09:30:00Z",
            path=where,
        ) from None
    if at.tzinfo is None:
        raise InvalidInput(f"{'.'.join(where)}: {value!r} has no UTC offset; write {value}Z", path=where)
    return at


def _outcome(data: dict[str, Any], named: str | None, where: list[str]) -> str | None:
    field = named or next((name for name in OUTCOME_FIELDS if data.get(name) is not None), None)
    if field is None or data.get(field) is None:
        return None
    value = data[field]
    if isinstance(value, bool):
        return "success" if value else "failure"
    if isinstance(value, int | float):
        return "success" if value >= 1 else "failure" if value <= 0 else "partial"
    if isinstance(value, str) and value.casefold() in _OUTCOMES:
        return value.casefold()
    raise InvalidInput(
        f"{where[0]}.{field}: {shown(value)} is not an outcome; use success, failure, partial, a boolean, or a"
        " number from 0 to 1. Nothing was imported.",
        path=[*where, field],
    )


def _reason(data: dict[str, Any], named: str | None) -> str | None:
    field = named or next((name for name in OUTCOME_FIELDS if data.get(name) is not None), None)
    return f"{field} = {data[field]}" if field is not None and data.get(field) is not None else None


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(f"file: {path} cannot be read: {error.strerror}", path=["file"]) from error
