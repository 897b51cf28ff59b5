"""Gather the signals of each record, and fuse them into a score. Pure.

Words measure how well a record fits, and the thread how well its neighbours do. That a record has a name of the
question raises what its words give, so that a name alone stays a weak candidate. Recency breaks ties. Salience and
confidence weigh within bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import eq, itemgetter, or_
from typing import TypeAlias

from stratagraph.memory.retrieve.candidates import Asked, Candidate, Rows, Why
from stratagraph.memory.retrieve.signals import SIGNALS, Role, Values
from stratagraph.memory.retrieve.signals.threads import lent
from stratagraph.memory.retrieve.weights import (
    APART,
    AS_TEXT,
    BARE,
    BESIDE,
    COMPARABLE,
    CONFIDENCE_FLOOR,
    IN_TIME,
    LAYERS,
    NAMED_TIME,
    SALIENCE_FLOOR,
    WEIGHTS,
    Signal,
)
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.records.ranking import Head

Scored: TypeAlias = tuple[Candidate, float]

_PLACES = {memory_type: place for place, memory_type in enumerate(LAYERS)}


def gather(asked: Asked, rows: Rows) -> dict[Signal, Values]:
    """Return the values of all signals for the rows of a question."""
    return {signal: gather_(asked, rows) for signal, (_, gather_) in SIGNALS.items()}


def fuse(asked: Asked, rows: Rows, gathered: Mapping[Signal, Values]) -> list[Candidate]:
    """Combine the signals, which `gathered` has for each of the rows; return the candidates.

    A candidate has a word of the question, or a neighbour in its thread that has one, or it or such a neighbour is near
    to the question in meaning, or it is of a time that the question names. A recent record is one by itself only where
    the question asks for nothing else. That a record is of the time makes it no answer yet: its strength is that of its
    words, so that a question about something unknown of last week is not answered by whatever happened then.
    """
    question = asked.question.with_unknown(reduce(or_, rows.words, 0))
    of_role = {role: [(one, gathered[one]) for one, (its, _) in SIGNALS.items() if its is role] for role in Role}
    matches, nearness, boosts = of_role[Role.MATCH], of_role[Role.NEARNESS], of_role[Role.BOOST]
    totals = [
        sum([value or 0.0 for value in values]) for values in zip(*(values for _, values in matches), strict=True)
    ]
    text = AS_TEXT if asked.only_times else 1.0  # what mentions a time comes after what is of it
    best = max(totals, default=0.0) / text
    among = max(rows.documents, len(rows.words))
    from_neighbours, fits = lent(asked, rows), gathered[Signal.TIME]
    found: list[Why | None] = []
    for row, (bits, total) in enumerate(zip(rows.words, totals, strict=True)):
        near = [(signal, value * text) for signal, values in nearness if (value := values[row])]
        if total <= 0 and not near:
            found.append(None)
            continue
        signals: dict[Signal, float] = {}
        again = 0.0
        if total > 0:
            signals = {signal: value / best for signal, values in matches if (value := values[row]) is not None}
            again = total / best
        for signal, value in near:
            signals[signal] = value
            again = min(1.0, again + WEIGHTS[signal] * value)
        for signal, values in boosts:
            if (boost := values[row]) is not None:
                signals[signal] = boost * again
        near_by, similarity = from_neighbours.get(row, ()), rows.similarity.get(row, 1.0)
        share = question.share(bits, near_by) * similarity
        strength = share * question.fullness(bits, near_by)
        if row in rows.nearness:
            strength = max(strength, question.strength_by_meaning(rows.nearness[row], among=among))
        if asked.only_named and (fits[row] or 0.0) <= BESIDE:  # whatever else they did
            strength *= APART
            signals = {signal: APART * value for signal, value in signals.items()}
        found.append(Why(signals=signals, strength=strength, share=share, covered=bits))
    for row, name in rows.named:
        why = found[row]
        if why is not None:
            why.names.append(name)
            if why.strength < 1:  # the bare entity, not what is said about it
                why.signals.pop(Signal.NAMES, None)
    _add_recent(found, asked, rows, gathered, of_role[Role.TIE])
    if asked.only_times:
        _add_named_times([why for why in found if why is not None], asked)
    return [
        Candidate(head, why, fit or 0.0)
        for head, why, fit in zip(rows.heads, found, fits, strict=True)
        if why is not None
    ]


def _add_recent(
    found: list[Why | None],
    asked: Asked,
    rows: Rows,
    gathered: Mapping[Signal, Values],
    ties: Sequence[tuple[Signal, Values]],
) -> None:
    """Add the recent records that are candidates by themselves, and the signals of those that are recent."""
    fits = gathered[Signal.TIME]
    for row in rows.recent:
        if row is None:
            continue
        why, fit = found[row], fits[row] or 0.0
        if asked.only_recent or fit > BESIDE:
            why = found[row] = why or Why()
        if why is None:
            continue
        if asked.only_recent:
            why.strength = max(why.strength, fit if asked.times.times else 1.0)
        if fit > BESIDE:
            why.signals[Signal.TIME] = max(why.signals.get(Signal.TIME, 0.0), fit if asked.only_times else IN_TIME)
    for signal, values in ties:
        for why, tie in zip(found, values, strict=True):
            if why is not None and tie is not None:
                why.signals[signal] = tie


def _add_named_times(candidates: Iterable[Why], asked: Asked) -> None:
    """Make texts that name a time strong enough for an answer, which is empty if nothing happened then."""
    for why in candidates:
        if any(bits and why.covered & bits == bits for bits in asked.naming):
            why.strength = max(why.strength, NAMED_TIME)


def score(record: Head, why: Why) -> float:
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
        * (SALIENCE_FLOOR + (1 - SALIENCE_FLOOR) * record.weight)
        * (CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * record.confidence)
    )


def ranked(candidates: Iterable[Candidate]) -> list[Scored]:
    """Return the candidates with their scores, best first; ties by layer, then newest first, then by id."""
    scored = [(one, score(one.head, one.why)) for one in candidates]
    scored.sort(key=itemgetter(1), reverse=True)
    scores = [value for _, value in scored]
    if any(map(eq, scores, scores[1:])):  # rarely; the whole key costs more than all else here

        def key(item: Scored) -> tuple[float, int, float, int]:
            head = item[0].head
            return -item[1], _PLACES[head.type], -head.occurred_at.timestamp(), head.id.int

        scored.sort(key=key)
    return scored


def newest_first(order: Sequence[Scored]) -> list[Scored]:
    """Return the candidates of a question for what is newest, such as "the latest deploy", with raised scores.

    They are given and returned best first. Good ones have at least COMPARABLE of the best score. The score of the
    newest good one doubles, and each that is older than another, by its own date `occurred_at`, is raised by half as
    much. So a record that fits twice as well as a newer one can still come before it.
    """
    if not order:
        return []
    good = [one for one, score in order if score >= COMPARABLE * order[0][1]]
    good.sort(key=lambda one: (-one.head.occurred_at.timestamp(), one.head.id.int))
    raised = {id(one): 1 + 0.5**age for age, one in enumerate(good)}
    return sorted(((one, score * raised.get(id(one), 1.0)) for one, score in order), key=lambda one: -one[1])
