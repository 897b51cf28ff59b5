"""Files of recorded agent conversations in the chat-completions format, one conversation per line.

A line is an object with `messages` (role, content, tool_calls, tool_call_id), optionally a field with the outcome, and
any other fields. A file may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

import orjson

from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

OUTCOME_FIELDS = ("outcome", "reward", "success")  # read in this order where the caller names none
ID_FIELDS = ("id", "trace_id", "conversation_id", "task_id")
MAX_LINE = 16 * 2**20  # bytes; a longer line is refused without being held in memory
_OUTCOMES = {"success", "failure", "partial"}
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20  # bytes read at once
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[0-9]{9,19}(\.[0-9]*)?")  # fewer digits may be a date
# The unit of a number is found by its size: seconds reach the year 5138 at the first bound, and so on.
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded conversation, on line `line` of its file.

    `id` is the identity that the line states, None if it has none. `outcome` is success, failure, partial, or None if
    the line has none; `reason` quotes the field it was read from.
    """

    line: int
    id: str | None
    messages: Sequence[dict[str, Any]]
    outcome: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedLine:
    """A line that is no conversation, and why."""

    line: int
    reason: str


def count_lines(path: Path) -> int:
    """Return the number of lines of the file that are not empty. Raises InvalidInput if it cannot be read."""
    count, is_empty = 0, True
    with _opened(path) as file:
        while chunk := file.read(_CHUNK):
            first, *others = chunk.split(b"\n")
            is_empty = is_empty and not _stripped(first)
            for line in others:
                count += not is_empty
                is_empty = not _stripped(line)
    return count + (not is_empty)


def read_traces(path: Path, *, outcome_field: str | None = None) -> Iterator[Trace | RefusedLine]:
    """Yield the conversations of a JSON Lines file, and the lines that are none. Empty lines are skipped.

    `outcome_field` names the field with the outcome; by default, the first of OUTCOME_FIELDS that a line has. Raises
    InvalidInput if the file cannot be read.
    """
    with _opened(path) as file:
        for number, line in enumerate(_lines(file), 1):
            if line is None:
                yield RefusedLine(line=number, reason=f"is longer than {MAX_LINE} bytes; split the conversation")
            elif content := _stripped(line):
                try:
                    yield _trace(content, number, outcome_field)
                except InvalidInput as error:
                    yield RefusedLine(line=number, reason=error.message)


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines of the file, and None for one of more than MAX_LINE bytes."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) <= MAX_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(_CHUNK)  # the rest of the line is dropped
        yield None


def _stripped(line: bytes) -> bytes:
    """Return a line without white space and without the byte order mark that editors put at the start of a file."""
    return line.strip().removeprefix(_BOM).strip()


def _trace(line: bytes, number: int, outcome_field: str | None) -> Trace:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"is not JSON ({error}); every line must be one JSON object") from error
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        raise InvalidInput('has no list `messages`; a line is {"messages": [{role, content}, …]}')
    for place, message in enumerate(data["messages"]):
        _check_message(message, f"messages.{place}")
    return Trace(
        line=number,
        id=_identity(data),
        messages=data["messages"],
        outcome=_outcome(data, outcome_field),
        reason=_reason(data, outcome_field),
    )


def _identity(data: dict[str, Any]) -> str | None:
    """Return the id that the line states, with the trial where there is one; None without an id."""
    name = next((name for name in ID_FIELDS if data.get(name) is not None), None)
    if name is None:
        return None
    parts = [data[name], data["trial"]] if data.get("trial") is not None else [data[name]]
    for field, value in zip((name, "trial"), parts, strict=False):
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise InvalidInput(f"{field}: must be a string or a whole number, not {_described(value)}")
    return f"{parts[0]}" if len(parts) == 1 else f"{parts[0]}:trial-{parts[1]}"


def _check_message(message: Any, where: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str) or not message["role"].strip():
        raise InvalidInput(f"{where}: must be an object with a `role`, such as user or assistant")
    if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
        raise InvalidInput(f"{where}.tool_call_id: must be a string, the id of the call that the tool answers")
    calls = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"{where}.tool_calls: must be a list, not {json_type(calls)}")
    for place, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name.strip() or "id" not in call:
            raise InvalidInput(f"{where}.tool_calls.{place}: must be {{id, function: {{name, arguments}}}}")
    message_time(message, where)


def message_time(message: dict[str, Any], where: str = "messages") -> datetime | None:
    """Return when the message was sent; None if it does not say. Raises InvalidInput for a malformed time.

    A number is the time since 1970 in seconds, milliseconds, microseconds or nanoseconds, whichever its size fits.
    """
    field = "timestamp" if message.get("timestamp") is not None else "created_at"
    value = message.get(field)
    if value is None:
        return None
    if isinstance(value, str) and _SECONDS.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        per_second = next((unit for bound, unit in _EPOCH_UNITS if 0 <= value < bound), None)
        if per_second is None:
            raise InvalidInput(f"{where}.{field}: {shown(value)} is not a time since 1970 in seconds or milliseconds")
        return _EPOCH + timedelta(seconds=value / per_second)
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{where}.{field}: {_described(value)} is not an RFC 3339 time; write one such as 2026-01-28T09:30:00Z"
        ) from None
    if at.tzinfo is None:
        raise InvalidInput(f"{where}.{field}: {value!r} has no UTC offset; write {value}Z")
    return at


def _outcome(data: dict[str, Any], named: str | None) -> str | None:
    field = _outcome_field(data, named)
    if field is None:
        return None
    value = data[field]
    if isinstance(value, bool):
        return "success" if value else "failure"
    if isinstance(value, int | float) and 0 <= value <= 1:
        return "success" if value == 1 else "failure" if value == 0 else "partial"
    if isinstance(value, str) and value.casefold() in _OUTCOMES:
        return value.casefold()
    raise InvalidInput(
        f"{field}: {_described(value)} is not an outcome; use success, failure, partial, a boolean, or a number from 0"
        " to 1"
    )


def _reason(data: dict[str, Any], named: str | None) -> str | None:
    field = _outcome_field(data, named)
    if field is None:
        return None
    value = data[field]
    return f"{field} = {value if isinstance(value, str) else orjson.dumps(value).decode()}"


def _described(value: object) -> str:
    """Return a value of a line as an error names it: a string or a number as it is, others by their JSON type."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return shown(value) if is_plain else json_type(value)


def _outcome_field(data: dict[str, Any], named: str | None) -> str | None:
    field = named or next((name for name in OUTCOME_FIELDS if data.get(name) is not None), None)
    return field if field is not None and data.get(field) is not None else None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open the file, uncompressed. Raises InvalidInput if it cannot be read."""
    try:
        with path.open("rb") as file:
            if file.peek(len(_GZIP)).startswith(_GZIP):
                with gzip.open(file) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield file
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"file: {path} cannot be read: {reason}", path=["file"]) from error
