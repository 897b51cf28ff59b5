"""Which candidates become roots: one of several that say the same, and events that differ before those that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.choose import Fingerprint, choose
from stratagraph.memory.retrieve.weights import ALIKE, LOWERED, MOST_LOWERED, SAME, SURVEY
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.sketches import Sketch, resemblance
from stratagraph.store.records.ranking import Head

EVENT, FACT, ENTITY = MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.ENTITY
BASE = frozenset(range(100, 120))  # the words of an event; with one more word, a text says the same
Given = tuple[MemoryType, int, float, "Sketch | str | None"]  # type, words of the question, fit, what it says


def sketches() -> st.SearchStrategy[Sketch]:
    changes = st.sets(st.integers(95, 124), max_size=3)
    return st.builds(lambda some: BASE ^ some, changes) | st.just(frozenset({1, 2, 3}))


candidates = st.lists(
    st.tuples(st.just(EVENT), st.sampled_from([1, 3]), st.sampled_from([0.5, 1.0]), sketches())
    | st.tuples(st.just(FACT), st.sampled_from([1, 3]), st.just(1.0), st.sampled_from(["a", "b"]))
    | st.tuples(st.just(ENTITY), st.just(1), st.just(1.0), st.none()),
    max_size=14,
)


@dataclass(frozen=True)
class Found:
    """What was chosen, by id."""

    order: list[tuple[UUID, float]]
    duplicates: Mapping[UUID, Sequence[UUID]]
    stands_for: Callable[[UUID], UUID | None]


def chosen(given_: list[Given], *, wanted: int = 10, is_survey: bool = False) -> tuple[Found, list[UUID]]:
    """Return what is chosen of candidates, best first, and their ids."""
    ids = [UUID(int=number) for number in range(1, 1 + len(given_))]
    says: list[Fingerprint] = [what for *_, what in given_]
    order = [
        (Candidate(Head(id_, type_, 1.0, 1.0, NOON, 0), Why(covered=covered), fit), 1 - place / 100)
        for place, (id_, (type_, covered, fit, _)) in enumerate(zip(ids, given_, strict=True))
    ]
    found = choose(order, says, wanted=wanted, is_survey=is_survey)
    return Found([(one.head.id, score) for one, score in found.order], found.duplicates, found.stands_for), ids


@examples(200)
@given(candidates)
def test_every_candidate_stays_or_says_the_same_as_one_before_it(given_: list[Given]) -> None:
    found, ids = chosen(given_)
    of = dict(zip(ids, given_, strict=True))
    kept = [id_ for id_, _ in found.order]
    assert sorted([*kept, *(id_ for others in found.duplicates.values() for id_ in others)]) == ids
    assert kept == sorted(kept)  # the order of the rest is as it was
    for first, others in found.duplicates.items():
        assert first in kept
        for other in others:
            assert other > first
            assert of[first][:2] == of[other][:2]
            assert (of[first][2] == 1) == (of[other][2] == 1)
            assert _same(of[first][3], of[other][3])
            assert found.stands_for(other) == first
    for place, id_ in enumerate(kept):  # complete: those that stay say something else than each before them
        for before in kept[:place]:
            alike = of[id_][:3] == of[before][:3] and _same(of[id_][3], of[before][3])
            assert not alike


def _same(one: object, other: object) -> bool:
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return resemblance(one, other) >= SAME
    return one == other is not None


@examples(200)
@given(candidates, st.integers(2, 6))
def test_diversity_keeps_all_candidates_and_lowers_scores_within_its_bound(given_: list[Given], wanted: int) -> None:
    plain, ids = chosen(given_)
    found, _ = chosen(given_, wanted=wanted, is_survey=True)
    before, after = dict(plain.order), dict(found.order)
    of = dict(zip(ids, given_, strict=True))
    assert before.keys() == after.keys()
    assert found.duplicates == plain.duplicates
    scores = [score for _, score in found.order]
    assert scores == sorted(scores, reverse=True)
    for place, (id_, score) in enumerate(found.order[:wanted]):
        alike = sum(_alike(of[id_][3], of[root][3]) for root, _ in found.order[:place])
        assert score == pytest.approx(before[id_] * LOWERED ** min(alike, MOST_LOWERED))


def _alike(one: object, other: object) -> bool:
    return isinstance(one, frozenset) and isinstance(other, frozenset) and resemblance(one, other) >= ALIKE


def test_an_event_that_differs_comes_before_a_third_one_like_the_first() -> None:
    alike: list[Given] = [
        (EVENT, 1, 0.0, frozenset({*range(100, 115), *range(extra, extra + 5)})) for extra in (200, 300, 400)
    ]
    other: Given = (EVENT, 1, 0.0, frozenset(range(500, 520)))
    found, ids = chosen([*alike, other], wanted=2, is_survey=True)
    assert [id_ for id_, _ in found.order[:2]] == [ids[0], ids[3]]
    assert [id_ for id_, _ in chosen([*alike, other], wanted=2)[0].order] == ids
    assert [id_ for id_, _ in chosen([*alike, other], wanted=SURVEY + 1, is_survey=True)[0].order] == ids
