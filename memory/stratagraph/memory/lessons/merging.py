"""One lesson of two that say the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from stratagraph.memory.lessons.block import count, lesson_of
from stratagraph.store.model.canonical import folded_text

MAX_SOLUTIONS = 5  # lines of a merged solution, the newest; older ones are in the record's history
MAX_PARTS = 32  # domains, steps, triggers and failure modes of a merged lesson
# What changes each time that a lesson is learned, whether or not it says anything new.
_STATISTICS = ("frequency", "retrievals", "helpful_retrievals", "last_retrieved_at", "timestamp")


def merged_payload(stored: Mapping[str, Any], learned: Mapping[str, Any], *, is_newer: bool = True) -> dict[str, Any]:
    """Return the stored competence with the lesson that was learned again, by a payload of its own.

    `is_newer` is whether it was learned after the stored one. The skill keeps its name and its statistics.
    """
    merged = dict(stored)
    merged["lesson"] = merged_lesson(lesson_of(stored) or {}, lesson_of(learned) or {}, is_newer=is_newer)
    merged["triggers"] = _united(stored["triggers"], learned["triggers"], is_newer=is_newer, key=itemgetter("signal"))
    merged["recipe"] = _united(stored["recipe"], learned["recipe"], is_newer=is_newer, key=itemgetter("step"))
    for name in ("failure_modes", "fallbacks", "required_tools"):
        if stored.get(name) or learned.get(name):
            merged[name] = _united(stored.get(name) or (), learned.get(name) or (), is_newer=is_newer)
    return merged


def merged_lesson(stored: Mapping[str, Any], learned: Mapping[str, Any], *, is_newer: bool = True) -> dict[str, Any]:
    """Return the stored lesson block with that of the lesson that was learned again.

    Frequencies and counts are added, solutions joined line by line, domains united, and the higher confidence is taken.
    Other texts are those of the newer lesson where it has them; the task stays, since it names the lesson.
    """
    older, newer = (stored, learned) if is_newer else (learned, stored)
    merged = {**older, **{name: value for name, value in newer.items() if value not in (None, "", [])}}
    if "task" in stored:
        merged["task"] = stored["task"]
    solutions = _united(_lines(stored), _lines(learned), is_newer=is_newer)
    merged["solution"] = "\n".join(solutions[:MAX_SOLUTIONS])
    merged["domains"] = sorted(_united(_domains(stored), _domains(learned)))
    merged["frequency"] = max(1, count(stored, "frequency")) + max(1, count(learned, "frequency"))
    for name in ("retrievals", "helpful_retrievals"):
        merged[name] = count(stored, name) + count(learned, name)
    for name in ("verified", "verification_attempted", "graduated"):
        merged[name] = stored.get(name) is True or learned.get(name) is True
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
