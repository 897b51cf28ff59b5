"""Checks of an export's record before anything is computed of it: that its parts have the forms that readers expect.

A file may have been edited, and its hash made anew. What no constraint of the database would refuse is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import Content, Period, RecordLine
from stratagraph.store.model.payloads import PAYLOADS, invalid

_TEXTS_OF_SOURCES = ("kind", "ref", "created_by", "hash")
_LISTS = ("mentions", "topical_labels", "model_labels", "named_times")  # of an interpretation


def check_record(line: RecordLine) -> None:
    """Raise InvalidInput, naming the field, for a record that could not be stored or read."""
    _check_content(line.type, line.content, ["content"])
    for number, past in enumerate(line.history):
        _check_content(line.type, past.content, ["history", str(number), "content"])
        if past.from_at >= past.to_at:
            raise _wrong(["history", str(number)], "ends before it begins")
        then = line.history[number + 1].from_at if number + 1 < len(line.history) else line.updated_at
        if past.to_at > then:
            raise _wrong(["history", str(number)], "ends after the next version begins")
    if (line.type is MemoryType.SEMANTIC) != (line.fact is not None):
        raise _wrong(
            ["fact"], "is missing" if line.fact is None else f"is given for a record of type {line.type.label}"
        )
    if line.episode is not None and not isinstance(line.content.payload.get("thread_id"), str):
        raise _wrong(["content", "payload", "thread_id"], "is missing from the episode of a thread")
    for path, period in _periods(line):
        if period.start is not None and period.end is not None and period.start > period.end:
            raise _wrong(path, "ends before it begins")
    lesson = line.lesson
    if lesson is not None and (
        lesson.helpful > lesson.retrievals or (lesson.retrievals > 0) != (lesson.retrieved_at is not None)
    ):
        raise _wrong(["lesson"], "has counts that contradict each other")


def _periods(line: RecordLine) -> Iterator[tuple[list[str], Period]]:
    for number, time in enumerate(line.named_times):
        yield ["named_times", str(number)], time
    for number, past in enumerate(line.history):
        if past.validity is not None:
            yield ["history", str(number), "validity"], past.validity
    if line.fact is not None:
        yield ["fact", "validity"], line.fact.validity
        yield ["fact", "stated"], line.fact.stated


def _check_content(memory_type: MemoryType, content: Content, path: list[str]) -> None:
    try:
        PAYLOADS[memory_type].model_validate({"kind": memory_type.label, **content.payload})
    except ValidationError as error:
        raise invalid(error, [*path, "payload"]) from error
    for number, source in enumerate(_objects(content.provenance, "sources", [*path, "provenance"])):
        place = [*path, "provenance", "sources", str(number)]
        for name in _TEXTS_OF_SOURCES:
            if not isinstance(source.get(name, ""), str):
                raise _wrong([*place, name], "must be a text")
        if "ref" not in source:
            raise _wrong([*place, "ref"], "is missing")
        _check_time(source.get("timestamp"), [*place, "timestamp"])
    interpretation, place = content.interpretation or {}, [*path, "interpretation"]
    for name in _LISTS:
        if not isinstance(interpretation.get(name), list | None):
            raise _wrong([*place, name], "must be a list")
    list(_objects(interpretation, "mentions", place))
    for number, time in enumerate(_objects(interpretation, "named_times", place)):
        for name in ("start", "end"):
            _check_time(time.get(name), [*place, "named_times", str(number), name])
    tools = (content.learned_state or {}).get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
        raise _wrong([*path, "learned_state", "tools"], "must be a list of texts")


def _objects(value: Mapping[str, Any], name: str, path: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list. Raises InvalidInput for anything else in its place."""
    listed = value.get(name)
    if not isinstance(listed, list | None):
        raise _wrong([*path, name], "must be a list")
    for number, one in enumerate(listed or ()):
        if not isinstance(one, dict):
            raise _wrong([*path, name, str(number)], "must be a JSON object")
        yield one


def _check_time(value: Any, path: list[str]) -> None:
    if value is None:
        return
    try:
        if datetime.fromisoformat(value).tzinfo is not None:
            return
    except (TypeError, ValueError):
        pass
    raise _wrong(path, "must be a time with a UTC offset, such as 2026-01-28T09:30:00Z")


def _wrong(path: list[str], problem: str) -> InvalidInput:
    return InvalidInput(f"{'.'.join(path)}: {problem}", path=path)
