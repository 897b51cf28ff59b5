"""Nearness in meaning in the ranking: what it adds to a score, what neighbours add, and how strong an answer it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON

from stratagraph.memory.embedding.questions import forms_of
from stratagraph.memory.retrieve.candidates import Asked, Rows, Why
from stratagraph.memory.retrieve.fuse import fuse, gather
from stratagraph.memory.retrieve.question import Question
from stratagraph.memory.retrieve.signals.vectors import propagated
from stratagraph.memory.retrieve.weights import FURTHER, MANY, NEXT, STRONG_ENOUGH, WEIGHTS, Signal
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.records.ranking import Head

FIRST, SECOND, THIRD, FOURTH = range(4)  # rows
PLAIN = Question(weights=[2.0, 1.0], terms=[[1], [2]], emphasis=[1.0, 1.0], apart=0, names=0)
NAMED = replace(PLAIN, emphasis=[3.0, 1.0], names=1)  # the first word is a name
IN_A_ROW = [
    (row, other, abs(other - row) - 1)
    for row, others in enumerate([(SECOND, THIRD), (FIRST, THIRD, FOURTH), (SECOND, FIRST, FOURTH), (THIRD, SECOND)])
    for other in others
]


def found(nearness: dict[int, float], *, question: Question = PLAIN, **more: Any) -> dict[int, Why]:
    scores = more.pop("scores", {})
    heads = [
        Head(UUID(int=1 + row), MemoryType.EPISODIC, 1.0, 1.0, NOON, 0, score=scores.get(row, 0.0)) for row in range(4)
    ]
    given: dict[str, Any] = {"documents": MANY, "words": [0, 0, 0, 0]} | more
    rows = Rows(heads=heads, nearness=nearness, **given)
    asked = Asked(question=question)
    return {one.head.id.int - 1: one.why for one in fuse(asked, rows, gather(asked, rows))}


def test_neighbours_lend_half_of_their_scores_and_half_of_that_for_each_further_step() -> None:
    why = found({}, scores={FIRST: 4.0, FOURTH: 2.0}, neighbours=IN_A_ROW)
    own = {row: one.part(Signal.WORDS) for row, one in why.items()}
    lent = {row: one.part(Signal.THREAD) for row, one in why.items()}
    best = 4.0  # the first has nothing beside it: the fourth is three steps away
    assert own == pytest.approx({FIRST: 4.0 / best, SECOND: 0.0, THIRD: 0.0, FOURTH: 2.0 / best})
    assert lent == pytest.approx({FIRST: 0.0, SECOND: (2.0 + 0.5) / best, THIRD: (1.0 + 1.0) / best, FOURTH: 0.0})


def test_the_nearest_record_counts_as_much_whatever_its_similarity() -> None:
    for best in (0.1, 0.5, 1.0):
        why = found({FIRST: best, SECOND: best / 2})
        assert why[FIRST].part(Signal.VECTORS) == WEIGHTS[Signal.VECTORS]
        assert why[SECOND].part(Signal.VECTORS) == WEIGHTS[Signal.VECTORS] / 2
        assert why.keys() == {FIRST, SECOND}


def test_a_near_record_lifts_its_neighbours_by_what_they_lack() -> None:
    assert propagated({SECOND: 1.0, THIRD: 0.5}, IN_A_ROW) == pytest.approx(
        {FIRST: NEXT, THIRD: NEXT * 0.5, FOURTH: NEXT * 0.5 + NEXT * FURTHER * 0.5}
    )
    why = found({SECOND: 0.4}, neighbours=IN_A_ROW)
    assert why[FIRST].signals == {Signal.VECTORS: NEXT}
    assert why[FIRST].strength == 0  # what a neighbour says is no answer of the record


def test_a_near_record_with_a_name_of_the_question_counts_more_and_at_most_as_a_full_match() -> None:
    why = found({FIRST: 0.4, SECOND: 0.4}, question=NAMED, words=[1, 0, 0, 0])
    assert why[FIRST].signals[Signal.NAMES] == 1.0
    assert Signal.NAMES not in why[SECOND].signals


def test_nearness_stands_for_words_and_never_for_names() -> None:
    assert found({FIRST: 0.4})[FIRST].strength == pytest.approx(0.4)
    # No record has the name, so it counts 4.5 times: nothing is known about it, however near other records are.
    assert found({FIRST: 0.9}, question=NAMED)[FIRST].strength == pytest.approx(0.9 / 10)
    assert found({FIRST: 0.9}, question=NAMED)[FIRST].strength < STRONG_ENOUGH


def test_the_fewer_records_there_are_the_less_nearness_is_an_answer() -> None:
    strengths = [found({FIRST: 0.2}, documents=number)[FIRST].strength for number in (0, 10, 50, MANY, 10**6)]
    assert strengths == sorted(strengths, reverse=True)
    assert strengths[1] > STRONG_ENOUGH > strengths[-1]
    assert strengths[-1] == pytest.approx(0.2)
    assert found({FIRST: 0.9}, documents=1)[FIRST].strength == pytest.approx(0.9)
    assert found({FIRST: 0.4}, documents=1)[FIRST].strength == 0.5


def test_nearness_never_takes_from_the_strength_of_words() -> None:
    words = [1, 0, 0, 0]
    by_words = found({}, words=words)[FIRST].strength
    assert found({FIRST: 0.1}, words=words)[FIRST].strength == by_words


def test_without_vectors_the_signals_are_those_of_words() -> None:
    why = found({}, words=[1, 0, 0, 0], scores={FIRST: 1.5}, neighbours=IN_A_ROW)
    assert all(Signal.VECTORS not in one.signals for one in why.values())


@pytest.mark.parametrize(
    ("question", "forms"),
    [
        ("when did Gina's store open?", ["when did Gina's store open?", "when did store open?"]),
        ("Gina asked: where is Gina from?", ["Gina asked: where is Gina from?", "Gina asked: where is from?"]),
        ("Welches Fahrzeug braucht eine Reparatur?", ["Welches Fahrzeug braucht eine Reparatur?"]),
        ("Which API of Kestrel 4.1 fails?", ["Which API of Kestrel 4.1 fails?", "Which of 4.1 fails?"]),
        ("哪些服务器在上海?", ["哪些服务器在上海?"]),
        ("", [""]),
    ],
)
def test_a_question_is_embedded_with_its_names_and_without(question: str, forms: list[str]) -> None:
    assert forms_of(question) == forms
