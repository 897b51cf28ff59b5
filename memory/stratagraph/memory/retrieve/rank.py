"""Fusing and weighting candidates. Pure.

Each signal gives a record a value from 0 to 1; a record's fused score is the sum of its values times their WEIGHTS.
Words measure how well a record fits, and the thread how well its neighbours do. That a record has a name of the
question raises what its words give, so that a name alone stays a weak candidate. Recency breaks ties.
Salience and confidence weigh within bounds: as plain factors they would push every episode out of the answer after a
day (docs/specification.md, Retrieval).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import reduce
from operator import eq, itemgetter, or_
from typing import Protocol, TypeVar
from uuid import UUID

from stratagraph.memory.retrieve.coverage import Question
from stratagraph.memory.retrieve.threads import Neighbours, lent, lent_nearness
from stratagraph.store.model.enums import MemoryType

D = TypeVar("D", float, None)


class Signal(StrEnum):
    """What may make a record a candidate."""

    WORDS = "words"  # BM25
    VECTORS = "vectors"  # nearness to the question in meaning, and of neighbours, where there is an embedder
    THREAD = "thread"  # words that neighbours in the thread and related records have, and the record lacks
    NAMES = "names"  # words, thread and vectors again, where the record has a name of the question
    TIME = "time"  # the same again, as far as the record's date fits the times that the question names
    RECENCY = "recency"  # 1 for the newest record; that of the others falls with their rank


WEIGHTS: Mapping[Signal, float] = {
    Signal.WORDS: 1.0,
    Signal.VECTORS: 0.75,
    Signal.THREAD: 1.0,
    Signal.NAMES: 0.5,
    Signal.TIME: 0.5,
    Signal.RECENCY: 0.05,
}
SALIENCE_FLOOR = 0.7  # share of the score that no loss of salience takes
CONFIDENCE_FLOOR = 0.8
IN_TIME = 0.1  # least value of the signal TIME for a record of a time that the question names
AS_TEXT = 0.1  # of the signals of a text, where the question asks for a time and for nothing else
NAMED_TIME = 0.5  # strength of a text that names the time, where the question asks for a time and for nothing else
BARE = 0.4  # share of the score of an entity of which only names are stored: it comes after what is said about it
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
    @property
    def is_bare(self) -> bool: ...


@dataclass(slots=True, kw_only=True)
class Why:
    """What made a record a candidate.

    `signals` are the values of the signals that found it, each from 0 to 1; an absent one is 0. `names` are the names
    that matched, `strength` is how much of the question the record covers, from 0 to 1 and comparable between answers,
    and `share` the same where names alone count in full, by which entities are ranked. `covered` has bit n set where
    the record has word n of the question, and `via` is the record that led to this one.
    """

    signals: dict[Signal, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    strength: float = 0.0
    share: float = 0.0
    covered: int = 0
    via: UUID | None = None

    @property
    def fused(self) -> float:
        """The score before salience and confidence."""
        total = 0.0
        for signal, value in self.signals.items():
            total += WEIGHTS[signal] * value
        return total

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
    matched, `recent` are ids, newest first, of the times that the question names if it names any. `words` are the words
    of the question that each record has, as bits, of these records and of their `neighbours`. `fit` is how well the
    date of each fits the times that the question names, from 0 to 1. `similarity` is below 1 for entities whose name
    the question misspells. `nearness` is that of the records found by the question's vector, from 0 to 1; `documents`
    is the number of records that the caller may read, as far as it is counted. With `wants_recent`, the question asks
    for what is recent, or for a time, and for nothing else. `naming` has for each of these times the words of the
    question, as bits, with which a text names it.
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
    documents: int = 0
    naming: Sequence[int] = ()

    @property
    def asks_only_for_times(self) -> bool:
        """Whether the question asks for what happened in the times that it names, and for nothing else."""
        return self.wants_recent and bool(self.fit)


def fuse(found: Found) -> dict[UUID, Why]:
    """Combine the signals; return what made each record a candidate, by id.

    A candidate has a word of the question, or a neighbour in its thread that has one, or it or such a neighbour is near
    to the question in meaning, or it is of a time that the question names. A recent record is one by itself only where
    the question asks for nothing else. That a record is of the time makes it no answer yet: its strength is that of its
    words, so that a question about something unknown of last week is not answered by whatever happened then.
    """
    question = found.question.with_unknown(reduce(or_, found.words.values(), 0))
    ids, words = list(found.words), list(found.words.values())
    place = {id_: number for number, id_ in enumerate(ids)}  # hashing an id takes longer than all that is done with it
    similarity = _placed(found.similarity, place, 1.0)
    own = [question.weight(bits) * similar for bits, similar in zip(words, similarity, strict=True)]
    for id_, score in found.scores:
        number = place.get(id_)
        if number is not None:
            own[number] = score + question.weight_apart(words[number])
    lent_weight = _placed(lent(question, found.words, found.neighbours) if WEIGHTS[Signal.THREAD] else {}, place, None)
    fit = _placed(found.fit, place, 0.0)
    total = [mine + (lent_ or 0.0) for mine, lent_ in zip(own, lent_weight, strict=True)]
    text = AS_TEXT if found.asks_only_for_times else 1.0  # what mentions a time comes after what is of it
    best = max(total, default=0.0) / text
    near = _placed(found.nearness, place, 0.0)
    among = max(found.documents, len(words))
    by_meaning = _placed(_by_meaning(found), place, 0.0)
    candidates: dict[UUID, Why] = {}
    for number, sum_ in enumerate(total):
        meant = by_meaning[number] * text
        if sum_ <= 0 and meant <= 0:
            continue
        bits, from_thread = words[number], lent_weight[number]
        signals = {Signal.WORDS: own[number] / best} if sum_ > 0 else {}
        if from_thread is not None and sum_ > 0:
            signals[Signal.THREAD] = from_thread / best
        again = sum_ / best if sum_ > 0 else 0.0
        if meant > 0:
            signals[Signal.VECTORS] = meant
            again = min(1.0, again + WEIGHTS[Signal.VECTORS] * meant)
        if bits & question.names:
            signals[Signal.NAMES] = again
        if fit[number]:
            signals[Signal.TIME] = fit[number] * again
        candidates[ids[number]] = Why(
            signals=signals,
            strength=max(
                question.strength(bits, also=from_thread or 0.0) * similarity[number],
                question.strength_by_meaning(near[number], among=among) if near[number] else 0.0,
            ),
            share=question.share(bits, also=from_thread or 0.0) * similarity[number],
            covered=bits,
        )
    for id_, name in found.named:
        if id_ in candidates:
            candidates[id_].names.append(name)
            if candidates[id_].strength < 1:  # the bare entity, not what is said about it
                candidates[id_].signals.pop(Signal.NAMES, None)
    _add_recent(candidates, found)
    if found.asks_only_for_times:
        _add_named_times(candidates.values(), found)
    return candidates


def _placed(values: Mapping[UUID, float], place: Mapping[UUID, int], default: D) -> list[float | D]:
    """Return the values as a list, each at the place of its id; `default` where there is none."""
    found: list[float | D] = [default] * len(place)
    for id_, value in values.items():
        if id_ in place:
            found[place[id_]] = value
    return found


def _add_recent(candidates: dict[UUID, Why], found: Found) -> None:
    """Add the recent records that are candidates by themselves, and the signals of those that are recent."""
    for rank, id_ in enumerate(found.recent):
        if found.wants_recent and id_ in found.words:
            why = candidates.setdefault(id_, Why())
            why.strength = max(why.strength, found.fit.get(id_, 0.0) if found.fit else 1.0)
        if found.fit.get(id_) == 1 and id_ in found.words:
            signals = candidates.setdefault(id_, Why()).signals
            signals[Signal.TIME] = max(signals.get(Signal.TIME, 0.0), 1.0 if found.asks_only_for_times else IN_TIME)
        if id_ in candidates:
            candidates[id_].signals[Signal.RECENCY] = 1.0 / (1 + rank)


def _add_named_times(candidates: Iterable[Why], found: Found) -> None:
    """Make texts that name a time strong enough for an answer, which is empty if nothing happened then."""
    for why in candidates:
        if any(bits and why.covered & bits == bits for bits in found.naming):
            why.strength = max(why.strength, NAMED_TIME)


def _by_meaning(found: Found) -> dict[UUID, float]:
    """Return the value of the signal VECTORS of each record: its nearness, and what its neighbours lend it.

    The nearest record has 1, as the best match of the words has: similarities of a model are in a narrow range, whose
    place depends on the question.
    """
    best = max(found.nearness.values(), default=0.0)
    if best <= 0 or not WEIGHTS[Signal.VECTORS]:
        return {}
    near = {id_: value / best for id_, value in found.nearness.items()}
    lent_ = lent_nearness(near, found.neighbours) if WEIGHTS[Signal.THREAD] else {}
    return {id_: near.get(id_, 0.0) + lent_.get(id_, 0.0) for id_ in near.keys() | lent_.keys()}


def score(record: Rankable, why: Why) -> float:
    """Return the fused score, weighted by salience and confidence; that of an entity also by its share.

    A name alone is a weak candidate: an entity whose name is a part of the question comes after the records that say
    what the rest asks for, one that the whole question is about stays first if something is stored about it, and one
    that is only a name comes after the records that say something about it.
    """
    factor = 1.0
    if record.type is MemoryType.ENTITY:
        factor = max(why.share, why.strength) * (BARE if record.is_bare else 1.0)
    return (
        why.fused
        * factor
        * (SALIENCE_FLOOR + (1 - SALIENCE_FLOOR) * record.salience)
        * (CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * record.confidence)
    )


def ranked(records: Mapping[UUID, Rankable], why: Mapping[UUID, Why]) -> list[tuple[UUID, float]]:
    """Return the candidates with their scores, best first; ties by layer, then newest first, then by id."""
    scored = [(id_, score(record, why[id_])) for id_, record in records.items()]
    scored.sort(key=itemgetter(1), reverse=True)
    scores = [value for _, value in scored]
    if any(map(eq, scores, scores[1:])):  # rarely; the whole key costs more than all else here

        def key(item: tuple[UUID, float]) -> tuple[float, int, float, int]:
            record = records[item[0]]
            return -item[1], _PLACES[record.type], -record.occurred_at.timestamp(), item[0].int

        scored.sort(key=key)
    return scored
