"""An event stands for the structural facts that quote it."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.quotations import MISSING, with_quoted
from stratagraph.memory.retrieve.rank import Why
from stratagraph.store.model.sketches import SKETCH, Sketch, sketch_of

words = st.sets(st.integers(1, 12), min_size=1).map(frozenset)
candidates = st.lists(st.tuples(st.booleans(), words, st.sampled_from([1, 3])), max_size=10)


def numbered(given_: list[tuple[bool, Sketch, int]], *, quoting: bool) -> dict[UUID, Sketch]:
    return {UUID(int=at): what for at, (is_fact, what, _) in enumerate(given_, 1) if is_fact is quoting}


@given(candidates)
def test_every_quotation_of_a_candidate_is_behind_it_at_the_better_place(
    given_: list[tuple[bool, Sketch, int]],
) -> None:
    order = [(UUID(int=at), 1 - at / 100) for at in range(1, 1 + len(given_))]
    why = {UUID(int=at): Why(covered=covered) for at, (*_, covered) in enumerate(given_, 1)}
    facts, events = numbered(given_, quoting=True), numbered(given_, quoting=False)
    kept, stands = with_quoted(order, {}, why, {}, facts, events)
    assert sorted([*dict(kept), *(one for others in stands.values() for one in others)]) == [id_ for id_, _ in order]
    for id_, score in kept:
        assert score == max(dict(order)[one] for one in (id_, *stands.get(id_, ())))
    assert [score for _, score in kept] == sorted((score for _, score in kept), reverse=True)
    for fact, said in facts.items():
        found = {
            event
            for event, text in events.items()
            if len({*said} - {*text}) <= MISSING * len(said) and not why[fact].covered & ~why[event].covered
        }
        assert (fact in dict(kept)) == (not found)
        assert all(fact not in stands.get(event, ()) for event in events.keys() - found)


def test_a_long_event_is_compared_by_its_sketch() -> None:
    event, fact = UUID(int=1), UUID(int=2)
    why = {event: Why(covered=1), fact: Why(covered=1)}
    text = range(0, 1_000, 5)
    known = SKETCH * 5
    for quoted, is_said in (
        (range(0, known, 20), True),
        (range(1, known, 20), False),
        ([*range(0, 15, 5), *range(known, 1_000, 20)], False),  # too few of its words lie where those of the event do
    ):
        kept, _ = with_quoted(
            [(event, 1.0), (fact, 0.5)], {}, why, {}, {fact: frozenset(quoted)}, {event: sketch_of([*text])}
        )
        assert len(kept) == (1 if is_said else 2)
