"""Choose roots that differ: merge records that say the same, and lower the score of events that resemble a root. Pure.

Events say the same if nearly all of their words are the same, in whatever order, and facts if they are the same fact,
in another scope, for example. They must also answer the question alike: with the same words of it, and both within the
times that it names or both outside. So what a question tells apart stays apart. Entities, procedures, plans and tasks
are what they are, whatever is said about them, and never stand for one another.

An event also stands for the facts that quote it. Learning states what was said in successful episodes as facts,
`agent_turn observed in <the words>` (docs/learning.md, Stages). Such a fact says nothing that the turn does
not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias
from uuid import UUID

from stratagraph.memory.learning.structural_facts import PREDICATE
from stratagraph.memory.retrieve.candidates import Candidate
from stratagraph.memory.retrieve.fuse import Scored
from stratagraph.memory.retrieve.weights import ALIKE, LEAST_QUOTED, LOWERED, MISSING, MOST_LOWERED, SAME, SURVEY
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.sketches import SKETCH, Sketch, first_terms, resembles, stored_sketch
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.ranking import Head


@dataclass(frozen=True, slots=True)
class Quotation:
    """What a structural fact of a turn says: its key or text as a fact, and the sketch of the words that it quotes."""

    fact: bytes | str
    words: Sketch


# What a record says: the sketch of an event, the key or the text of a fact, with what it quotes, or None for others.
Fingerprint: TypeAlias = Sketch | bytes | str | Quotation | None
Kept: TypeAlias = list[tuple[Scored, Fingerprint]]  # candidates, best first, each with what it says


@dataclass(frozen=True, slots=True)
class Chosen:
    """Candidates with their scores, best first, of which the first ones are the roots, and what they stand for.

    `duplicates` are the records that say the same as one of `order`; none of them is in `order`. They come after it in
    rank, but for facts that quote it, of which it takes the place.
    """

    order: list[Scored]
    duplicates: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)

    def stands_for(self, id_: UUID) -> UUID | None:
        """Return the record that stands for a duplicate; None for a record that is none."""
        return next((one for one, others in self.duplicates.items() if id_ in others), None)


@lru_cache(maxsize=1_000)
def template_terms(index_key: bytes) -> tuple[int, ...]:
    """Return the terms that each structural fact of a turn has in addition to the words that it quotes."""
    return tuple(record_terms(index_key, f"{SourceKind.AGENT_TURN.value} {PREDICATE.replace('_', ' ')}").numbers)


def fingerprint_of(head: Head) -> Fingerprint:
    """Return what a record says, given what the store read of it."""
    what = head.fingerprint
    if what is None or head.quoted is None:
        return stored_sketch(what) if isinstance(what, bytes) and head.type is MemoryType.EPISODIC else what
    assert not isinstance(what, frozenset)  # only facts quote
    return Quotation(what, head.quoted if isinstance(head.quoted, frozenset) else stored_sketch(head.quoted))


def choose(order: Sequence[Scored], says: Sequence[Fingerprint], *, wanted: int, is_survey: bool) -> Chosen:
    """Return the candidates of which `wanted` are to be roots, without duplicates, given all of them, best first.

    `says` is what each of them says. With `is_survey`, events that resemble each other make room for others among the
    roots.
    """
    kept, duplicates = _without_duplicates(order, says)
    if any(isinstance(what, Quotation) for _, what in kept):
        kept = without_quotations(kept, duplicates)
    if is_survey and 1 < wanted <= SURVEY:
        return Chosen(_diverse(kept, wanted=wanted), duplicates)
    return Chosen([one for one, _ in kept], duplicates)


def _without_duplicates(order: Iterable[Scored], says: Iterable[Fingerprint]) -> tuple[Kept, dict[UUID, list[UUID]]]:
    """Return the candidates that say the same as none before them, and the others by the one that they repeat.

    Only candidates with one of their first terms in common are compared.
    """
    kept: Kept = []
    duplicates: dict[UUID, list[UUID]] = {}
    facts: dict[tuple[object, ...], UUID] = {}
    events: dict[tuple[object, ...], dict[int, list[tuple[UUID, Sketch]]]] = {}
    for scored, what in zip(order, says, strict=True):
        if what is None:
            kept.append((scored, what))
            continue
        one, id_ = scored[0], scored[0].head.id
        answers = (one.head.type, one.why.covered, one.fit == 1)
        same: UUID | None = None
        if isinstance(what, frozenset):
            by_term = events.setdefault(answers, {})
            first = first_terms(what, SAME)
            for term in first:
                same = next((other for other, its in by_term.get(term, ()) if resembles(what, its, SAME)), None)
                if same is not None:
                    break
            else:
                for term in first:
                    by_term.setdefault(term, []).append((id_, what))
        else:
            stated = what.fact if isinstance(what, Quotation) else what
            before = facts.setdefault((*answers, stated), id_)
            same = before if before is not id_ else None
        if same is None:
            kept.append((scored, what))
        else:
            duplicates.setdefault(same, []).append(id_)
    return kept, duplicates


def without_quotations(kept: Kept, duplicates: dict[UUID, list[UUID]]) -> Kept:
    """Return the candidates without those that quote an event among them, which `duplicates` then has of the event.

    The event takes the place of the better one of the two. It must have all words of the question that the quotation
    has, and both must lie within the times that the question names, or both outside.
    """
    events = [(scored[0], what) for scored, what in kept if isinstance(what, frozenset)]
    fingerprints = {one.head.id: ((one, 0.0), what) for one, what in events}
    left: dict[UUID, tuple[Scored, Fingerprint]] = {}
    for scored, what in kept:
        one, score = scored
        event = _quoted(one, what.words, events) if isinstance(what, Quotation) else None
        if event is None:
            left.setdefault(one.head.id, (scored, what))
            continue
        id_ = event.head.id
        duplicates.setdefault(id_, []).extend([one.head.id, *duplicates.pop(one.head.id, ())])
        left.setdefault(id_, ((event, score), fingerprints[id_][1]))
    return list(left.values())


def _quoted(fact: Candidate, words: Sketch, events: Iterable[tuple[Candidate, Sketch]]) -> Candidate | None:
    """Return the first of the events that a fact with these words quotes."""
    return next(
        (
            event
            for event, text in events
            if not fact.why.covered & ~event.why.covered and (event.fit == 1) == (fact.fit == 1) and _says(text, words)
        ),
        None,
    )


def _says(event: Sketch, quotation: Sketch) -> bool:
    """Return whether an event has the words of a quotation, as far as the sketches of both tell."""
    known = quotation
    if len(event) == SKETCH:  # of its words, those up to the last one are known
        last = max(event)
        known = frozenset(word for word in quotation if word <= last)
        if len(known) < LEAST_QUOTED:
            return False
    return bool(known) and len(known - event) <= MISSING * len(known)


def _diverse(order: Kept, *, wanted: int) -> list[Scored]:
    """Return the candidates, best first, after each event that resembles roots before it was given a lower score.

    Maximal marginal relevance (J. Carbonell and J. Goldstein, "The use of MMR", 1998), bounded. Scores only fall, so a
    candidate is compared with the roots when it is the best one left, and most are never compared.
    """
    left = [(-score, place, 0, 0) for place, ((_, score), _) in enumerate(order)]  # roots compared with, those alike
    heapify(left)
    roots: list[tuple[float, int]] = []
    while left and len(roots) < wanted:
        score, place, compared, alike = left[0]
        if compared == len(roots) or alike == MOST_LOWERED:
            heappop(left)
            roots.append((score, place))
            continue
        (_, first_score), what = order[place]
        if isinstance(what, frozenset):
            alike += sum([_resemble(what, order[root][1]) for _, root in roots[compared:]])
            alike = min(alike, MOST_LOWERED)
        heapreplace(left, (-first_score * LOWERED**alike, place, len(roots), alike))
    rest = [(score, place) for score, place, *_ in sorted(left)]
    return [(order[place][0][0], -score) for score, place in [*roots, *rest]]


def _resemble(one: Sketch, other: Fingerprint) -> bool:
    return isinstance(other, frozenset) and resembles(one, other, ALIKE)
