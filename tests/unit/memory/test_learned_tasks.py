"""Learned procedures are ranked by their nearest tasks, and not by how many tasks they have."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest
from fix_memory import NOON

from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.procedures import LearnedProcedure, fit_of, ranked_by_tasks
from stratagraph.memory.retrieve.question import Question
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import query_words
from stratagraph.store.records.ranking import Head

KEY = bytes(32)
FREQUENT, RARE, OTHER = (UUID(int=number) for number in (1, 2, 3))


def question(text: str) -> Question:
    words = query_words(KEY, text)
    ones = [1.0] * len(words)
    return Question(weights=ones, terms=[word.numbers for word in words], emphasis=ones, apart=0, names=0)


def learned(tools: str, *tasks: str, outcome: str = "success") -> LearnedProcedure:
    return LearnedProcedure(frozenset(tools.split()), tuple((task, outcome) for task in tasks))


def best(found: dict[UUID, float]) -> UUID:
    return max(found, key=found.__getitem__)


def test_the_very_task_wins_over_many_that_share_some_words_with_the_question() -> None:
    known = {
        FREQUENT: learned("find change", *(f"please change the flight of customer {n} for free" for n in range(12))),
        RARE: learned("find refund", "the suitcase was lost, please refund the price of the flight"),
    }
    assert best(fit_of(known, question("refund the price, my suitcase was lost on the flight"), KEY)) == RARE
    assert best(fit_of(known, question("change my flight please"), KEY)) == FREQUENT


def test_a_procedure_that_succeeded_wins_over_one_that_failed_at_tasks_as_near() -> None:
    known = {
        RARE: learned("find refund", "refund the suitcase", outcome="failure"),
        OTHER: learned("find transfer", "refund the suitcase"),
    }
    found = fit_of(known, question("please refund my suitcase"), KEY)
    assert best(found) == OTHER
    assert found[OTHER] == 1.0
    assert 0.0 < found[RARE] < 1.0


def test_what_shares_no_word_with_any_task_fits_nothing() -> None:
    known = {RARE: learned("find", "refund the suitcase"), OTHER: learned("look", "change the flight")}
    assert fit_of(known, question("bake bread"), KEY) == {}


class Stored:
    """Reads procedures that were learned with these tools from these tasks."""

    def __init__(self, known: dict[UUID, LearnedProcedure]) -> None:
        self.known = known

    async def records(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        payloads = {
            id_: {"triggers": [{"signal": signal, "outcome": outcome} for signal, outcome in one.tasks]}
            for id_, one in self.known.items()
        }
        return {
            id_: cast(
                MemoryRecord,
                SimpleNamespace(payload=payloads[id_], learned_tools=tuple(sorted(self.known[id_].tools))),
            )
            for id_ in ids
        }


def candidates(known: dict[UUID, LearnedProcedure], signal: Signal) -> list[Candidate]:
    heads = [Head(id_, MemoryType.COMPETENCE, 1.0, 1.0, NOON, 0) for id_ in known]
    return [Candidate(head, Why(signals={signal: 1.0})) for head in heads]


@pytest.mark.parametrize("signal", [Signal.WORDS, Signal.VECTORS, Signal.RECENCY])
async def test_procedures_none_of_whose_tasks_has_a_word_of_the_question_stay_as_they_were_found(
    signal: Signal,
) -> None:
    known = {RARE: learned("book_seat", "refund the suitcase"), OTHER: learned("book_seat", "change the flight")}
    found = candidates(known, signal)
    after, fit = await ranked_by_tasks(Stored(known), KEY, question("book_seat"), found)
    assert (after, fit) == (found, {})


async def test_procedures_that_no_word_found_are_ranked_by_their_tasks_too() -> None:
    known = {RARE: learned("find", "refund the suitcase"), OTHER: learned("look", "change the flight")}
    found = candidates(known, Signal.VECTORS)
    after, fit = await ranked_by_tasks(Stored(known), KEY, question("suitcase"), found)
    assert best(fit) == RARE
    assert {one.head.id for one in after} == set(known)
