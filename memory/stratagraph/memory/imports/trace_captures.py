"""What a recorded conversation becomes: the captures of its turns and tool calls, each with a fingerprint."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.capture.request import MAX_CONTENT_BYTES
from stratagraph.memory.imports.trace_files import Trace, message_time
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput

MIN_TRACED = 4  # characters of an argument that is searched for in earlier results; shorter ones match by chance
_INSTRUCTING = ("system", "developer")  # roles whose messages are prompts
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


@dataclass(slots=True, kw_only=True)
class TraceCapture:
    """One capture of a conversation.

    `place` is its number among the turns and results, `call:` and a number for a call without a result. `fingerprint`
    is the hash of what was said or done, whatever the ids of calls and the times are. `call` is the place that the call
    of a result would have without it.
    """

    place: str
    kind: SourceKind
    content: dict[str, Any]
    at: datetime | None
    fingerprint: str
    call: str | None = None


@dataclass(slots=True, kw_only=True)
class Conversation:
    """The captures of a conversation, in order, and the counts of what is left out, by reason."""

    captures: list[TraceCapture] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def spoken(self) -> list[TraceCapture]:
        """The turns and results: those whose places are numbers."""
        return [capture for capture in self.captures if not capture.place.startswith("call:")]

    def content_hashes(self, most: int) -> list[str]:
        """Return the hash of all turns and results, then those without the last one, two, … up to `most` hashes.

        Of a conversation that has none, return the hash of its calls.
        """
        digest, found = hashlib.sha256(), list[str]()
        for capture in self.spoken or self.captures:
            digest.update(capture.fingerprint.encode())
            found.append(digest.hexdigest())
        return found[::-1][:most] if self.spoken else found[-1:]


def read_conversation(trace: Trace) -> Conversation:
    """Return the captures that a conversation becomes. System prompts are left out: they are no experience.

    Raises InvalidInput for a message that is too long for a capture.
    """
    conversation = Conversation()
    calls = _Calls()
    number = 0
    for index, message in enumerate(trace.messages):
        role, at = message["role"], message_time(message)
        if role in _INSTRUCTING:
            conversation.skipped["system prompts (instructions, not experience)"] += 1
            continue
        text, others = _text(message.get("content"))
        if len(text) > MAX_CONTENT_BYTES:
            raise InvalidInput(
                f"messages.{index}: {len(text)} characters; at most {MAX_CONTENT_BYTES} bytes fit a capture"
            )
        conversation.skipped["parts of messages that are not text"] += others
        if role == "tool":
            content, call, said = calls.add_result(message, text)
            conversation.captures.append(
                TraceCapture(
                    place=str(number),
                    kind=SourceKind.TOOL_OUTPUT,
                    content=content,
                    at=at,
                    fingerprint=_hash(["tool", *said]),
                    call=call,
                )
            )
            number += 1
            continue
        if text.strip():
            conversation.captures.append(
                TraceCapture(
                    place=str(number),
                    kind=SourceKind.AGENT_TURN,
                    content={"role": role, "text": text},
                    at=at,
                    fingerprint=_hash([role, text]),
                )
            )
            number += 1
        calls.add_calls(message.get("tool_calls") or (), at)
    for place, content, said, at in calls.unanswered():
        conversation.skipped["results of tool calls (the calls are kept without one)"] += 1
        conversation.captures.append(
            TraceCapture(
                place=place, kind=SourceKind.TOOL_OUTPUT, content=content, at=at, fingerprint=_hash(["call", *said])
            )
        )
    return conversation


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call that has no result yet. `said` is what identifies it: its tool and arguments."""

    place: str
    content: dict[str, Any]
    said: list[Any]
    at: datetime | None


class _Calls:
    """The tool calls of a conversation, and which earlier calls each one depends on.

    A call depends on the earlier calls whose results contain one of its arguments. If there are none, it depends on the
    calls of the previous turn, whose results the model had seen.
    """

    def __init__(self) -> None:
        self._open: dict[str, deque[_Call]] = {}
        self._seen: Counter[str] = Counter()
        self._given: set[str] = set()
        self._number = 0
        self._results: list[tuple[str, str]] = []
        self._answered: set[str] = set()
        self._turn: list[str] = []
        self._previous_turn: list[str] = []

    def add_calls(self, tool_calls: Sequence[dict[str, Any]], at: datetime | None) -> None:
        """Add the calls of one message; those of one message run side by side."""
        if not tool_calls:
            return
        self._previous_turn, self._turn = self._turn, []
        for call in tool_calls:
            name, arguments = call["function"]["name"], _arguments(call["function"].get("arguments"))
            id_ = str(call["id"])
            unique = self._unique(id_)
            content = {
                "tool_name": name,
                "args": arguments,
                "call_id": unique,
                "depends_on": self._dependencies(arguments),
            }
            waiting = _Call(place=f"call:{self._number}", content=content, said=[name, arguments], at=at)
            self._number += 1
            self._open.setdefault(id_, deque()).append(waiting)  # recorded agents reuse the ids of their calls
            self._turn.append(unique)

    def add_result(self, message: dict[str, Any], text: str) -> tuple[dict[str, Any], str | None, list[Any]]:
        """Add a result; return its content, the place of its call if it has one, and what identifies it."""
        waiting = self._open.get(message["tool_call_id"])
        call = waiting.popleft() if waiting else None
        if call is None:
            name = message.get("name")
            tool = name if isinstance(name, str) and name.strip() else "tool"
            id_ = self._unique(message["tool_call_id"])
            call = _Call(place="", content={"tool_name": tool, "args": {}, "call_id": id_}, said=[tool, {}], at=None)
        unique = call.content["call_id"]
        self._results.append((unique, text))
        self._answered.add(unique)
        failed = text.lstrip().lower().startswith("error")
        content = {**call.content, "result": _json_or_text(text), **({"error": True} if failed else {})}
        return content, call.place or None, [*call.said, text]

    def unanswered(self) -> Iterator[tuple[str, dict[str, Any], list[Any], datetime | None]]:
        """Yield place, content, identity and time of each call without a result, in order."""
        calls = [call for waiting in self._open.values() for call in waiting]
        for call in sorted(calls, key=lambda call: int(call.place.removeprefix("call:"))):
            yield call.place, call.content, call.said, call.at

    def _unique(self, id_: str) -> str:
        unique = id_
        while unique in self._given:  # a trace may itself call an id `x#2`
            self._seen[id_] += 1
            unique = f"{id_}#{self._seen[id_] + 1}"
        self._given.add(unique)
        return unique

    def _dependencies(self, arguments: Any) -> list[str]:
        words = [value for value in _strings(arguments) if len(value) >= MIN_TRACED]
        used = [id_ for id_, result in self._results if any(word in result for word in words)]
        return used or [id_ for id_ in self._previous_turn if id_ in self._answered]


def _hash(said: list[Any]) -> str:
    return hashlib.sha256(orjson.dumps(said, option=_OPTIONS)).hexdigest()


def _text(content: Any) -> tuple[str, int]:
    """Return the text of a message's content, a string or a list of parts, and the number of parts that are no text."""
    if content is None:
        return "", 0
    parts = content if isinstance(content, list) else [content]
    found = [part.get("text") if isinstance(part, dict) else part for part in parts]
    texts = [text for text in found if isinstance(text, str)]
    return "\n".join(texts).replace("\x00", "\ufffd"), len(found) - len(texts)


def _arguments(value: Any) -> Any:
    return _json_or_text(value.replace("\x00", "\ufffd")) if isinstance(value, str) else (value or {})


def _json_or_text(text: str) -> Any:
    if "\\u0000" in text:  # the database cannot store that character
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
