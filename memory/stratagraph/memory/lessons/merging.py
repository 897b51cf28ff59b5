"""One lesson of two that say the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from stratagraph.memory.lessons.block import count, lesson_of
from stratagraph.store.model.canonical import folded_text
from stratagraph.store.model.payloads.base import count_of

MAX_SOLUTIONS = 5  # lines of a merged solution, the newest; older ones are in the record's history
MAX_PARTS = 32  # domains, steps, triggers and failure modes of a merged lesson
# What changes each time that a lesson is learned, whether or not it says anything new.
_COUNTED = ("frequency", "retrievals", "helpful_retrievals", "last_retrieved_at", "graduated")  # by the service
_STATISTICS = ("frequency", "retrievals", "helpful_retrievals", "last_retrieved_at", "timestamp")
_MARKS = ("verified", "verification_attempted")  # they are about the advice, and stay with it only
# What says nothing of what to do.
_NO_ADVICE = (*_STATISTICS, *_MARKS, "graduated", "confidence", "source", "source_challenge_hash", "schema_version")


def merged_payload(stored: Mapping[str, Any], learned: Mapping[str, Any], *, is_newer: bool = True) -> dict[str, Any]:
    """Return the stored competence with the lesson that was learned again, by a payload of its own.

    `is_newer` is whether it was learned after the stored one. The skill keeps its name and its statistics.
    """
    merged = dict(stored)
    block = merged_lesson(lesson_of(stored) or {}, lesson_of(learned) or {}, is_newer=is_newer)
    merged["lesson"] = block
    merged["triggers"] = _united(stored["triggers"], learned["triggers"], is_newer=is_newer, key=itemgetter("signal"))
    merged["recipe"] = _united(stored["recipe"], learned["recipe"], is_newer=is_newer, key=itemgetter("step"))
    for name in ("failure_modes", "fallbacks", "required_tools"):
        if stored.get(name) or learned.get(name):
            merged[name] = _united(stored.get(name) or (), learned.get(name) or (), is_newer=is_newer)
    block |= _kept_marks([(lesson_of(one) or {}, _advice(one)) for one in (stored, learned)], _advice(merged))
    return merged


def revised_marks(known: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a revision of `known` with the counts of `known`.

    What says that its advice was verified stays with the same advice. A revision says neither of its own: a lesson is
    verified and counted after it is written.
    """
    block = lesson_of(payload)
    if block is None:
        return dict(payload)
    before = lesson_of(known) or {}
    own = {name: value for name, value in block.items() if name not in _COUNTED}
    counts = {name: before[name] for name in _COUNTED if name in before}
    is_same = advises_the_same(known, payload)
    marks = {name: is_same and block[name] is True and before.get(name) is True for name in _MARKS if name in block}
    return {**payload, "lesson": {**own, **counts, **marks}}


def without_claims(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a lesson without what it claims of its use, and that its advice was verified."""
    block = lesson_of(payload)
    if block is None:
        return dict(payload)
    unclaimed = {name: value for name, value in block.items() if name not in _COUNTED}
    return {**payload, "lesson": {**unclaimed, **{name: False for name in _MARKS if name in block}}}


def claims_of(payload: Mapping[str, Any]) -> list[str]:
    """Return the fields of a lesson by which it claims more than a new one has: uses, or that it was verified."""
    block = lesson_of(payload) or {}
    usual = {"frequency": (0, 1, None)}
    counted = [name for name in _COUNTED if block.get(name) not in usual.get(name, (0, None))]
    return [*counted, *(name for name in _MARKS if block.get(name))]


def advises_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two payloads of lessons say the same of what to do and when: a verification holds for both."""
    return _advice(one) == _advice(other)


def merged_lesson(stored: Mapping[str, Any], learned: Mapping[str, Any], *, is_newer: bool = True) -> dict[str, Any]:
    """Return the stored lesson block with that of the lesson that was learned again.

    Frequencies and counts are added, solutions joined line by line, domains united, and the higher confidence is taken.
    Other texts are those of the newer lesson where it has them; the task stays, since it names the lesson. It counts as
    verified where one of the two does that advises the same.
    """
    older, newer = (stored, learned) if is_newer else (learned, stored)
    merged = {**older, **{name: value for name, value in newer.items() if value not in (None, "", [])}}
    if "task" in stored:
        merged["task"] = stored["task"]
    solutions = _united(_lines(stored), _lines(learned), is_newer=is_newer)
    merged["solution"] = "\n".join(solutions[:MAX_SOLUTIONS])
    merged["domains"] = sorted(_united(_domains(stored), _domains(learned)))
    merged["frequency"] = count_of(max(1, count(stored, "frequency")), max(1, count(learned, "frequency")))
    for name in ("retrievals", "helpful_retrievals"):
        merged[name] = count_of(stored.get(name), learned.get(name))
    merged["graduated"] = stored.get("graduated") is True or learned.get("graduated") is True
    merged |= _kept_marks([(one, _block_advice(one)) for one in (stored, learned)], _block_advice(merged))
    for name in ("confidence", "last_retrieved_at"):
        values = [one[name] for one in (stored, learned) if one.get(name) is not None]
        merged[name] = _highest(values)
    return merged


def says_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two payloads differ in the statistics of their lessons at most."""
    return _content(one) == _content(other)


def _content(payload: Mapping[str, Any]) -> dict[str, Any]:
    block = {name: value for name, value in (lesson_of(payload) or {}).items() if name not in _STATISTICS}
    return {**payload, "lesson": block}


def _kept_marks(lessons: list[tuple[Mapping[str, Any], Any]], advice: Any) -> dict[str, bool]:
    """Return the marks of lessons, each given by its block and its advice, that hold for `advice`."""
    return {name: any(block.get(name) is True and said == advice for block, said in lessons) for name in _MARKS}


def _advice(payload: Mapping[str, Any]) -> dict[str, Any]:
    ignored = ("kind", "version", "performance", "lesson")
    said = {name: value for name, value in payload.items() if name not in ignored and value not in (None, "", [], {})}
    return {**said, "lesson": _block_advice(lesson_of(payload) or {})}


def _block_advice(block: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in block.items() if name not in _NO_ADVICE and value not in (None, "", [], {})}
    return {**said, "domains": sorted(set(_domains(block)))}


def _highest(values: list[Any]) -> Any:
    """Return the highest of at most two values; the first where they cannot be compared."""
    try:
        return max(values, default=None)
    except TypeError:
        return values[0]


def _lines(block: Mapping[str, Any]) -> list[str]:
    solution = block.get("solution")
    return [line.strip() for line in solution.splitlines() if line.strip()] if isinstance(solution, str) else []


def _domains(block: Mapping[str, Any]) -> list[str]:
    domains = block.get("domains")
    return [one for one in domains if isinstance(one, str)] if isinstance(domains, list) else []


def _united(
    stored: Iterable[Any], learned: Iterable[Any], *, is_newer: bool = True, key: Callable[[Any], str] = str
) -> list[Any]:
    """Return the parts of both, the newer ones first and each as it is stored; at most MAX_PARTS.

    Parts are the same whose texts, by `key`, differ in case and spacing at most.
    """
    old, new = ({folded_text(key(one)): one for one in parts} for parts in (stored, learned))
    first, second = (new, old) if is_newer else (old, new)
    return [(new | old)[one] for one in dict.fromkeys([*first, *second])][:MAX_PARTS]
