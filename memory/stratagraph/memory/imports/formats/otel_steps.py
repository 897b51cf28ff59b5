"""Conversations from spans: successive calls of a model repeat the earlier messages, and spans of tools add results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from stratagraph.memory.imports.conversation import Called, Conversation, Returned, Said, Step
from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.envelope import outcome_of, read_outcome
from stratagraph.memory.imports.formats.otel_attributes import Kind, ToolRun, kind_of, read_messages, read_tool
from stratagraph.memory.imports.formats.otel_messages import json_of, read_message
from stratagraph.memory.imports.formats.otel_spans import Span, check_value
from stratagraph.memory.imports.open_calls import InOrder, OpenCalls
from stratagraph.store.model.errors import InvalidInput

IDS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
USERS = ("user.id", "enduser.id", "traceloop.association.properties.user_id")
OTHERS = "spans that are none of a model, an agent or a tool"
SILENT = "calls of a model without their messages (the instrumentation does not capture them)"
UNNAMED = "spans of tools whose calls no message has"
MAX_PARTS = 10_000  # of the messages of one span
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def conversations_of(
    spans: Iterable[Span],
    new_reading: Callable[[], Reading],
    *,
    is_over: bool = True,
    before_each: Callable[[], object] = lambda: None,
) -> list[Conversation]:
    """Return the conversations of spans, which may come in any order and more than once.

    A conversation that goes on (not `is_over`) has only what later spans will repeat: without calls that wait for
    their results, without results that only the span of the tool has, and without what only an agent's span has.
    `before_each` is called before each span is read, and may end the reading. Raises InvalidInput, which begins with
    the path of the span, for a malformed one.
    """
    unique = {(span.trace, span.id): span for span in spans}
    named: dict[str, str] = {}
    for span in unique.values():
        own = own_conversation(span)
        if own is not None:
            named.setdefault(span.trace, own)
    groups: dict[str, list[Span]] = {}
    others = 0
    for span in unique.values():
        if span.is_genai:
            groups.setdefault(own_conversation(span) or named.get(span.trace, span.trace), []).append(span)
        else:
            others += 1
    found = [
        one
        for id_, group in groups.items()
        for one in _Group(id_, sorted(group, key=_order), new_reading, is_over, before_each).read()
    ]
    if found and others:
        found[0].skipped[OTHERS] += others
    return found


def own_conversation(span: Span) -> str | None:
    """Return the id of the conversation that a span names; None if it names none."""
    values = (span.attributes.get(name) for name in IDS)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value).strip()), None)


def _order(span: Span) -> tuple[datetime, datetime, str]:
    began, ended = span.began_at or span.ended_at or _EARLIEST, span.ended_at or span.began_at or _EARLIEST
    return began, ended, span.id


def _outcome(span: Span, fields: Fields) -> tuple[str | None, str | None]:
    """Return the outcome that the span of an agent's run states, or failure if the run failed; None for neither."""
    stated = read_outcome(fields)
    error = fields.take("error.type")
    if stated[0] is not None or not (span.failed or error is not None):
        return stated
    return "failure", f"error.type = {error}" if error is not None else "status = error"


@dataclass(slots=True)
class _Entry:
    """A step of a history: what identifies it, the place of its message, and the time of a message that says none."""

    step: Step
    key: bytes
    message: int
    at: datetime | None


@dataclass(slots=True)
class _Chain:
    """A history of messages that calls of a model repeat and extend. `end` identifies it with all its steps."""

    number: int
    steps: list[Step] = field(default_factory=list)
    end: bytes = b""
    messages: int = 0


class _Chains:
    """The histories of one conversation id. A further one finds those that it continues in time linear in its length.

    `_prefixes` identify the beginnings of all histories, `_ends` whole ones; `_callers` are those with a call of an id.
    """

    def __init__(self) -> None:
        self.all: list[_Chain] = []
        self._prefixes: set[bytes] = set()
        self._ends: dict[bytes, _Chain] = {}
        self._callers: dict[str, int] = {}

    def add(self, history: Sequence[_Entry]) -> None:
        """Add a history: its new steps to the longest one that it continues, or else a history of its own."""
        prefixes: list[bytes] = []
        for one in history:
            prefixes.append(_prefix(prefixes[-1] if prefixes else b"", one.key))
        if prefixes[-1] in self._prefixes:
            return
        for shared in range(len(history), 0, -1):
            chain = self._ends.get(prefixes[shared - 1])
            if chain is not None:
                self._extend(chain, history[shared:])
                return
        first = history[0].step
        caller = self._callers.get(first.id) if isinstance(first, Returned) and first.id is not None else None
        if caller is not None:  # the provider keeps the history, and the span has the new messages
            self._extend(self.all[caller], history)
            return
        chain = _Chain(len(self.all))
        self.all.append(chain)
        self._extend(chain, history)

    def _extend(self, chain: _Chain, entries: Sequence[_Entry]) -> None:
        """Add steps; calls of one message get a turn of their own."""
        turns: dict[int, int] = {}
        if self._ends.get(chain.end) is chain:
            del self._ends[chain.end]
        for one in entries:
            step = replace(one.step, at=one.step.at or one.at)
            if isinstance(step, Called):
                turn = turns.setdefault(one.message, chain.messages + len(turns))
                step = replace(step, turn=turn)
                if step.id is not None:
                    self._callers[step.id] = min(self._callers.get(step.id, chain.number), chain.number)
            chain.steps.append(step)
            chain.end = _prefix(chain.end, one.key)
            self._prefixes.add(chain.end)
        chain.messages += len(turns)
        self._ends.setdefault(chain.end, chain)


def _prefix(before: bytes, key: bytes) -> bytes:
    return hashlib.sha256(before + key).digest()


@dataclass(slots=True)
class _Group:
    """The spans of one conversation id, in order of time."""

    id: str
    spans: Sequence[Span]
    new_reading: Callable[[], Reading]
    is_over: bool
    before_each: Callable[[], object]
    chains: _Chains = field(default_factory=_Chains)
    known: dict[bytes, list[tuple[Step, bytes]]] = field(default_factory=dict)
    user: str | None = None
    outcome: tuple[str | None, str | None] = (None, None)

    def read(self) -> Iterator[Conversation]:
        """Yield the conversation, and one for each history that does not continue it, such as that of another agent."""
        reading = self.new_reading()
        tools: list[ToolRun] = []
        agents: list[list[_Entry]] = []
        for span in self.spans:
            self.before_each()
            try:
                self._read_span(span, reading, tools, agents)
            except InvalidInput as error:
                raise InvalidInput(f"{span.path}.{error.message}" if span.path else error.message) from error
        if not self.chains.all and self.is_over:
            for history in agents:
                self.chains.add(history)
        yield from self._conversations(tools, reading)

    def _read_span(self, span: Span, reading: Reading, tools: list[ToolRun], agents: list[list[_Entry]]) -> None:
        kind = kind_of(span)
        with reading.object(dict(span.attributes), "attributes") as fields:
            fields.take(*IDS, "gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind")
            self.user = self.user or fields.id(*USERS)
            if span.parent is None and kind is Kind.AGENT:
                self.outcome = _outcome(span, fields)
            elif reading.outcome_field is not None and (value := fields.take(reading.outcome_field)) is not None:
                self.outcome = outcome_of(reading.outcome_field, value)
            if kind is Kind.TOOL:
                tools.append(read_tool(span, fields))
            elif kind is Kind.OTHER:
                reading.skipped[OTHERS] += 1
            else:
                history = self._history(span, fields, reading)
                if kind is Kind.AGENT:
                    agents += [history] if history else []
                elif history:
                    self.chains.add(history)
                else:
                    reading.skipped[SILENT] += 1

    def _history(self, span: Span, fields: Fields, reading: Reading) -> list[_Entry]:
        """Return the steps of all messages of a span. A message is read, and what it leaves out counted, once."""
        found: list[_Entry] = []
        parts = 0
        for place, (path, message, is_output) in enumerate(read_messages(span, fields)):
            value = json_of(message)
            parts += _size(value)
            if parts > MAX_PARTS:
                raise InvalidInput(f"{path}: the messages of a span have at most {MAX_PARTS:,} parts; send fewer")
            check_value(value, path)
            mark = _mark(value)
            if mark not in self.known:
                with reading.object(value, path) as read:
                    self.known[mark] = [(step, _key(step)) for step in read_message(read, place)]
            at = span.ended_at if is_output else span.began_at
            found += [_Entry(step, key, place, at) for step, key in self.known[mark]]
        return found

    def _conversations(self, tools: list[ToolRun], reading: Reading) -> Iterator[Conversation]:
        began = next((span.began_at for span in self.spans if span.began_at is not None), None)
        chains = self.chains.all or [_Chain(0)]
        unused = _Runs(tools)
        has_ended = any(span.parent is None and kind_of(span) is Kind.AGENT for span in self.spans)
        joined = [_joined(chain.steps, unused, self.is_over, has_ended) for chain in chains]
        if self.is_over and len(unused) and not any(isinstance(step, Called) for step in joined[0]):
            joined[0] = _with_runs(joined[0], list(unused))
        elif self.is_over and len(unused):
            reading.skipped[UNNAMED] += len(unused)
        for place, steps in enumerate(joined):
            outcome, reason = self.outcome if place == 0 else (None, None)
            counts = reading if place == 0 else self.new_reading()
            yield Conversation(
                id=self.id or None,
                steps=steps if self.is_over else _settled(steps),
                user=self.user,
                began_at=began,
                outcome=outcome,
                reason=reason,
                skipped=counts.skipped,
                unread=counts.unread,
            )


def _key(step: Step) -> bytes:
    """Return what identifies a step in a history: what was said or done, without ids and times.

    Raises InvalidInput for arguments of a call that are nested too deeply.
    """
    if isinstance(step, Called):
        key = _hash(["called", step.tool, step.arguments])
        if key is None:
            raise InvalidInput("the arguments of a call are nested too deeply; at most 250 levels are read")
        return key
    if isinstance(step, Returned):
        # The same JSON may be written in several ways.
        return _hash(["returned", json_of(step.text)]) or hashlib.sha256(step.text.encode()).digest()
    attachments = [one.uri or one.media_type for one in step.attachments]
    return hashlib.sha256(orjson.dumps(["said", step.role, step.text.strip(), attachments])).digest()


def _size(message: Any) -> int:
    """Return the number of a message's parts and calls, at least 1."""
    values = message.values() if isinstance(message, dict) else ()
    return max(1, sum(len(one) for one in values if isinstance(one, list)))


def _mark(value: Any) -> bytes:
    """Return what identifies a message among those of all spans of a conversation."""
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if name not in ("finish_reason", "index")}
    mark = _hash(value)
    assert mark is not None  # `check_value` has refused values nested so deeply
    return mark


def _hash(value: Any) -> bytes | None:
    """Return the hash of a JSON value; None if it is nested too deeply."""
    try:
        return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).digest()
    except orjson.JSONEncodeError:
        return None


class _Runs(InOrder[ToolRun]):
    """The spans of tools, of which each belongs to one call."""

    def __init__(self, runs: Iterable[ToolRun]) -> None:
        super().__init__()
        for run in runs:
            same = _hash([run.tool, run.arguments])
            self.add(run, ("same", same), ("id", run.id) if run.id is not None else ("same without id", same))

    def of(self, call: Called) -> ToolRun | None:
        """Remove and return the span of a call: that of its id, or else the first of its tool with its arguments."""
        same = _hash([call.tool, call.arguments])
        return self.take(("same", same)) if call.id is None else self.take(("id", call.id), ("same without id", same))


def _joined(steps: Sequence[Step], tools: _Runs, is_over: bool, has_ended: bool) -> list[Step]:
    """Return the steps with what the spans of tools say of their results; spans that are used leave `tools`.

    A call without a result gets that of its span, if the conversation `is_over`. Of a failure, spans seldom have the
    text that the agent got; it is told in other words only where the agent's run `has_ended`, so that no later version
    of the conversation has the text.
    """
    waiting = OpenCalls[tuple[Called, ToolRun | None]]()
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Called):
            waiting.add((step, tools.of(step)), id_=step.id, tool=step.tool)
        elif isinstance(step, Returned):
            called = waiting.answered(step.id, step.tool)
            run = None if called is None else called[1]
            if called is not None:
                step = replace(step, tool=called[0].tool)  # noqa: PLW2901
            if run is not None:
                failed = step.failed if step.failed is not None else run.failed
                step = replace(step, failed=failed, at=run.ended_at or step.at)  # noqa: PLW2901
        found.append(step)
    told: dict[int, list[Step]] = {}  # by the turn of the call
    if is_over:
        for call, run in waiting:
            if run is not None and (run.text is not None or (run.failed and has_ended)):
                told.setdefault(call.turn, []).append(run.returned(call.id))
    return _with_told(found, told) if told else found


def _with_told(steps: Sequence[Step], told: dict[int, list[Step]]) -> list[Step]:
    """Return the steps with further results, by the turns of their calls, after the calls and results of the turn."""
    last = {step.turn: i for i, step in enumerate(steps) if isinstance(step, Called)}
    turns = {place: turn for turn, place in last.items() if turn in told}
    found: list[Step] = []
    due: list[Step] = []
    for place, step in enumerate(steps):
        if not isinstance(step, Returned):
            found += due
            due = []
        found.append(step)
        due = told[turns[place]] if place in turns else due
    return found + due


def _with_runs(steps: Sequence[Step], tools: Sequence[ToolRun]) -> list[Step]:
    """Return steps, of which no message has a call, with those that the spans of tools tell of, by their times."""
    found: list[tuple[datetime, int, Step]] = [(step.at or _EARLIEST, 0, step) for step in steps]
    turn, until = 0, _EARLIEST
    for run in tools:
        began, ended = run.began_at or _EARLIEST, run.ended_at or run.began_at or _EARLIEST
        if began >= until:  # others ran side by side
            turn -= 1
        until = max(until, ended)
        found.append((began, 1, Called(tool=run.tool, arguments=run.arguments, turn=turn, id=run.id, at=run.began_at)))
        if run.text is not None or run.failed:
            found.append((ended, 2, run.returned(run.id)))
    return [step for _, _, step in sorted(found, key=lambda one: one[:2])]


def _settled(steps: Sequence[Step]) -> list[Step]:
    """Return the steps without the calls of the last turn that wait for their results."""
    waiting = OpenCalls[Called]()
    for step in steps:
        if isinstance(step, Said):
            waiting = OpenCalls()
        elif isinstance(step, Called):
            waiting.add(step, id_=step.id, tool=step.tool)
        else:
            waiting.answered(step.id, step.tool)
    last = {id(one) for one in waiting}
    return [step for step in steps if id(step) not in last]
