"""What a conversation of a framework becomes in the memory: turns, and calls of tools with their results.

The steps are those that `stratagraph import traces` makes of the same conversation.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

MOST_TEXT = 200_000  # characters of a turn or a result that are captured; the framework's own item is kept whole
MIN_TRACED = 4  # characters of an argument that is searched for in earlier results
TRACED = 1 << 20  # characters of the latest results in which arguments are searched for
CUT = "… (cut)"
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn. `files` names its pictures, sound and files."""

    role: str
    text: str
    speaker: str | None = None
    at: datetime | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call of a tool; calls of one `turn` ran side by side."""

    tool: str
    args: Any
    turn: int
    id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The result of a call. `failed` is None where nothing beside the result says whether it did."""

    text: str
    id: str | None = None
    tool: str | None = None
    failed: bool | None = None
    at: datetime | None = None


Step = Said | Called | Returned


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCapture:
    """One capture: its source kind, its content without the thread, and its time; `item` is the place of its item."""

    kind: str
    content: dict[str, Any]
    at: datetime | None
    item: int


@dataclass(slots=True, kw_only=True)
class _Open:
    id: str | None
    tool: str
    content: dict[str, Any]
    at: datetime | None


class StepReader:
    """Turns the steps of one conversation into captures, a few at a time.

    A call waits for its result, and both are one capture. A call depends on the earlier calls whose results contain one
    of its arguments, or else on those of the turn before.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._given: set[str] = set()
        self._repeated: Counter[str] = Counter()
        self._calls = 0
        self._results = 0
        self._latest: deque[tuple[str, str]] = deque()
        self._traced = 0
        self._answered: set[str] = set()
        self._message: int | None = None
        self._turn: list[str] = []
        self._turn_before: list[str] = []

    def read(self, steps: Iterable[tuple[int, Step]]) -> list[StepCapture]:
        """Return the captures of the next steps, each given with the place of its item."""
        found: list[StepCapture] = []
        for item, step in steps:
            if isinstance(step, Called):
                self._call(step)
            elif isinstance(step, Returned):
                found.append(StepCapture(kind="TOOL_OUTPUT", content=self._result(step), at=step.at, item=item))
            else:
                found.append(StepCapture(kind="AGENT_TURN", content=_turn(step), at=step.at, item=item))
        return found

    def unanswered(self) -> list[StepCapture]:
        """Return the captures of the calls that still wait for a result, and stop waiting for it."""
        found = [StepCapture(kind="TOOL_OUTPUT", content=one.content, at=one.at, item=-1) for one in self._open]
        self._open = []
        return found

    def _call(self, step: Called) -> None:
        if step.turn != self._message:
            self._message = step.turn
            self._turn_before, self._turn = self._turn, []
        self._calls += 1
        unique = self._unique(step.id or f"call_{self._calls}")
        content = {
            "tool_name": step.tool[:2_000],
            "args": step.args,
            "call_id": unique,
            "depends_on": self._dependencies(step.args),
        }
        self._open.append(_Open(id=step.id, tool=step.tool, content=content, at=step.at))
        self._turn.append(unique)

    def _result(self, step: Returned) -> dict[str, Any]:
        text = storable(step.text)
        call = self._called(step)
        if call is None:
            tool = step.tool if step.tool is not None and step.tool.strip() else "tool"
            id_ = self._unique(step.id or f"result_{self._results + 1}")
            content: dict[str, Any] = {"tool_name": tool[:2_000], "args": {}, "call_id": id_}
        else:
            content = call.content
        unique = content["call_id"]
        self._results += 1
        self._latest.append((unique, text))
        self._traced += len(text)
        while self._traced > TRACED and len(self._latest) > 1:
            self._traced -= len(self._latest.popleft()[1])
        self._answered.add(unique)
        result = json_or_text(text) if len(text) <= MOST_TEXT else text[:MOST_TEXT] + CUT
        failed = step.failed if step.failed is not None else tells_failure(result)
        return {**content, "result": result, **({"error": True} if failed else {})}

    def _called(self, step: Returned) -> _Open | None:
        """Remove and return the first open call that a result answers: by its id, or else by its tool."""
        for one in self._open:
            if step.id is not None and one.id == step.id:
                break
        else:
            if step.id is not None and step.tool is None:
                return None
            fits = (
                one
                for one in self._open
                if (step.id is None or one.id is None) and (step.tool is None or one.tool == step.tool)
            )
            found = next(fits, None)
            if found is None:
                return None
            one = found
        self._open.remove(one)
        return one

    def _unique(self, id_: str) -> str:
        unique = id_
        while unique in self._given:
            self._repeated[id_] += 1
            unique = f"{id_}#{self._repeated[id_] + 1}"
        self._given.add(unique)
        return unique

    def _dependencies(self, args: Any) -> list[str]:
        words = [value for value in _strings(args) if len(value) >= MIN_TRACED]
        used = [id_ for id_, result in self._latest if any(word in result for word in words)]
        return used or [id_ for id_ in self._turn_before if id_ in self._answered]


def _turn(step: Said) -> dict[str, Any]:
    text = storable(step.text)
    if not text.strip():
        text = f"[sent {', '.join(step.files)}]"
    if len(text) > MOST_TEXT:
        text = text[:MOST_TEXT] + CUT
    named = {} if step.speaker is None else {"speaker": step.speaker}
    return {"role": step.role, **named, "text": text}


def side(role: str) -> str:
    """Return the role `user` or `assistant` for the names that other programs have for them."""
    return _ROLES.get(role.casefold(), role)


def storable(text: str) -> str:
    """Return the text without what the service cannot store: U+0000, and halves of surrogate pairs."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """Return a JSON value with storable texts and names."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(name)): storable_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(inner) for inner in value]
    return value


def arguments(value: Any) -> Any:
    """Return the arguments of a call: JSON, that of a text which is JSON, or else the text."""
    if isinstance(value, str):
        if not value.strip():
            return {}
        try:
            value = json.loads(value, parse_constant=_refuse, parse_int=_whole)
        except (ValueError, RecursionError):
            return storable(value)
    return {} if value is None else storable_json(value)


def json_or_text(text: str) -> Any:
    """Return the JSON value that a text is, or the text."""
    if "\\u0000" in text:
        return text
    try:
        return storable_json(json.loads(text, parse_constant=_refuse, parse_int=_whole))
    except (ValueError, RecursionError):
        return text


def result_text(value: Any) -> str:
    """Return a result as the text that it is compared by: JSON for what is no text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tells_failure(result: Any) -> bool:
    """Return whether a result says itself that its call failed."""
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


def past(at: datetime | None) -> datetime | None:
    """Return a time that the service takes: one with an offset that is not ahead of this machine's clock."""
    if at is None or at.tzinfo is None or at > datetime.now(UTC) + timedelta(minutes=1):
        return None
    return at


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _whole(digits: str) -> int | float:
    """Return a whole number as the importer reads it: beyond 64 bits it is the nearest float."""
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(digits)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
