"""Which candidates become roots: one of several that say the same, and events that differ before those that do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import NOON
from hypothesis import assume, given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.choose import Fingerprint, choose, to_compare
from stratagraph.memory.retrieve.weights import ALIKE, LOWERED, MOST_LOWERED, SURVEY
from stratagraph.store.model.analysis.sequences import word_sequence
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.sketches import Sketch, resemblance, sketch_of
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.ranking import Head

EVENT, FACT, ENTITY = MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.ENTITY
BASE = frozenset(range(100, 120))  # the words of an event
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
ages = st.lists(st.integers(0, 3), min_size=14, max_size=14)  # in days; several may be of one time


@dataclass(frozen=True)
class Found:
    """What was chosen, by id."""

    order: list[tuple[UUID, float]]
    duplicates: Mapping[UUID, Sequence[UUID]]
    stands_for: Callable[[UUID], UUID | None]


def chosen(
    given_: list[Given],
    *,
    wanted: int = 10,
    is_survey: bool = False,
    ages: Sequence[int] = (0,) * 14,
    words: Sequence[str] | None = None,
) -> tuple[Found, list[UUID]]:
    """Return what is chosen of candidates, best first, and their ids. Without `words`, events have those of a sketch.

    Only the words of candidates that are to be compared are given.
    """
    ids = [UUID(int=number) for number in range(1, 1 + len(given_))]
    says: list[Fingerprint] = [what for *_, what in given_]
    order = [
        (
            Candidate(Head(id_, type_, 1.0, 1.0, NOON - timedelta(days=age), 0), Why(covered=covered), fit),
            1 - place / 100,
        )
        for place, (id_, age, (type_, covered, fit, _)) in enumerate(zip(ids, ages, given_, strict=False))
    ]
    compared = to_compare(order, says)
    said = words or [" ".join(map(str, sorted(what))) if isinstance(what, frozenset) else "" for what in says]
    of = {id_: text for id_, text in zip(ids, said, strict=True) if id_ in compared}
    found = choose(order, says, of, wanted=wanted, is_survey=is_survey)
    return Found([(one.head.id, score) for one, score in found.order], found.duplicates, found.stands_for), ids


@examples(200)
@given(candidates, ages)
def test_every_candidate_stays_or_says_the_same_as_the_newest_in_the_place_of_the_best(
    given_: list[Given], ages: list[int]
) -> None:
    found, ids = chosen(given_, ages=ages)
    of, age = dict(zip(ids, given_, strict=True)), dict(zip(ids, ages, strict=False))
    groups: dict[object, list[UUID]] = {}
    for id_, (type_, covered, fit, what) in of.items():
        groups.setdefault(id_ if what is None else (type_, covered, fit == 1, what), []).append(id_)
    newest = [max(group, key=lambda id_: (-age[id_], id_)) for group in groups.values()]
    assert [id_ for id_, _ in found.order] == newest
    for (id_, score), group in zip(found.order, groups.values(), strict=True):
        assert score == 1 - ids.index(group[0]) / 100
        assert list(found.duplicates.get(id_, ())) == [other for other in group if other != id_]
        assert all(found.stands_for(other) == id_ for other in group if other != id_)


VOCABULARY = """deploys are not allowed on off fridays before after can cannot ann owes bo money the no never 4.1.7
    -5 5 < > 👍 👎""".split()  # noqa: SIM905 - as a text reads
texts = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12)


def said_by(*texts: str) -> tuple[Found, list[UUID]]:
    """Return what is chosen of events with these texts, best and newest first."""
    given_: list[Given] = [(EVENT, 1, 0.0, sketch_of(record_terms(bytes(32), text).numbers)) for text in texts]
    return chosen(given_, ages=range(len(texts)), words=[word_sequence(text) for text in texts])


@examples(200)
@given(texts, st.data())
def test_a_word_more_or_less_or_elsewhere_is_never_the_same(words: list[str], data: st.DataObject) -> None:
    changed = list(words)
    match data.draw(st.sampled_from(["insert", "remove", "move"])):
        case "insert":
            changed.insert(data.draw(st.integers(0, len(words))), data.draw(st.sampled_from(VOCABULARY)))
        case "remove":
            changed.pop(data.draw(st.integers(0, len(words) - 1)))
        case _:
            changed.insert(
                data.draw(st.integers(0, len(words) - 1)), changed.pop(data.draw(st.integers(0, len(words) - 1)))
            )
    assume(changed != words)
    found, _ = said_by(*(f"user: {' '.join(one)}" for one in (words, changed)))
    assert len(found.order) == 2


@examples(200)
@given(texts, st.data())
def test_equal_words_in_another_case_and_punctuation_are_the_same(words: list[str], data: st.DataObject) -> None:
    signs = st.sampled_from([" ", ", ", ". ", "; ", " \u2013 ", "! ", "\n", " (", ") ", ' "', "\u2026 ", " \u2014 "])
    written = "".join(
        data.draw(st.sampled_from([word, word.upper(), word.title()])) + data.draw(signs) for word in words
    )
    found, ids = said_by(f"user: {written}", f"user: {' '.join(words)}")
    assert [id_ for id_, _ in found.order] == ids[:1]
    assert found.duplicates == {ids[0]: [ids[1]]}


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
