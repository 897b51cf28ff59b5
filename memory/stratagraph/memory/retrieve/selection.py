"""The choice among several procedures or plans (docs/specification.md, Retrieval). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord

THRESHOLD = 0.7  # least confidence of a choice; below it the caller is asked for more context
RECENCY_HALF_LIFE_S = 30 * 86_400.0
UNKNOWN_RATE = 0.5  # success rate of a candidate that was never tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A competence or plan with its signals and their mean, `score`; each is in [0, 1].

    `applicability` is the share of its conditions that the context meets, or its confidence if the context has none of
    their keys. `recency` halves every 30 days since it was last reinforced or, if it never was, created.
    """

    id: UUID
    score: float
    applicability: float
    success_rate: float
    recency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The choice among competences and plans, with all candidates in `ranked`, best first.

    `chosen` is the best one. With `needs_more`, `confidence` is below THRESHOLD, and `ask_for` lists the condition keys
    whose values the caller should add to the context.
    """

    chosen: UUID | None
    confidence: float
    needs_more: bool
    ask_for: tuple[str, ...]
    ranked: tuple[Ranked, ...]


def select(records: Iterable[MemoryRecord], context: Mapping[str, Any] | None, now: datetime) -> Selection | None:
    """Return the choice among the competences and plans in `records`; None if there are none. Skips redacted records.

    `context` maps keys of conditions to their present values.
    """
    candidates = [
        record
        for record in records
        if record.type in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH) and not record.redacted
    ]
    if not candidates:
        return None
    given = context or {}
    ranked = sorted((_rank(record, given, now) for record in candidates), key=lambda item: (-item.score, item.id))
    first = ranked[0].score
    confidence = first if len(ranked) == 1 else (first - ranked[1].score) / first if first > 0 else 0.0
    needs_more = confidence < THRESHOLD
    wanted = {key for record in candidates for key in _conditions(record)} - given.keys() if needs_more else set()
    return Selection(
        chosen=ranked[0].id,
        confidence=confidence,
        needs_more=needs_more,
        ask_for=tuple(sorted(wanted)),
        ranked=tuple(ranked),
    )


def _rank(record: MemoryRecord, context: Mapping[str, Any], now: datetime) -> Ranked:
    applicability = _applicability(record, context)
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


def _applicability(record: MemoryRecord, context: Mapping[str, Any]) -> float:
    """Return the share of the conditions that `context` meets; the record's confidence if it has none of their keys."""
    conditions = _conditions(record)
    known = conditions.keys() & context.keys()
    if not known:
        return record.confidence
    met = sum(1 for key in known if _satisfies(context[key], conditions[key]))
    return met / len(conditions)


def _satisfies(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)


def _conditions(record: MemoryRecord) -> dict[str, Any]:
    payload = record.payload or {}
    if record.type is MemoryType.PLAN_GRAPH:
        constraints = payload.get("constraints")
        return dict(constraints) if isinstance(constraints, dict) else {}
    found: dict[str, Any] = {}
    for trigger in payload.get("triggers") or ():
        found |= trigger.get("conditions") or {}
    return found


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
