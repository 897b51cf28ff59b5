"""An event stands for the structural facts that quote it."""

from __future__ import annotations

from uuid import UUID

from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.candidates import Candidate, Why
from stratagraph.memory.retrieve.choose import CUT, Fingerprint, Quotation, to_compare, without_quotations
from stratagraph.memory.retrieve.fuse import Scored
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.sketches import SKETCH, sketch_of
from stratagraph.store.records.ranking import Head

words = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
candidates = st.lists(st.tuples(st.booleans(), words, st.sampled_from([1, 3])), max_size=10)
Given = list[
    tuple[bool, tuple[int, ...], int]
]  # whether it is a fact, its words, and those of the question that it has


def kept_of(given_: Given, *, cut: str = "") -> tuple[list[tuple[UUID, float]], dict[UUID, list[UUID]]]:
    """Return what is kept of facts that quote some words, and of events, best first, and what they stand for."""
    kept: list[Scored] = []
    says: list[Fingerprint] = []
    said = dict[UUID, str]()
    for at, (is_fact, what, covered) in enumerate(given_, 1):
        type_ = MemoryType.SEMANTIC if is_fact else MemoryType.EPISODIC
        candidate = Candidate(Head(UUID(int=at), type_, 1.0, 1.0, NOON, 0), Why(covered=covered))
        kept.append((candidate, 1 - at / 100))
        says.append(Quotation(str(at), sketch_of(sorted(what))) if is_fact else sketch_of(sorted(what)))
        text = " ".join(map(str, what))
        said[candidate.head.id] = f"{text}{cut}" if is_fact else f"user {text} {at}" if cut else f"user {text}"
    compared = to_compare(kept, says)
    duplicates = dict[UUID, list[UUID]]()
    found = without_quotations(list(zip(kept, says, strict=True)), duplicates, {id_: said[id_] for id_ in compared})
    return [(one.head.id, score) for (one, score), _ in found], duplicates


def numbered(given_: Given, *, quoting: bool) -> dict[UUID, tuple[tuple[int, ...], int]]:
    return {UUID(int=at): (what, bits) for at, (is_fact, what, bits) in enumerate(given_, 1) if is_fact is quoting}


@given(candidates)
def test_every_quotation_of_a_candidate_is_behind_it_at_the_better_place(given_: Given) -> None:
    order = {UUID(int=at): 1 - at / 100 for at in range(1, 1 + len(given_))}
    facts, events = numbered(given_, quoting=True), numbered(given_, quoting=False)
    kept, stands = kept_of(given_)
    assert sorted([*dict(kept), *(one for others in stands.values() for one in others)]) == list(order)
    for id_, score in kept:
        assert score == max(order[one] for one in (id_, *stands.get(id_, ())))
    assert [score for _, score in kept] == sorted((score for _, score in kept), reverse=True)
    for fact, (quoted, covered) in facts.items():
        found = {event for event, (text, has) in events.items() if quoted == text and not covered & ~has}
        assert (fact in dict(kept)) == (not found)
        assert all(fact not in stands.get(event, ()) for event in events.keys() - found)


def test_a_quotation_is_of_an_event_with_all_of_its_words_unless_it_was_cut() -> None:
    for cut, left in (("", 2), (CUT, 1)):
        kept, _ = kept_of([(False, (1, 2, 3, 4), 1), (True, (1, 2, 3), 1)], cut=cut)
        assert len(kept) == left
    kept, _ = kept_of([(False, (1, 2, 3, 4), 1), (True, (2, 3, 4), 1)], cut=CUT)
    assert len(kept) == 2


def test_a_long_event_is_compared_by_its_sketch_before_its_words_are() -> None:
    text = range(0, 1_000, 5)
    known = SKETCH * 5
    for quoted, is_said in (
        (range(0, known, 20), True),
        (range(1, known, 20), False),
        ([*range(0, 15, 5), *range(known, 1_000, 20)], False),  # too few of its words lie where those of the event do
    ):
        order = [
            (Candidate(Head(UUID(int=at), type_, 1.0, 1.0, NOON, 0), Why()), 1.0)
            for at, type_ in enumerate((MemoryType.EPISODIC, MemoryType.SEMANTIC))
        ]
        found = to_compare(order, [sketch_of([*text]), Quotation("", frozenset(quoted))])
        assert len(found) == (2 if is_said else 0)
