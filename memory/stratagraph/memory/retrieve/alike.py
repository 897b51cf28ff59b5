"""Choose roots that differ: merge records that say the same, and lower the score of events that resemble a root. Pure.

Events say the same if nearly all of their words are the same, in whatever order, and facts if they are the same fact,
in another scope, for example. They must also answer the question alike: with the same words of it, and both within the
times that it names or both outside. So what a question tells apart stays apart. An event stands for the facts that
quote it (`quotations`). Entities, procedures, plans and tasks are what they are, whatever is said about them, and never
stand for one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import TypeAlias
from uuid import UUID

from stratagraph.memory.retrieve.quotations import Quotation, with_quoted
from stratagraph.memory.retrieve.rank import Rankable, Why
from stratagraph.store.model.sketches import Sketch, first_terms, resembles

SAME = 0.9  # least resemblance of the words of two events that say the same
ALIKE = 0.5  # least resemblance of two events of which one lowers the score of the other
LOWERED = 0.9  # part of its score that an event keeps for each root before it that it resembles
MOST_LOWERED = 3  # such roots that count, so that an event keeps 0.73 of its score at least
SURVEY = 25  # roots; who asks for more wants all that there is, as for the evidence in one thread

# What a record says: the sketch of an event, the key or the text of a fact, with what it quotes, or None for others.
Saying: TypeAlias = Sketch | bytes | str | Quotation | None
Said: TypeAlias = Callable[[UUID], Saying]
Scored: TypeAlias = tuple[UUID, float]


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


def differing(
    order: Sequence[Scored],
    records: Mapping[UUID, Rankable],
    why: Mapping[UUID, Why],
    fits: Mapping[UUID, float],
    said: Said,
    *,
    wanted: int,
    is_survey: bool,
) -> Chosen:
    """Return the candidates of which `wanted` are to be roots, without duplicates, given all of them, best first.

    `fits` is how well the date of each fits the times that the question names. With `is_survey`, events that resemble
    each other make room for others among the roots.
    """
    kept, duplicates = _without_duplicates(order, records, why, fits, said)
    sayings = {id_: said(id_) for id_, _ in kept}
    quotations = {id_: what.words for id_, what in sayings.items() if isinstance(what, Quotation)}
    if quotations:
        events = {id_: what for id_, what in sayings.items() if isinstance(what, frozenset)}
        kept, duplicates = with_quoted(kept, duplicates, why, fits, quotations, events)
    if is_survey and 1 < wanted <= SURVEY:
        kept = _diverse(kept, said, wanted=wanted)
    return Chosen(kept, duplicates)


def _without_duplicates(
    order: Iterable[Scored],
    records: Mapping[UUID, Rankable],
    why: Mapping[UUID, Why],
    fits: Mapping[UUID, float],
    said: Said,
) -> tuple[list[Scored], dict[UUID, list[UUID]]]:
    """Return the candidates that say the same as none before them, and the others by the one that they repeat.

    Only candidates with one of their first terms in common are compared.
    """
    kept: list[Scored] = []
    duplicates: dict[UUID, list[UUID]] = {}
    facts: dict[tuple[object, ...], UUID] = {}
    events: dict[tuple[object, ...], list[tuple[UUID, Sketch]]] = {}
    for id_, score in order:
        what = said(id_)
        if what is None:
            kept.append((id_, score))
            continue
        if isinstance(what, Quotation):
            what = what.fact
        answers = (records[id_].type, why[id_].covered, fits.get(id_) == 1)
        if isinstance(what, frozenset):
            places = [events.setdefault((*answers, term), []) for term in first_terms(what, SAME)]
            same = next((one for place in places for one, other in place if resembles(what, other, SAME)), id_)
            if same == id_:
                for place in places:
                    place.append((id_, what))
        else:
            same = facts.setdefault((*answers, what), id_)
        if same == id_:
            kept.append((id_, score))
        else:
            duplicates.setdefault(same, []).append(id_)
    return kept, duplicates


def _diverse(order: Sequence[Scored], said: Said, *, wanted: int) -> list[Scored]:
    """Return the candidates, best first, after each event that resembles roots before it was given a lower score.

    Maximal marginal relevance (J. Carbonell and J. Goldstein, "The use of MMR", 1998), bounded. Scores only fall, so a
    candidate is compared with the roots when it is the best one left, and most are never compared.
    """
    left = [(-score, place, 0, 0) for place, (_, score) in enumerate(order)]  # roots compared with, and those alike
    heapify(left)
    roots: list[tuple[float, int]] = []
    while left and len(roots) < wanted:
        score, place, compared, alike = left[0]
        if compared == len(roots) or alike == MOST_LOWERED:
            heappop(left)
            roots.append((score, place))
            continue
        id_, first_score = order[place]
        alike += sum(_resemble(said(id_), said(order[root][0])) for _, root in roots[compared:])
        alike = min(alike, MOST_LOWERED)
        heapreplace(left, (-first_score * LOWERED**alike, place, len(roots), alike))
    rest = sorted(left)
    return [(order[place][0], -score) for score, place in [*roots, *((score, place) for score, place, *_ in rest)]]


def _resemble(one: Saying, other: Saying) -> bool:
    return isinstance(one, frozenset) and isinstance(other, frozenset) and resembles(one, other, ALIKE)
