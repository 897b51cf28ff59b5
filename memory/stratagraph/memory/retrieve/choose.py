"""Choose roots that differ: merge records that say the same, and lower the score of events that resemble a root. Pure.

Events say the same if they have equal words in the same order, whatever their case and punctuation is, and facts if
they are the same fact, in another scope, for example. A word more, less or in another place may say the opposite. They
must also answer the question alike: with the same words of it, and both within the times that it names or both outside.
So what a question tells apart stays apart. Entities, procedures, plans and tasks are what they are, whatever is said
about them, and never stand for one another.

An event also stands for the facts that quote it. Learning states what was said in successful episodes as facts,
`agent_turn observed in <the words>` (docs/learning.md, Stages). Such a fact says nothing that the turn does
not say.

Texts are compared only where sketches of their words say that they may be the same; only those are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias
from uuid import UUID

from stratagraph.memory.capture.caption import whole_text
from stratagraph.memory.capture.classify import TURN_SUMMARY
from stratagraph.memory.learning.structural_facts import PREDICATE
from stratagraph.memory.retrieve.candidates import Candidate
from stratagraph.memory.retrieve.fuse import Scored
from stratagraph.memory.retrieve.weights import ALIKE, LEAST_QUOTED, LOWERED, MISSING, MOST_LOWERED, SURVEY
from stratagraph.store.model.analysis.sequences import word_sequence
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.sketches import SKETCH, Sketch, first_terms, resembles, stored_sketch
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.ranking import Head

NEARLY = 0.75  # least resemblance of the words of two events whose texts are compared
LONGEST = 100_000  # characters of a text whose words are compared; longer ones say the same only if they are equal
CUT = "…"  # stands for the rest of the words of a turn


@dataclass(frozen=True, slots=True)
class Quotation:
    """What a structural fact of a turn says: its key or text as a fact, and the sketch of the words that it quotes."""

    fact: bytes | str
    words: Sketch


# What a record says: the sketch of an event, the key or the text of a fact, with what it quotes, or None for others.
Fingerprint: TypeAlias = Sketch | bytes | str | Quotation | None
# The words in order of the records that were read, as `words_of` returns them, by id.
Words: TypeAlias = Mapping[UUID, str]
Kept: TypeAlias = list[tuple[Scored, Fingerprint]]  # candidates, best first, each with what it says


@dataclass(frozen=True, slots=True)
class Chosen:
    """Candidates with their scores, best first, of which the first ones are the roots, and what they stand for.

    `duplicates` are the records that say the same as one of `order`; none of them is in `order`. It is the newest, or
    the event that facts quote, and has the place and the score of the best of them.
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


def words_of(record: MemoryRecord) -> str:
    """Return the words of an event in order, or those that a structural fact of a turn quotes, ending in CUT if cut.

    A text of more than LONGEST characters is returned as it is.
    """
    if record.type is MemoryType.SEMANTIC:
        quoted = str((record.payload or {}).get("object"))
        return word_sequence(quoted) + (CUT if len(quoted) >= TURN_SUMMARY else "")
    text = whole_text(record)
    return text if len(text) > LONGEST else word_sequence(text)


def to_compare(order: Sequence[Scored], says: Sequence[Fingerprint]) -> set[UUID]:
    """Return the candidates whose words must be known to `choose`: they may say the same as others."""
    found: set[UUID] = set()
    events = [(one, what) for (one, _), what in zip(order, says, strict=True) if isinstance(what, frozenset)]
    often = Counter(term for _, what in events for term in what)
    alone: dict[tuple[object, ...], list[tuple[UUID, Sketch]]] = {}
    alike: dict[tuple[object, ...], list[Sketch]] = {}
    for one, what in events:
        keys = [(*_answers(one), term) for term in first_terms(what, NEARLY, often=often)]
        others = {id_ for key in keys for id_, its in alone.get(key, ()) if resembles(what, its, NEARLY)}
        if others or any(resembles(what, its, NEARLY) for key in keys for its in alike.get(key, ())):
            found |= {one.head.id, *others}
            for key in keys:
                alike.setdefault(key, []).append(what)
        else:
            for key in keys:
                alone.setdefault(key, []).append((one.head.id, what))
    for fact, quoted in _quotations(zip(order, says, strict=True)):
        sources = {one.head.id for one, what in events if _covers(one, fact) and _says(what, quoted.words)}
        found |= {fact.head.id, *sources} if sources else sources
    return found


def choose(
    order: Sequence[Scored], says: Sequence[Fingerprint], words: Words, *, wanted: int, is_survey: bool
) -> Chosen:
    """Return the candidates of which `wanted` are to be roots, without duplicates, given all of them, best first.

    `says` is what each of them says, and `words` are those of the records that `to_compare` returns. With `is_survey`,
    events that resemble each other make room for others among the roots.
    """
    kept, duplicates = _without_duplicates(order, says, words)
    if any(True for _ in _quotations(kept)):
        kept = without_quotations(kept, duplicates, words)
    if is_survey and 1 < wanted <= SURVEY:
        return Chosen(_diverse(kept, wanted=wanted), duplicates)
    return Chosen([one for one, _ in kept], duplicates)


def _answers(one: Candidate) -> tuple[object, ...]:
    """Return what records must share to say the same in answer to the question."""
    return one.head.type, one.why.covered, one.fit == 1


def _quotations(order: Iterable[tuple[Scored, Fingerprint]]) -> Iterator[tuple[Candidate, Quotation]]:
    return ((one, what) for (one, _), what in order if isinstance(what, Quotation))


def _without_duplicates(
    order: Iterable[Scored], says: Iterable[Fingerprint], words: Words
) -> tuple[Kept, dict[UUID, list[UUID]]]:
    """Return the newest of the candidates that say the same, in the place of the best, and the others by the newest."""
    alike: dict[tuple[object, ...], Kept] = {}
    for scored, what in zip(order, says, strict=True):
        one = scored[0]
        stated = what.fact if isinstance(what, Quotation) else what
        said = words.get(one.head.id) if isinstance(what, frozenset) else stated
        key = (*_answers(one), said) if said else (one.head.id,)
        alike.setdefault(key, []).append((scored, what))
    kept: Kept = []
    duplicates: dict[UUID, list[UUID]] = {}
    for group in alike.values():
        (newest, _), what = max(group, key=lambda each: (each[0][0].head.occurred_at, each[0][0].head.id))
        (_, score), _ = group[0]
        kept.append(((newest, score), what))
        if len(group) > 1:
            duplicates[newest.head.id] = [one.head.id for (one, _), _ in group if one is not newest]
    return kept, duplicates


def without_quotations(kept: Kept, duplicates: dict[UUID, list[UUID]], words: Words) -> Kept:
    """Return the candidates without those that quote an event among them, which `duplicates` then has of the event.

    The event takes the place of the better one of the two. It must have all words of the question that the quotation
    has, and both must lie within the times that the question names, or both outside.
    """
    fingerprints = {one.head.id: ((one, 0.0), what) for (one, _), what in kept if isinstance(what, frozenset)}
    events = [one for (one, _), _ in fingerprints.values()]
    left: dict[UUID, tuple[Scored, Fingerprint]] = {}
    for scored, what in kept:
        one, score = scored
        event = _quoted(one, events, words) if isinstance(what, Quotation) else None
        if event is None:
            left.setdefault(one.head.id, (scored, what))
            continue
        id_ = event.head.id
        duplicates.setdefault(id_, []).extend([one.head.id, *duplicates.pop(one.head.id, ())])
        left.setdefault(id_, ((event, score), fingerprints[id_][1]))
    return list(left.values())


def _quoted(fact: Candidate, events: Iterable[Candidate], words: Words) -> Candidate | None:
    """Return the first of the events that a fact quotes: the words after the speaker are those that it quotes."""
    quoted = words.get(fact.head.id)
    if not quoted:
        return None
    whole = quoted.removesuffix(CUT)
    for event in events:
        said = words.get(event.head.id, "").partition(" ")[2]
        if (said == whole or (whole != quoted and said.startswith(whole))) and _covers(event, fact):
            return event
    return None


def _covers(event: Candidate, fact: Candidate) -> bool:
    """Return whether an event answers all of the question that a fact answers."""
    return not fact.why.covered & ~event.why.covered and (event.fit == 1) == (fact.fit == 1)


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

    One beside a root in its thread counts as one that resembles it: its neighbour lent it a part of the score.

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
            alike += sum([_resemble(order[place], order[root]) for _, root in roots[compared:]])
            alike = min(alike, MOST_LOWERED)
        heapreplace(left, (-first_score * LOWERED**alike, place, len(roots), alike))
    rest = [(score, place) for score, place, *_ in sorted(left)]
    return [(order[place][0][0], -score) for score, place in [*roots, *rest]]


def _resemble(one: tuple[Scored, Fingerprint], other: tuple[Scored, Fingerprint]) -> bool:
    (((event, _), what), ((root, _), said)) = one, other
    if event.head.id in (*root.head.before[:1], *root.head.after[:1]):
        return True
    return isinstance(what, frozenset) and isinstance(said, frozenset) and resembles(what, said, ALIKE)
