"""An event stands for the structural facts that quote it."""

from __future__ import annotations

from uuid import UUID

from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.choose import Kept, Quotation, without_quotations
from stratagraph.memory.retrieve.weights import MISSING
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.sketches import SKETCH, Sketch, sketch_of
from stratagraph.store.records.ranking import Head

words = st.sets(st.integers(1, 12), min_size=1).map(frozenset)
candidates = st.lists(st.tuples(st.booleans(), words, st.sampled_from([1, 3])), max_size=10)


def kept_of(
    given_: list[tuple[bool, Sketch, int]],
) -> tuple[list[tuple[UUID, float]], dict[UUID, list[UUID]]]:
    """Return what is kept of facts that quote some words, and of events, best first, and what they stand for."""
    kept: Kept = []
    duplicates = dict[UUID, list[UUID]]()
    for at, (is_fact, what, covered) in enumerate(given_, 1):
        type_ = MemoryType.SEMANTIC if is_fact else MemoryType.EPISODIC
        candidate = Candidate(Head(UUID(int=at), type_, 1.0, 1.0, NOON, 0), Why(covered=covered))
        kept.append(((candidate, 1 - at / 100), Quotation(str(at), what) if is_fact else what))
    found = without_quotations(kept, duplicates)
    return [(one.head.id, score) for (one, score), _ in found], duplicates


def numbered(given_: list[tuple[bool, Sketch, int]], *, quoting: bool) -> dict[UUID, tuple[Sketch, int]]:
    return {UUID(int=at): (what, bits) for at, (is_fact, what, bits) in enumerate(given_, 1) if is_fact is quoting}


@given(candidates)
def test_every_quotation_of_a_candidate_is_behind_it_at_the_better_place(
    given_: list[tuple[bool, Sketch, int]],
) -> None:
    order = {UUID(int=at): 1 - at / 100 for at in range(1, 1 + len(given_))}
    facts, events = numbered(given_, quoting=True), numbered(given_, quoting=False)
    kept, stands = kept_of(given_)
    assert sorted([*dict(kept), *(one for others in stands.values() for one in others)]) == list(order)
    for id_, score in kept:
        assert score == max(order[one] for one in (id_, *stands.get(id_, ())))
    assert [score for _, score in kept] == sorted((score for _, score in kept), reverse=True)
    for fact, (quoted, covered) in facts.items():
        found = {
            event
            for event, (text, has) in events.items()
            if len({*quoted} - {*text}) <= MISSING * len(quoted) and not covered & ~has
        }
        assert (fact in dict(kept)) == (not found)
        assert all(fact not in stands.get(event, ()) for event in events.keys() - found)


def test_a_long_event_is_compared_by_its_sketch() -> None:
    text = range(0, 1_000, 5)
    known = SKETCH * 5
    for quoted, is_said in (
        (range(0, known, 20), True),
        (range(1, known, 20), False),
        ([*range(0, 15, 5), *range(known, 1_000, 20)], False),  # too few of its words lie where those of the event do
    ):
        kept, _ = kept_of([(False, sketch_of([*text]), 1), (True, frozenset(quoted), 1)])
        assert len(kept) == (1 if is_said else 2)
