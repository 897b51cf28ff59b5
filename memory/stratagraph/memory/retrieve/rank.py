"""Fusing and weighting candidates. Pure.

Each signal gives a record a value from 0 to 1; a record's fused score is the sum of its values times their WEIGHTS.
Words measure how well a record fits, names show that it is about an entity that was named, and recency breaks ties.
Salience and confidence weigh within bounds: as plain factors they would push every episode out of the answer after a
day (docs/specification.md, Retrieval).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from stratagraph.store.model.enums import MemoryType


class Signal(StrEnum):
    """What may make a record a candidate."""

    WORDS = "words"  # BM25 relative to the best match
    NAMES = "names"  # 1 where the descriptor names this entity
    VECTORS = "vectors"  # nearness to the descriptor in meaning, where there is an embedder
    RECENCY = "recency"  # 1 for the newest record; that of the others falls with their rank


WEIGHTS: Mapping[Signal, float] = {Signal.WORDS: 1.0, Signal.NAMES: 0.9, Signal.VECTORS: 1.0, Signal.RECENCY: 0.05}
SALIENCE_FLOOR = 0.7  # share of the score that no loss of salience takes
CONFIDENCE_FLOOR = 0.8
HOP = 0.5  # share of a score that is passed on over one hop, at weight 1

# Order of the layers where scores tie (docs/specification.md, Retrieval).
_LAYERS = (
    MemoryType.WORKING,
    MemoryType.ENTITY,
    MemoryType.SEMANTIC,
    MemoryType.COMPETENCE,
    MemoryType.PLAN_GRAPH,
    MemoryType.EPISODIC,
)
_PLACES = {memory_type: place for place, memory_type in enumerate(_LAYERS)}


class Rankable(Protocol):
    """The parts of a record by which it is ranked."""

    @property
    def type(self) -> MemoryType: ...
    @property
    def confidence(self) -> float: ...
    @property
    def salience(self) -> float: ...
    @property
    def occurred_at(self) -> datetime: ...


@dataclass(slots=True, kw_only=True)
class Why:
    """What made a record a candidate.

    `signals` are the values of the signals that found it, each from 0 to 1; an absent one is 0. `names` are the names
    that matched, `strength` is the share of the question that the record covers, from 0 to 1 and comparable between
    answers, and `via` the record that led to this one.
    """

    signals: dict[Signal, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    strength: float = 0.0
    via: UUID | None = None

    @property
    def fused(self) -> float:
        """The score before salience and confidence."""
        return sum(self.part(signal) for signal in self.signals)

    def part(self, signal: Signal) -> float:
        """Return the part of the fused score that is due to `signal`: its value times its weight."""
        return WEIGHTS[signal] * self.signals.get(signal, 0.0)


def fuse(
    words: Sequence[tuple[UUID, float]],
    named: Iterable[tuple[UUID, str]],
    recent: Sequence[UUID],
    near: Iterable[tuple[UUID, float]] = (),
) -> dict[UUID, Why]:
    """Combine the candidates found by words, names, recency and vectors; return what found each, by id.

    `words` are pairs of id and score, best first; the scores become relative to the best one. `named` are pairs of id
    and matched name. `recent` are ids, newest first: recency raises records that were found by words or names, and
    recent records are candidates by themselves only where nothing else was found. `near` are pairs of id and nearness
    in meaning, from 0 to 1.
    """
    found: dict[UUID, Why] = {}
    best = words[0][1] if words else 1.0
    for id_, score in words:
        found[id_] = Why(signals={Signal.WORDS: score / best})
    for id_, name in named:
        why = found.setdefault(id_, Why())
        why.names.append(name)
        why.signals[Signal.NAMES] = 1.0
    for id_, nearness in near:
        found.setdefault(id_, Why()).signals[Signal.VECTORS] = nearness
    fallback = not found
    for rank, id_ in enumerate(recent):
        if fallback or id_ in found:
            found.setdefault(id_, Why()).signals[Signal.RECENCY] = 1.0 / (1 + rank)
    return found


def score(record: Rankable, why: Why) -> float:
    """Return the fused score, weighted by salience and confidence."""
    return (
        why.fused
        * (SALIENCE_FLOOR + (1 - SALIENCE_FLOOR) * record.salience)
        * (CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * record.confidence)
    )


def ranked(records: Mapping[UUID, Rankable], why: Mapping[UUID, Why]) -> list[tuple[UUID, float]]:
    """Return the candidates with their scores, best first; ties by layer, then newest first, then by id."""
    scored = [(id_, score(record, why[id_])) for id_, record in records.items()]
    return sorted(
        scored,
        key=lambda item: (
            -item[1],
            _PLACES[records[item[0]].type],
            -records[item[0]].occurred_at.timestamp(),
            item[0].int,
        ),
    )
