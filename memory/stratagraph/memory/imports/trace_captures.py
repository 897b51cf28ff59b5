"""What a recorded conversation becomes: the captures of its turns and tool calls, each with a fingerprint."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stratagraph.memory.capture.request import MAX_CONTENT_BYTES
from stratagraph.memory.imports.conversation import Attachment, Called, Conversation, Returned, Said
from stratagraph.memory.imports.formats.parts import canonical, json_or_text, storable, tells_failure
from stratagraph.memory.imports.open_calls import OpenCalls
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput

MIN_TRACED = 4  # characters of an argument that is searched for in earlier results; shorter ones match by chance
# Characters of the latest results in which arguments are searched for, more than a model has in view: in all results,
# that took 17 s of processor time for a session of 19 MB with 2,000 calls.
TRACED = 1 << 20
SEARCHED = 1 << 32  # characters that are searched for arguments in one conversation, which takes some 6 s
UNANSWERED = "results of tool calls (the calls are kept without one)"
WAITING = "calls that wait for their results"


@dataclass(slots=True, kw_only=True)
class TraceCapture:
    """One capture of a conversation.

    `place` is its number among the turns and results, `call:` and a number for a call without a result. `fingerprint`
    is the hash of what was said or done, whatever the ids of calls and the times are. `call` is the place that the call
    of a result would have without it. `artifacts` are the URIs of the `attachments` that are stored.
    """

    place: str
    kind: SourceKind
    content: dict[str, Any]
    at: datetime | None
    fingerprint: str
    call: str | None = None
    attachments: tuple[Attachment, ...] = ()
    artifacts: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class TraceCaptures:
    """The captures of a conversation, in order, and the counts of what is left out, by reason."""

    captures: list[TraceCapture] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def spoken(self) -> list[TraceCapture]:
        """The turns and results: those whose places are numbers."""
        return [capture for capture in self.captures if not capture.place.startswith("call:")]

    def leave_open_calls(self) -> None:
        """Leave out the calls without a result, which may follow."""
        self.captures = [capture for capture in self.captures if not capture.place.startswith("call:")]
        self.skipped[WAITING] += self.skipped.pop(UNANSWERED, 0)

    def content_hashes(self, most: int) -> list[str]:
        """Return the hash of all turns and results, then those without the last one, two, … up to `most` hashes.

        Of a conversation that has none, return the hash of its calls.
        """
        digest, found = hashlib.sha256(), list[str]()
        for capture in self.spoken or self.captures:
            digest.update(capture.fingerprint.encode())
            found.append(digest.hexdigest())
        return found[::-1][:most] if self.spoken else found[-1:]


def captures_of(conversation: Conversation) -> TraceCaptures:
    """Return the captures that a conversation becomes. Raises InvalidInput for a text too long for a capture."""
    found = TraceCaptures()
    calls = _Calls()
    number = 0
    for index, step in enumerate(conversation.steps):
        at = step.at or conversation.began_at
        if isinstance(step, Called):
            calls.add_call(step, at)
            continue
        text = _text(step, index)
        if isinstance(step, Returned):
            kind = SourceKind.TOOL_OUTPUT
            content, call, said = calls.add_result(step, text)
            said = ["tool", *said]
        else:
            kind, call = SourceKind.AGENT_TURN, None
            content, said = _turn(step, text)
        found.captures.append(
            TraceCapture(
                place=str(number),
                kind=kind,
                content=content,
                at=at,
                fingerprint=_hash(said),
                call=call,
                attachments=step.attachments,
            )
        )
        number += 1
    for place, content, said, at in calls.unanswered():
        found.skipped[UNANSWERED] += 1
        found.captures.append(
            TraceCapture(
                place=place, kind=SourceKind.TOOL_OUTPUT, content=content, at=at, fingerprint=_hash(["call", *said])
            )
        )
    return found


def check_texts(conversation: Conversation) -> None:
    """Raise InvalidInput for a text too long for a capture, as `captures_of` does."""
    for index, step in enumerate(conversation.steps):
        if not isinstance(step, Called):
            _text(step, index)


def _text(step: Said | Returned, index: int) -> str:
    text = storable(step.text)
    if len(text) > MAX_CONTENT_BYTES:
        raise InvalidInput(f"step {index + 1}: {len(text)} characters; at most {MAX_CONTENT_BYTES} bytes fit a capture")
    return text


def _turn(step: Said, text: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the content of a turn, and what identifies it."""
    if not text.strip():
        names = [one.name or one.media_type or "a file" for one in step.attachments]
        text = f"[sent {', '.join(names)}]"
    if step.speaker is None:
        return {"role": step.role, "text": text}, [step.role, text]
    return {"role": step.role, "speaker": step.speaker, "text": text}, [step.role, text, step.speaker]


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call that has no result yet. `said` is what identifies it: its tool and arguments."""

    place: str
    id: str | None
    content: dict[str, Any]
    said: list[Any]
    at: datetime | None


class _Calls:
    """The tool calls of a conversation, and which earlier calls each one depends on.

    A call depends on the earlier calls whose results contain one of its arguments. If there are none, it depends on the
    calls of the previous turn, whose results the model had seen.
    """

    def __init__(self) -> None:
        self._open = OpenCalls[_Call]()
        self._seen: Counter[str] = Counter()
        self._given: set[str] = set()
        self._number = 0
        self._results: deque[tuple[str, str]] = deque()  # the latest, of up to TRACED characters
        self._traced = 0
        self._searched = 0
        self._results_seen = 0
        self._answered: set[str] = set()
        self._message: int | None = None
        self._turn: list[str] = []
        self._previous_turn: list[str] = []

    def add_call(self, step: Called, at: datetime | None) -> None:
        """Add a call; those of one message run side by side."""
        if step.turn != self._message:
            self._message = step.turn
            self._previous_turn, self._turn = self._turn, []
        unique = self._unique(step.id or f"call_{self._number + 1}")
        content = {
            "tool_name": step.tool,
            "args": step.arguments,
            "call_id": unique,
            "depends_on": self._dependencies(step.arguments),
        }
        waiting = _Call(
            place=f"call:{self._number}", id=step.id, content=content, said=[step.tool, step.arguments], at=at
        )
        self._number += 1
        self._open.add(waiting, id_=step.id, tool=step.tool)
        self._turn.append(unique)

    def add_result(self, step: Returned, text: str) -> tuple[dict[str, Any], str | None, list[Any]]:
        """Add a result; return its content, the place of its call if it has one, and what identifies it."""
        call = self._called(step)
        if call is None:
            tool = step.tool if step.tool is not None and step.tool.strip() else "tool"
            id_ = self._unique(step.id or f"result_{self._results_seen + 1}")
            call = _Call(
                place="", id=None, content={"tool_name": tool, "args": {}, "call_id": id_}, said=[tool, {}], at=None
            )
        unique = call.content["call_id"]
        self._results_seen += 1
        self._results.append((unique, text))
        self._traced += len(text)
        while self._traced > TRACED and len(self._results) > 1:
            self._traced -= len(self._results.popleft()[1])
        self._answered.add(unique)
        result = json_or_text(text)
        failed = step.failed if step.failed is not None else tells_failure(result)
        content = {**call.content, "result": result, **({"error": True} if failed else {})}
        return content, call.place or None, [*call.said, text]

    def _called(self, step: Returned) -> _Call | None:
        """Remove and return the first open call that a result answers: by its id, or else by its tool.

        Recorded agents reuse the ids of their calls. A result that names neither answers the first open call.
        """
        if step.id is not None and step.tool is None:
            return self._open.of_id(step.id)
        return self._open.answered(step.id, step.tool)

    def unanswered(self) -> Iterator[tuple[str, dict[str, Any], list[Any], datetime | None]]:
        """Yield place, content, identity and time of each call without a result, in order."""
        for call in self._open:
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
        used: list[str] = []
        if self._searched < SEARCHED:
            words = words[: SEARCHED // (self._traced + 1)]
            self._searched += len(words) * self._traced
            used = [id_ for id_, result in self._results if any(word in result for word in words)]
        return used or [id_ for id_ in self._previous_turn if id_ in self._answered]


def _hash(said: list[Any]) -> str:
    return hashlib.sha256(canonical(said)).hexdigest()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
