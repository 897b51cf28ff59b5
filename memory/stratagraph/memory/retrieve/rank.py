"""Fusing and weighting candidates. Pure.

Each signal gives a record a value from 0 to 1; a record's fused score is the sum of its values times their WEIGHTS.
Words measure how well a record fits, and the thread how well its neighbours do. That a record has a name of the
question raises what its words give, so that a name alone stays a weak candidate. Recency breaks ties.
Salience and confidence weigh within bounds: as plain factors they would push every episode out of the answer after a
day (docs/specification.md, Retrieval).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from stratagraph.memory.retrieve.coverage import STRONG_ENOUGH, Question
from stratagraph.memory.retrieve.threads import Neighbours, lent
from stratagraph.store.model.enums import MemoryType


class Signal(StrEnum):
    """What may make a record a candidate."""

    WORDS = "words"  # BM25
    VECTORS = "vectors"  # nearness to the question in meaning, where there is an embedder
    THREAD = "thread"  # words that neighbours in the thread have, and the record lacks
    NAMES = "names"  # words and thread again, where the record has a name of the question
    TIME = "time"  # words and thread again, as far as the record's date fits the times that the question names
    RECENCY = "recency"  # 1 for the newest record; that of the others falls with their rank


WEIGHTS: Mapping[Signal, float] = {
    Signal.WORDS: 1.0,
    Signal.VECTORS: 1.0,
    Signal.THREAD: 1.0,
    Signal.NAMES: 0.5,
    Signal.TIME: 0.5,
    Signal.RECENCY: 0.05,
}
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
    answers, `covered` has bit n set where the record has word n of the question, and `via` is the record that led to
    this one.
    """

    signals: dict[Signal, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    strength: float = 0.0
    covered: int = 0
    via: UUID | None = None

    @property
    def fused(self) -> float:
        """The score before salience and confidence."""
        return sum(self.part(signal) for signal in self.signals)

    @property
    def shares(self) -> dict[Signal, float]:
        """The shares of the signals in the fused score, which add up to 1; none for a record that no signal found."""
        fused = self.fused
        return {signal: self.part(signal) / fused for signal in self.signals} if fused > 0 else {}

    def part(self, signal: Signal) -> float:
        """Return the part of the fused score that is due to `signal`: its value times its weight."""
        return WEIGHTS[signal] * self.signals.get(signal, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the searches found for a question.

    `scores` are the BM25 scores of the records found by words, `named` are pairs of an entity's id and the name that
    matched, `recent` are ids, newest first. `words` are the words of the question that each record has, as bits, of
    these records and of their `neighbours` in threads. `fit` is how well the date of each fits the times that the
    question names, from 0 to 1. `similarity` is below 1 for entities whose name the question misspells. `nearness` is
    that of the records found by the question's vector, from 0 to 1. With `wants_recent`, the question asks for what is
    recent, or for a time, and for nothing else.
    """

    question: Question
    scores: Sequence[tuple[UUID, float]]
    named: Sequence[tuple[UUID, str]]
    recent: Sequence[UUID]
    words: Mapping[UUID, int]
    neighbours: Neighbours
    fit: Mapping[UUID, float] = field(default_factory=dict)
    wants_recent: bool = False
    similarity: Mapping[UUID, float] = field(default_factory=dict)
    nearness: Mapping[UUID, float] = field(default_factory=dict)


def fuse(found: Found) -> dict[UUID, Why]:
    """Combine the signals; return what made each record a candidate, by id.

    A candidate has a word of the question, or a neighbour in its thread that has one, or is near to it in meaning. A
    recent record is one by itself only where the question asks for nothing else.
    """
    question = found.question
    own = {id_: question.weight(words) * found.similarity.get(id_, 1.0) for id_, words in found.words.items() if words}
    for id_, score in found.scores:
        if id_ in found.words:
            own[id_] = score + question.weight_apart(found.words[id_])
    near = lent(question, found.words, found.neighbours) if WEIGHTS[Signal.THREAD] else {}
    total = {id_: own.get(id_, 0.0) + near.get(id_, 0.0) for id_ in own.keys() | near.keys()}
    best = max(total.values(), default=0.0)
    candidates: dict[UUID, Why] = {}
    for id_, sum_ in total.items():
        if sum_ <= 0:
            continue
        words = found.words[id_]
        why = Why(
            signals={Signal.WORDS: own.get(id_, 0.0) / best},
            strength=question.strength(words, also=near.get(id_, 0.0)) * found.similarity.get(id_, 1.0),
            covered=words,
        )
        if id_ in near:
            why.signals[Signal.THREAD] = near[id_] / best
        if words & question.names:
            why.signals[Signal.NAMES] = sum_ / best
        if found.fit.get(id_):
            why.signals[Signal.TIME] = found.fit[id_] * sum_ / best
        candidates[id_] = why
    _add_near(candidates, found.nearness)
    for id_, name in found.named:
        if id_ in candidates:
            candidates[id_].names.append(name)
            if candidates[id_].strength < 1:  # the bare entity, not what is said about it
                candidates[id_].signals.pop(Signal.NAMES, None)
    _add_recent(candidates, found)
    return candidates


def _add_recent(candidates: dict[UUID, Why], found: Found) -> None:
    for rank, id_ in enumerate(found.recent):
        if found.wants_recent and id_ in found.words:
            why = candidates.setdefault(id_, Why())
            why.strength = max(why.strength, found.fit.get(id_, 0.0) if found.fit else 1.0)
        if id_ in candidates:
            candidates[id_].signals[Signal.RECENCY] = 1.0 / (1 + rank)


def _add_near(candidates: dict[UUID, Why], nearness: Mapping[UUID, float]) -> None:
    """Add what is near to the question in meaning, which is related to it without sharing a word with it."""
    for id_, value in nearness.items():
        why = candidates.setdefault(id_, Why())
        why.signals[Signal.VECTORS] = value
        why.strength = max(why.strength, STRONG_ENOUGH + (1 - STRONG_ENOUGH) * value)


def score(record: Rankable, why: Why) -> float:
    """Return the fused score, weighted by salience and confidence; that of an entity also by its strength.

    A name alone is a weak candidate: an entity whose name is a part of the question comes after the records that say
    what the rest asks for, and an entity that the whole question is about stays first.
    """
    return (
        why.fused
        * (why.strength if record.type is MemoryType.ENTITY else 1.0)
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
