"""Checks of an export's record before anything is computed of it: that its parts have the forms that readers expect.

A file may have been edited, and its hash made anew. What no constraint of the database would refuse is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import (
    AuditLine,
    Content,
    LifecycleForm,
    Line,
    PastLifecycle,
    Period,
    PredicateLine,
    RecordLine,
    RelationLine,
    TombstoneLine,
)
from stratagraph.store.model.payloads import PAYLOADS, invalid
from stratagraph.store.model.payloads.base import MAX_COUNT, MAX_NAME, dump
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.salience import Decay
from stratagraph.store.records.procedures import PROCEDURES
from stratagraph.store.transfer.content_forms import check_as_written, check_content_forms, stored_time

MAX_LABEL = 256  # characters of a scope, a tag and a media type
_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
_MEDIA_TYPE = re.compile(r"[\x21-\x7e]+/[\x20-\x7e]+")  # what a header of HTTP can hold


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
        if period.start is not None and period.end is not None and period.start >= period.end:
            raise _wrong(path, "ends before it begins")
        if period.empty and (period.start is not None or period.end is not None):
            raise _wrong(path, "is empty, and so has neither a start nor an end")
    for number, time in enumerate(line.named_times):
        if time.start is None or time.end is None:
            raise _wrong(["named_times", str(number)], "must have a start and an end")
    _check_parts(line)
    _check_lifecycles(line)
    for path, at in _times(line):
        _check_clock(at, path)
    if not line.audit:
        raise _wrong(["audit"], "must have at least one entry: that of the creation of the record")
    _check_audit(line.audit)


def _check_parts(line: RecordLine) -> None:
    """Check what only records of some types have, and labels."""
    lesson = line.lesson
    if line.episode is not None and line.type is not MemoryType.EPISODIC:
        raise _wrong(["episode"], f"is given for a record of type {line.type.label}")
    if lesson is not None:
        if line.type is not MemoryType.COMPETENCE:
            raise _wrong(["lesson"], f"is given for a record of type {line.type.label}")
        if lesson.retrievals > MAX_COUNT:
            raise _wrong(["lesson", "retrievals"], f"must be at most {MAX_COUNT}")
        if lesson.helpful > lesson.retrievals or (lesson.retrievals > 0) != (lesson.retrieved_at is not None):
            raise _wrong(["lesson"], "has counts that contradict each other")
    _check_scope(line.scope)
    tags = [(["tags"], line.tags), *((["history", str(n), "tags"], one.tags) for n, one in enumerate(line.history))]
    for path, listed in tags:
        for number, tag in enumerate(listed):
            if len(tag) > MAX_LABEL:
                raise _wrong([*path, str(number)], f"must have at most {MAX_LABEL} characters")
    for number, use in enumerate(line.artifacts):
        given = use.media_type
        if given is not None and (len(given) > MAX_LABEL or not _MEDIA_TYPE.fullmatch(given)):
            raise _wrong(["artifacts", str(number), "media_type"], "must be a media type, such as text/plain")


def _check_lifecycles(line: RecordLine) -> None:
    """Check the parameters of custom curves."""
    every: list[tuple[list[str], LifecycleForm | PastLifecycle]] = [
        (["lifecycle"], line.lifecycle),
        *((["past_lifecycles", str(number)], one) for number, one in enumerate(line.past_lifecycles)),
    ]
    for path, one in every:
        try:
            _decay(one).checked()
        except InvalidInput as error:
            raise _wrong([*path, "params"], error.message) from error


def _decay(form: LifecycleForm | PastLifecycle) -> Decay:
    return Decay(curve=form.curve, half_life_s=form.half_life_s, params=form.params)


def _times(line: RecordLine) -> Iterator[tuple[list[str], datetime | None]]:
    """Yield the times that a clock has shown."""
    for name in ("created_at", "updated_at"):
        yield [name], getattr(line, name)
    yield ["lifecycle", "t0"], line.lifecycle.t0
    for number, cycle in enumerate(line.past_lifecycles):
        yield ["past_lifecycles", str(number), "to_at"], cycle.to_at
    for number, past in enumerate(line.history):
        for name in ("from_at", "to_at"):
            yield ["history", str(number), name], getattr(past, name)
    if line.lesson is not None:
        yield ["lesson", "retrieved_at"], line.lesson.retrieved_at
    if line.episode is not None:
        for name in ("opened_at", "closes_at", "closed_at", "learned_at"):
            yield ["episode", name], getattr(line.episode, name)


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
    place = [*path, "payload"]
    payload = {"kind": memory_type.label, **content.payload}
    try:
        parsed = PAYLOADS[memory_type].model_validate(payload)
    except ValidationError as error:
        raise invalid(error, place) from error
    if memory_type is MemoryType.EPISODIC:
        _check_order(payload["timeline"], [*place, "timeline"])
    check_as_written(payload, dump(parsed), place)
    check_content_forms(content, path)
    if content.learned_state is not None and memory_type not in PROCEDURES:
        raise _wrong([*path, "learned_state"], f"is given for a record of type {memory_type.label}")


def _check_order(timeline: Sequence[Mapping[str, Any]], path: list[str]) -> None:
    before = None
    for number, event in enumerate(timeline):
        place = [*path, str(number), "t"]
        try:
            at = stored_time(event["t"])
        except ValueError as error:
            raise _wrong(place, str(error)) from error
        if before is not None and at < before:
            raise _wrong(place, "is before the time of the event before it")
        before = at


def check_line(line: Line) -> None:
    """Raise InvalidInput, naming the field, for a predicate, relation or tombstone that no instance writes."""
    match line:
        case PredicateLine():
            try:
                fact_predicate(line.predicate)
            except ValueError as error:
                raise _wrong(["predicate"], str(error)) from error
        case RelationLine():
            _check_clock(line.created_at, ["created_at"])
            _check_clock(line.ended_at, ["ended_at"])
        case TombstoneLine():
            _check_clock(line.at, ["at"])
            _check_scope(line.scope)
            _check_audit(line.audit)
        case _:
            pass


def _check_scope(scope: str) -> None:
    if len(scope) > MAX_LABEL:
        raise _wrong(["scope"], f"must have at most {MAX_LABEL} characters")


def _check_audit(entries: Sequence[AuditLine]) -> None:
    for number, entry in enumerate(entries):
        place = ["audit", str(number)]
        if not entry.actor.strip() or len(entry.actor) > MAX_NAME or not entry.actor.isprintable():
            raise _wrong([*place, "actor"], f"must be a printable name of 1 to {MAX_NAME} characters")
        _check_clock(entry.at, [*place, "at"])


def _check_clock(time: datetime | None, path: list[str]) -> None:
    if time is not None and not _EARLIEST <= time < _LATEST:
        raise _wrong(path, f"must be a time from {_EARLIEST.year} until before {_LATEST.year}, when it was written")


def _wrong(path: list[str], problem: str) -> InvalidInput:
    return InvalidInput(f"{'.'.join(path)}: {problem}", path=path)
