"""Import of recorded agent conversations: each becomes one closed episode with its tool graph.

The whole file is checked before the first conversation is stored (see `trace_files`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from stratagraph.memory.capture.request import MAX_BATCH, CaptureRequest, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, ImportSummary
from stratagraph.memory.imports.trace_files import Trace, message_time, read_traces
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.trust import Trust

BATCH = 300  # captures per transaction, about; a conversation is only split if it has more than MAX_BATCH
MIN_TRACED = 4  # characters of an argument that is searched for in earlier results; shorter ones match by chance


async def import_traces(
    capture: Capture,
    trust: Trust,
    path: Path,
    *,
    outcome_field: str | None = None,
    scope: str | None = None,
    retention: Retention = IMPORT_RETENTION,
    advance: Advance = lambda _: None,
) -> ImportSummary:
    """Capture every conversation of the JSON Lines file `path`.

    May be stopped at any time and run again; captures that are stored are not stored twice. `advance` is called with
    the number of conversations in each stored batch; for `outcome_field` see `read_traces`. Raises InvalidInput for a
    malformed file, with nothing stored.
    """
    for _ in read_traces(path, outcome_field=outcome_field):
        pass  # checks the whole file, so that nothing is stored of a malformed one
    summary = ImportSummary(source=path.name)
    batch: list[CaptureRequest] = []
    traces = 0
    for trace in read_traces(path, outcome_field=outcome_field):
        summary.items += 1
        requests = list(_requests(trace, path.name, scope, retention, summary))
        if batch and len(batch) + len(requests) > BATCH:
            summary.add(await capture.capture(trust, batch, batch=True))
            advance(traces)
            batch, traces = [], 0
        while len(requests) > MAX_BATCH:
            summary.add(await capture.capture(trust, requests[:MAX_BATCH], batch=True))
            requests = requests[MAX_BATCH:]
        batch += requests
        traces += 1
    if batch:
        summary.add(await capture.capture(trust, batch, batch=True))
        advance(traces)
    return summary


def _requests(
    trace: Trace, source: str, scope: str | None, retention: Retention, summary: ImportSummary
) -> Iterator[CaptureRequest]:
    calls = _Calls()

    def request(place: str, kind: SourceKind, content: dict[str, Any], at: datetime | None) -> CaptureRequest:
        return CaptureRequest(
            source=f"traces:{source}"[:256],
            source_kind=kind,
            content={**content, "thread_id": trace.thread},
            tags=("trace",),
            scope=scope,
            timestamp=at,
            idempotency_key=_key(trace.thread, place),
            retention=retention,
        )

    for place, message in enumerate(trace.messages):
        role, at = message["role"], message_time(message)
        text = _text(message.get("content"))
        if role == "system":
            summary.skip("system prompts (instructions, not experience)")
            continue
        if role == "tool":
            content = calls.add_result(message, text)
            yield request(str(place), SourceKind.TOOL_OUTPUT, content, at)
            continue
        if text:
            content = {"role": role, "text": text, "ref": f"{trace.thread}:{place}"}
            yield request(str(place), SourceKind.AGENT_TURN, content, at)
        calls.add_calls(message.get("tool_calls") or ())
    for call, content in calls.unanswered():
        summary.skip("tool calls without a result (kept, with an empty result)")
        yield request(f"call:{call}", SourceKind.TOOL_OUTPUT, content, None)
    if trace.outcome is not None:
        content = {"outcome_status": trace.outcome, **({"reason": trace.reason} if trace.reason else {})}
        yield request("outcome", SourceKind.OUTCOME, content, None)


class _Calls:
    """The tool calls of a conversation, and which earlier calls each one depends on.

    A call depends on the earlier calls whose results contain one of its arguments. If there are none, it depends on the
    calls of the previous turn, whose results the model had seen.
    """

    def __init__(self) -> None:
        self._open: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, int] = {}
        self._results: list[tuple[str, str]] = []
        self._turn: list[str] = []
        self._previous_turn: list[str] = []

    def add_calls(self, tool_calls: Sequence[dict[str, Any]]) -> None:
        if not tool_calls:
            return
        self._previous_turn, self._turn = self._turn, []
        for call in tool_calls:
            arguments = _arguments(call["function"].get("arguments"))
            id_ = str(call["id"])
            times = self._seen[id_] = self._seen.get(id_, 0) + 1
            unique = id_ if times == 1 else f"{id_}#{times}"  # recorded agents reuse the ids of their calls
            self._open[id_] = {
                "tool_name": call["function"]["name"],
                "args": arguments,
                "call_id": unique,
                "depends_on": self._dependencies(arguments),
            }
            self._turn.append(unique)

    def add_result(self, message: dict[str, Any], text: str) -> dict[str, Any]:
        id_ = message["tool_call_id"]
        call = self._open.pop(id_, None) or {"tool_name": message.get("name", "tool"), "args": {}, "call_id": id_}
        self._results.append((call["call_id"], text))
        failed = text.lstrip().lower().startswith("error")
        return {**call, "result": _json_or_text(text), **({"error": True} if failed else {})}

    def unanswered(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for id_, call in self._open.items():
            yield id_, {**call, "result": None}

    def _dependencies(self, arguments: Any) -> list[str]:
        words = [value for value in _strings(arguments) if len(value) >= MIN_TRACED]
        used = [id_ for id_, result in self._results if any(word in result for word in words)]
        answered = {id_ for id_, _ in self._results}
        return used or [id_ for id_ in self._previous_turn if id_ in answered]


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a string or a list of parts; parts without text are dropped."""
    if isinstance(content, str):
        return content.replace("\x00", "�")
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str)).replace("\x00", "�")
    return ""


def _arguments(value: Any) -> Any:
    return _json_or_text(value) if isinstance(value, str) else (value or {})


def _json_or_text(text: str) -> Any:
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


def _key(thread: str, place: str) -> str:
    return "traces:" + hashlib.sha256(f"{thread}\x00{place}".encode()).hexdigest()
