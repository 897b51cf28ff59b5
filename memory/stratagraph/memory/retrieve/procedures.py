"""The choice among the procedures and plans of an answer. Pure. See docs/specification.md, Retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, TypeAlias
from uuid import UUID

from stratagraph.store.model.canonical import canonical_json
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.procedures import tools_used
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.procedures import PROCEDURES

THRESHOLD = 0.7  # least confidence of a choice; below it the caller is asked for more context
RECENCY_HALF_LIFE_S = 30 * 86_400.0
UNKNOWN_RATE = 0.5  # success rate of a procedure that was never tried
Conditions: TypeAlias = Mapping[str, Any]  # values by key, a list of them for any of its entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A competence or plan with its signals and their mean, `score`; each is in [0, 1].

    `applicability` is the share of the conditions that the context meets, of its best trigger. If the context has none
    of their keys, it is how well the task fits those that the record was learned from or, for one that was not learned,
    its confidence. `recency` halves every 30 days since it was last reinforced or, if it never was,
    created.
    """

    id: UUID
    score: float
    applicability: float
    success_rate: float
    recency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The choice among competences and plans, with all candidates in `ranked`, best first.

    `chosen` is the best one. `confidence` is its lead over the next that is another procedure: a skill and a plan of
    the same tools say the same in two forms. With `needs_more`, it is below THRESHOLD, and `ask_for` lists the
    condition keys that the context lacks and that tell the best of them apart, the most decisive first.
    """

    chosen: UUID | None
    confidence: float
    needs_more: bool
    ask_for: tuple[str, ...]
    ranked: tuple[Ranked, ...]


def select(
    records: Iterable[MemoryRecord],
    context: Mapping[str, Any] | None,
    now: datetime,
    *,
    fit: Mapping[UUID, float] | None = None,
) -> Selection | None:
    """Return the choice among the competences and plans in `records`; None if there are none. Skips redacted records.

    `context` maps keys of conditions to their present values. `fit` is how well the task fits those that a learned
    record was learned from, from 0 to 1, by id.
    """
    procedures = [record for record in records if record.type in PROCEDURES and not record.redacted]
    if not procedures:
        return None
    given = context or {}
    ranked = sorted(
        (_rank(record, given, now, fit or {}) for record in procedures), key=lambda item: (-item.score, item.id)
    )
    by_id = {record.id: record for record in procedures}
    first, best = ranked[0].score, by_id[ranked[0].id]
    others = [item for item in ranked[1:] if not _are_one_procedure(best, by_id[item.id])]
    confidence = _gap(first, others[0].score) if others else first
    needs_more = confidence < THRESHOLD
    rivals = {best.id, *(item.id for item in others if _gap(first, item.score) < THRESHOLD)}
    return Selection(
        chosen=ranked[0].id,
        confidence=confidence,
        needs_more=needs_more,
        ask_for=_deciding_keys([_conditions(record) for record in procedures if record.id in rivals], given)
        if needs_more
        else (),
        ranked=tuple(ranked),
    )


def _are_one_procedure(one: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether one of the two is a skill and the other a plan, and they use the same tools."""
    tools = {*tools_used(one.payload or {}, one.type)}
    return one.type is not other.type and bool(tools) and tools == {*tools_used(other.payload or {}, other.type)}


def _gap(first: float, other: float) -> float:
    """Return the lead of the first score over another one, as a share of the first."""
    return (first - other) / first if first > 0 else 0.0


def _deciding_keys(rivals: Sequence[list[Conditions]], context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the condition keys that `context` lacks and that tell the rivals apart, the most decisive first.

    A key tells two rivals apart as far as no value of it meets the conditions of both, and half as far where only one
    of them has the key. Of a single rival, every key decides whether it applies.
    """
    keys = sorted({key for one in rivals for conditions in one for key in conditions} - context.keys())
    if len(rivals) == 1:
        return tuple(keys)
    decisive = {
        key: sum(_difference(one, other) for one, other in combinations([_values(one, key) for one in rivals], 2))
        for key in keys
    }
    return tuple(sorted((key for key in keys if decisive[key] > 0), key=lambda key: (-decisive[key], key)))


def _values(alternatives: Sequence[Conditions], key: str) -> frozenset[bytes]:
    """Return the values of a key that meet one of a rival's conditions; none without the key."""
    return frozenset(
        _comparable(value) for conditions in alternatives if key in conditions for value in _wanted(conditions[key])
    )


def _difference(one: frozenset[bytes], other: frozenset[bytes]) -> float:
    """Return how far two sets of values are apart, from 0 for equal ones to 1 for disjoint ones."""
    if not one or not other:
        return 0.5 if one or other else 0.0
    return 1.0 - len(one & other) / len(one | other)


def _rank(record: MemoryRecord, context: Mapping[str, Any], now: datetime, fit: Mapping[UUID, float]) -> Ranked:
    applicability = _applicability(record, context, otherwise=fit.get(record.id, record.confidence))
    rate = _success_rate(record)
    used = record.lifecycle.last_reinforced_at if record.lifecycle is not None else None
    age = max(0.0, (now - (used or record.created_at)).total_seconds())
    recency = 2.0 ** (-age / RECENCY_HALF_LIFE_S)
    return Ranked(
        id=record.id,
        score=(applicability + rate + recency) / 3,
        applicability=applicability,
        success_rate=rate,
        recency=recency,
    )


def _applicability(record: MemoryRecord, context: Mapping[str, Any], *, otherwise: float) -> float:
    """Return the share of conditions that `context` meets, of the trigger that it meets best.

    It is `otherwise` where `context` has none of their keys.
    """
    known = [conditions for conditions in _conditions(record) if not conditions.keys().isdisjoint(context)]
    if not known:
        return otherwise
    return max(
        sum(1 for key, value in conditions.items() if key in context and _satisfies(context[key], value))
        / len(conditions)
        for conditions in known
    )


def _satisfies(value: Any, wanted: Any) -> bool:
    return _comparable(value) in map(_comparable, _wanted(wanted))


def _comparable(value: Any) -> bytes:
    """Return the value in a form in which 1 and 1.0 are equal, and 1 and true are not."""
    try:
        return canonical_json(value, path=[])
    except InvalidInput:  # a number that no double holds
        return repr(value).encode()


def _wanted(value: Any) -> list[Any]:
    """Return the values that meet a condition: a list stands for any of its entries."""
    return value if isinstance(value, list) else [value]


def _conditions(record: MemoryRecord) -> list[Conditions]:
    """Return the conditions of each trigger, any of which calls for the competence, or the constraints of the plan.

    Constraints are an object, or a list of objects with `key` and `value`. Triggers without conditions are left out.
    """
    payload = record.payload or {}
    if record.type is not MemoryType.PLAN_GRAPH:
        return [trigger["conditions"] for trigger in payload.get("triggers") or () if trigger.get("conditions")]
    constraints = payload.get("constraints")
    if isinstance(constraints, list):
        stated = [one for one in constraints if isinstance(one, dict) and isinstance(one.get("key"), str)]
        constraints = {one["key"]: one.get("value") for one in stated}
    return [constraints] if isinstance(constraints, dict) and constraints else []


def _success_rate(record: MemoryRecord) -> float:
    payload = record.payload or {}
    if record.type is MemoryType.PLAN_GRAPH:
        metrics = payload.get("metrics") or {}
        if metrics.get("execution_count") and metrics.get("failure_rate") is not None:
            return 1.0 - float(metrics["failure_rate"])
        return UNKNOWN_RATE
    performance = payload.get("performance") or {}
    tried = performance.get("success_count", 0) + performance.get("failure_count", 0)
    return (
        performance.get("success_count", 0) / tried if tried else float(performance.get("success_rate", UNKNOWN_RATE))
    )
