"""Properties of the model's rule of valid time: what a new fact leaves of those that it contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from model.intervals import Interval, replace_at

from stratagraph.store.model import valid_time

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
_days = st.integers(-6, 6).map(lambda days: NOON + timedelta(days=days))


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    start, end = draw(st.none() | _days), draw(st.none() | _days)
    if start is not None and end is not None:
        start, end = min(start, end), max(start, end) + timedelta(hours=1)
    return Interval(start, end)


@dataclass
class Told:
    """A fact of a history: when it was told, what it states, and what is left of it (None: superseded)."""

    at: datetime
    stated: Interval
    left: Interval | None


def tell(facts: list[Told], stated: Interval, now: datetime) -> None:
    left = stated
    for fact in facts:
        if fact.left is None or not fact.left.overlaps(stated):
            continue
        new, fact.left = replace_at(stated, fact.left, now)
        left = left.cut(new)
    facts.append(Told(now, stated, left))


@given(new=intervals(), old=intervals(), now=_days)
def test_what_is_left_of_two_contradicting_facts_does_not_overlap(new: Interval, old: Interval, now: datetime) -> None:
    if not new.overlaps(old):
        return
    left, rest = replace_at(new, old, now)
    assert left.within(new)
    assert left.low < left.high
    assert rest is None or (rest.within(old) and rest.low < rest.high and not rest.overlaps(left))
    assert left.contains(now) == new.contains(now), "a replacement that holds now must hold"
    if rest is None:
        assert old.contains(now) or old.within(new)
    if new.is_future(now):
        assert rest is None or rest.contains(now) == old.contains(now), "a plan must not end the present"
        assert rest is not None or not old.contains(now)


@given(new=intervals(), old=intervals(), now=_days)
def test_the_store_rules_as_the_model_does(new: Interval, old: Interval, now: datetime) -> None:
    if not new.overlaps(old):
        return
    left, rest = replace_at(new, old, now)
    stated, effective = (valid_time.Interval(one.start, one.end) for one in (new, old))
    ruling = valid_time.rule(stated, effective, now)
    cuts = [[ruling.cut_new] if ruling.cut_new else [], [ruling.cut_old] if ruling.cut_old else []]
    found = [one.cut(by) for one, by in zip((stated, effective), cuts, strict=True)]
    assert (found[0].start, found[0].end) == (left.start, left.end)
    assert ruling.supersedes if rest is None else (found[1].start, found[1].end) == (rest.start, rest.end)


@given(stories=st.lists(st.tuples(intervals(), st.integers(0, 3)), min_size=1, max_size=6))
def test_after_any_history_of_replacements_at_most_one_fact_holds_at_an_instant(
    stories: list[tuple[Interval, int]],
) -> None:
    now = NOON - timedelta(days=4)
    facts: list[Told] = []
    for stated, days in stories:
        now += timedelta(days=days)
        tell(facts, stated, now)
        current = [fact.left for fact in facts if fact.left is not None]
        assert not any(one.overlaps(other) for one, other in combinations(current, 2))
        assert not stated.contains(now) or (facts[-1].left is not None and facts[-1].left.contains(now))
