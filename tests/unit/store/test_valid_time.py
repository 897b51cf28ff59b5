"""Valid time: what facts of one single-valued slot leave of each other, in any order of captures and retractions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slot_model import SlotModel

from stratagraph.store.model.valid_time import Cut, Interval, Side, restored, rule

NOW = datetime(2026, 6, 1, tzinfo=UTC)
EXAMPLES = settings(max_examples=150, deadline=None)


def day(number: int | None) -> datetime | None:
    return None if number is None else NOW + timedelta(days=number)


def days(start: int | None = None, end: int | None = None) -> Interval:
    return Interval(day(start), day(end))


bounds = st.none() | st.integers(-6, 6)
intervals = (
    st.tuples(bounds, bounds)
    .filter(lambda ends: ends[0] is None or ends[1] is None or ends[0] < ends[1])
    .map(lambda ends: days(*ends))
)


# A step is the validity of a new fact, or the place of a current fact to retract. The clock moves a day per step.
steps = st.lists(intervals | st.integers(0, 5), min_size=1, max_size=10)


def play(story: list[Interval | int]) -> SlotModel:
    slot = SlotModel()
    for number, step in enumerate(story):
        if isinstance(step, Interval):
            slot.capture(UUID(int=number), step, NOW + timedelta(hours=number))
        elif slot.facts:
            slot.remove(sorted(slot.facts)[step % len(slot.facts)])
    return slot


@EXAMPLES
@given(steps)
def test_current_facts_of_a_slot_never_hold_at_the_same_time(story: list[Interval | int]) -> None:
    for one, other in combinations(play(story).facts.values(), 2):
        assert not one.interval.overlaps(other.interval)


@EXAMPLES
@given(steps)
def test_an_effective_interval_is_not_empty_and_lies_within_the_stated_one(story: list[Interval | int]) -> None:
    for fact in play(story).facts.values():
        assert fact.interval.low < fact.interval.high
        assert fact.interval.is_within(fact.stated)


@EXAMPLES
@given(steps, intervals)
def test_the_newest_fact_that_says_it_holds_now_does(story: list[Interval | int], stated: Interval) -> None:
    slot, now, new = play(story), NOW + timedelta(days=2), UUID(int=1_000)
    slot.capture(new, stated, now)
    assert slot.facts[new].interval.holds_at(now) == stated.holds_at(now)


@EXAMPLES
@given(steps)
def test_what_a_fact_has_lost_is_remembered(story: list[Interval | int]) -> None:
    for fact in play(story).facts.values():
        assert fact.stated.cut(fact.cuts.values()) == fact.interval


@EXAMPLES
@given(steps)
def test_a_fact_that_is_left_alone_holds_as_it_states(story: list[Interval | int]) -> None:
    slot = play(story)
    if not slot.facts:
        return
    first = min(slot.facts)
    for other in sorted(slot.facts.keys() - {first}):
        slot.remove(other)
    assert slot.facts[first].interval == slot.facts[first].stated


@EXAMPLES
@given(intervals, intervals)
def test_retracting_a_fact_at_once_undoes_what_it_trimmed(old: Interval, new: Interval) -> None:
    slot, first, second = SlotModel(), UUID(int=1), UUID(int=2)
    slot.capture(first, old, NOW)
    slot.capture(second, new, NOW)
    if first in slot.facts:
        slot.remove(second)
        assert slot.facts[first].interval == old


@pytest.mark.parametrize(
    ("new", "old", "left_of_new", "left_of_old"),
    [
        (days(-3, -1), days(-2, -1), days(-3, -1), None),
        (days(-3, -1), days(-5), days(-3, -1), days(-1)),
        (days(-3, -1), days(-4, -2), days(-3, -1), days(-4, -3)),
        (days(-3, -1), days(-2, 0), days(-3, -1), days(-1, 0)),
        (days(-1), days(-3), days(-1), days(-3, -1)),
        (days(), days(-3), days(), None),
        (days(-1), days(), days(-1), None),
        (days(-3), days(-1), days(-3), None),
        (days(), days(-3, -1), days(-1), days(-3, -1)),
        (days(-4), days(-3, -1), days(-4), None),
        (days(-2), days(-3, -1), days(-2), days(-3, -2)),
        (days(-1), days(2, 4), days(-1, 2), days(2, 4)),
        (days(-1, 5), days(2, 4), days(-1, 5), None),
        (days(-1, 3), days(2, 4), days(-1, 3), days(3, 4)),
        (days(2), days(), days(2), days(end=2)),
        (days(2), days(3, 4), days(2), None),
        (days(2, 4), days(3), days(2, 4), days(4)),
    ],
    ids=str,
)
def test_each_row_of_the_table(new: Interval, old: Interval, left_of_new: Interval, left_of_old: Interval) -> None:
    ruling = rule(new, old, NOW)
    assert new.cut([ruling.cut_new] if ruling.cut_new else []) == left_of_new
    assert (None if ruling.supersedes else old.cut([ruling.cut_old] if ruling.cut_old else [])) == left_of_old


def test_a_restored_fact_ends_where_the_next_one_begins() -> None:
    near, far = UUID(int=1), UUID(int=2)
    interval, cuts = restored(days(-5), days(-5, -3), [], {near: days(1, 2), far: days(4)})
    assert interval == days(-5, 1)
    assert cuts == {near: Cut(Side.END, NOW + timedelta(days=1))}


def test_a_fact_in_dispute_does_not_cut_the_one_that_it_disputes() -> None:
    interval, cuts = restored(days(-5), days(-5, -3), [], {UUID(int=1): days(-4, 2)})
    assert (interval, cuts) == (days(-5), {})
