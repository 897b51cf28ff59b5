"""Salience as a pure function of time: its start, its decay, and the instant at which a record is due."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.curves import CURVES, custom_curve
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.salience import (
    DAY,
    HALF_LIFE_S,
    HOUR,
    PRUNE_BELOW,
    Decay,
    Salience,
    penalized,
    pinned,
    reinforced,
    with_lifecycle,
    withdrawn,
)

EXAMPLES = settings(max_examples=80, deadline=None)
T0 = datetime(2026, 1, 28, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ROUNDING = 1e-12

curves = st.sampled_from(Curve)
elapsed = st.timedeltas(timedelta(0), timedelta(days=20_000))


@st.composite
def saliences(draw: st.DrawFn, *, pinned: bool = False, max_age: bool = True) -> Salience:
    curve = draw(curves)
    return Salience(
        s=draw(st.floats(0, 1)),
        t0=T0 + draw(elapsed),
        created_at=T0,
        decay=Decay(
            curve=curve,
            half_life_s=draw(st.floats(1, 1e8)),
            min_salience=draw(st.just(0.0) | st.floats(0, 0.002) | st.floats(0, 1)),
            max_age_s=draw(st.none() | st.floats(1, 1e9)) if max_age else None,
            reinforcement_gain=draw(st.floats(0, 2)),
            params=draw(st.none() | st.floats(0.05, 8).map(lambda beta: {"beta": beta})),
        ),
        pinned=pinned,
    )


def fresh(curve: Curve = Curve.EXPONENTIAL, *, s: float = 1.0, pinned: bool = False, **decay: Any) -> Salience:
    return Salience(
        s=s, t0=T0, created_at=T0, decay=Decay(curve=curve, **{"half_life_s": HOUR, **decay}), pinned=pinned
    )


def after(salience: Salience, seconds: float) -> float:
    return salience.at(salience.t0 + timedelta(seconds=seconds))


@EXAMPLES
@given(saliences(max_age=False))
def test_at_its_own_instant_the_value_is_s(salience: Salience) -> None:
    assert salience.at(salience.t0) == salience.s


@EXAMPLES
@given(saliences(max_age=False), elapsed)
def test_before_its_own_instant_the_value_is_s(salience: Salience, earlier: timedelta) -> None:
    assert salience.at(salience.t0 - earlier) == salience.s


@EXAMPLES
@given(saliences(), elapsed, elapsed)
def test_the_value_does_not_increase_without_an_event(salience: Salience, one: timedelta, other: timedelta) -> None:
    sooner, later = sorted((salience.t0 + one, salience.t0 + other))
    assert salience.at(later) <= salience.at(sooner) + ROUNDING


@EXAMPLES
@given(saliences(), elapsed)
def test_the_value_stays_between_0_and_s(salience: Salience, later: timedelta) -> None:
    assert 0.0 <= salience.at(salience.t0 + later) <= salience.s


@EXAMPLES
@given(saliences(max_age=False), elapsed)
def test_the_value_is_never_below_the_lower_of_floor_and_s(salience: Salience, later: timedelta) -> None:
    assert salience.at(salience.t0 + later) >= min(salience.decay.min_salience, salience.s)


@EXAMPLES
@given(saliences(pinned=True), elapsed)
def test_a_pinned_record_stays_at_s(salience: Salience, later: timedelta) -> None:
    assert salience.at(salience.t0 + later) == salience.s
    assert salience.due_at() is None


@EXAMPLES
@given(saliences(), st.lists(elapsed, max_size=5), elapsed)
def test_reading_the_value_changes_nothing(salience: Salience, reads: list[timedelta], later: timedelta) -> None:
    unread = replace(salience)
    values = [salience.at(salience.t0 + read) for read in reads]
    assert salience.at(salience.t0 + later) == unread.at(unread.t0 + later)
    assert [salience.at(salience.t0 + read) for read in reads] == values
    assert salience == unread


@EXAMPLES
@given(saliences(), elapsed)
def test_reinforcing_does_not_lower_the_value_nor_raise_it_above_1(salience: Salience, later: timedelta) -> None:
    at = salience.t0 + later
    assert salience.at(at) <= reinforced(salience, at).s <= 1.0


def test_reinforcing_adds_the_gain_to_the_current_value() -> None:
    assert reinforced(fresh(), T0 + timedelta(hours=1)).s == pytest.approx(0.6)
    assert reinforced(fresh(reinforcement_gain=0.25), T0 + timedelta(hours=2)).s == pytest.approx(0.5)


@pytest.mark.parametrize("half_life_s", [1.0, HOUR, DAY, 30 * DAY])
@pytest.mark.parametrize("s", [1.0, 0.3])
def test_exponential_halves_at_every_half_life(half_life_s: float, s: float) -> None:
    salience = fresh(half_life_s=half_life_s, s=s)
    assert after(salience, half_life_s) == pytest.approx(s / 2)
    assert after(salience, 3 * half_life_s) == pytest.approx(s / 8)


@pytest.mark.parametrize("half_life_s", [1.0, HOUR, DAY])
def test_linear_is_half_at_the_half_life_and_0_at_twice_that(half_life_s: float) -> None:
    salience = fresh(Curve.LINEAR, half_life_s=half_life_s)
    assert after(salience, half_life_s) == pytest.approx(0.5)
    assert after(salience, 1.999 * half_life_s) > 0.0
    assert after(salience, 2 * half_life_s) == 0.0
    assert after(salience, 20 * half_life_s) == 0.0


@pytest.mark.parametrize(("params", "share"), [(None, 1 / 4), ({"beta": 2}, 1 / 16), ({"beta": 0.5}, 1 / 2)])
def test_the_power_law_decays_by_its_exponent(params: dict[str, Any] | None, share: float) -> None:
    assert after(fresh(Curve.CUSTOM, params=params), 3 * HOUR) == pytest.approx(share)


@pytest.mark.parametrize("curve", Curve)
def test_past_its_maximum_age_a_record_has_salience_0(curve: Curve) -> None:
    salience = fresh(curve, max_age_s=60.0, min_salience=0.5)
    assert after(salience, 60) > 0.5
    assert after(salience, 60.000001) == 0.0


def test_the_maximum_age_counts_from_creation_not_from_the_last_event() -> None:
    salience = replace(fresh(max_age_s=3_600.0), t0=T0 + timedelta(minutes=59))
    assert salience.at(T0 + timedelta(minutes=60)) > 0.9
    assert salience.at(T0 + timedelta(minutes=60) + SECOND) == 0.0
    assert salience.due_at() == T0 + timedelta(hours=1) + RESOLUTION


def test_a_floor_above_s_does_not_raise_the_value() -> None:
    assert after(fresh(s=0.2, min_salience=0.9), 10 * HOUR) == 0.2


@EXAMPLES
@given(saliences())
def test_a_record_is_due_when_its_value_falls_below_the_threshold(salience: Salience) -> None:
    due = salience.due_at()
    assume(due is not None)
    assert due is not None
    assert salience.at(due) < PRUNE_BELOW
    if salience.s >= PRUNE_BELOW:
        assert salience.at(due - timedelta(milliseconds=1)) >= PRUNE_BELOW


@EXAMPLES
@given(saliences(), st.timedeltas(timedelta(milliseconds=1), timedelta(days=20_000)))
def test_the_value_is_not_below_the_threshold_before_the_due_instant(salience: Salience, earlier: timedelta) -> None:
    due = salience.due_at()
    assume(due is not None)
    assume(salience.s >= PRUNE_BELOW)
    assert due is not None
    assert salience.at(due - earlier) >= PRUNE_BELOW


@EXAMPLES
@given(saliences(), elapsed)
def test_a_record_without_a_due_instant_never_falls_below_the_threshold(salience: Salience, later: timedelta) -> None:
    if salience.due_at() is None:
        assert salience.at(salience.t0 + later) >= PRUNE_BELOW
    else:
        assert salience.at(datetime.max.replace(tzinfo=UTC)) < PRUNE_BELOW


@pytest.mark.parametrize("curve", Curve)
def test_every_curve_has_a_due_instant(curve: Curve) -> None:
    due = fresh(curve).due_at()
    assert due is not None
    assert fresh(curve).at(due - SECOND) > PRUNE_BELOW > fresh(curve).at(due + SECOND)


def test_a_record_below_the_threshold_is_due_at_once() -> None:
    assert fresh(s=0.000999).due_at() == T0


@pytest.mark.parametrize(
    "salience",
    [
        fresh(pinned=True),
        fresh(min_salience=PRUNE_BELOW),
        fresh(half_life_s=1e15),
        replace(fresh(), deletion_policy=DeletionPolicy.MANUAL_ONLY),
        replace(fresh(s=0.0), deletion_policy=DeletionPolicy.NEVER),
        replace(fresh(max_age_s=60.0), deletion_policy=DeletionPolicy.NEVER),
    ],
    ids=["pinned", "floor", "half-life of millennia", "manual only", "never", "never, although too old"],
)
def test_pinned_protected_and_floored_records_have_no_due_instant(salience: Salience) -> None:
    assert salience.due_at() is None


def test_a_floor_below_the_threshold_does_not_keep_a_record() -> None:
    due = fresh(min_salience=PRUNE_BELOW - 0.0001).due_at()
    assert due is not None
    assert fresh(min_salience=PRUNE_BELOW - 0.0001).at(due + SECOND) < PRUNE_BELOW


def test_every_type_has_a_half_life() -> None:
    assert HALF_LIFE_S.keys() == set(MemoryType)
    assert (HALF_LIFE_S[MemoryType.EPISODIC], HALF_LIFE_S[MemoryType.WORKING]) == (3_600, 86_400)
    assert {HALF_LIFE_S[kind] for kind in list(MemoryType)[2:]} == {30 * 86_400}


amounts = st.floats(0, 2) | st.just(0.0)
EVENTS: dict[str, Callable[[Salience, datetime, float], Salience]] = {
    "reinforced": lambda salience, at, _: reinforced(salience, at),
    "penalized": lambda salience, at, amount: penalized(salience, amount, at),
    "pinned": lambda salience, at, _: pinned(salience, True, at),
    "unpinned": lambda salience, at, _: pinned(salience, False, at),
    "faster": lambda salience, at, _: with_lifecycle(salience, Decay(half_life_s=60), salience.deletion_policy, at),
}


@EXAMPLES
@given(saliences() | saliences(pinned=True), elapsed, amounts)
def test_penalizing_does_not_raise_the_value_and_stops_at_the_floor(
    salience: Salience, later: timedelta, amount: float
) -> None:
    at = salience.t0 + later
    before, after_it = salience.at(at), penalized(salience, amount, at).s
    assert after_it == min(before, max(salience.decay.min_salience, before - amount))
    assert 0.0 <= after_it <= before


@pytest.mark.parametrize("amount", [-0.001, math.inf, -math.inf, math.nan])
def test_a_penalty_that_is_negative_or_not_finite_is_refused(amount: float) -> None:
    with pytest.raises(InvalidInput, match="amount"):
        penalized(fresh(), amount, T0)


def test_a_penalty_is_subtracted_from_the_current_value() -> None:
    penalized_once = penalized(fresh(min_salience=0.3), 0.1, T0 + timedelta(hours=1))
    assert penalized_once.s == pytest.approx(0.4)
    assert (penalized_once.t0, penalized_once.last_reinforced_at) == (T0 + timedelta(hours=1), None)
    assert penalized(penalized_once, 1.0, penalized_once.t0).s == 0.3
    assert penalized(fresh(s=0.2, min_salience=0.9), 0.1, T0).s == 0.2


def test_reinforcing_sets_the_time_of_the_event() -> None:
    at = T0 + timedelta(hours=1)
    event = reinforced(fresh(), at)
    assert (event.t0, event.last_reinforced_at, event.created_at) == (at, at, T0)


@EXAMPLES
@given(saliences(), elapsed, st.sampled_from(sorted(EVENTS)), amounts, elapsed)
def test_an_event_sets_the_value_at_its_instant_and_never_moves_t0_back(
    salience: Salience, later: timedelta, name: str, amount: float, earlier: timedelta
) -> None:
    at = salience.t0 + later
    event = EVENTS[name](salience, at, amount)
    assert event.t0 == at
    assert 0.0 <= event.s <= 1.0
    if name in {"pinned", "unpinned", "faster"}:
        assert event.s == salience.at(at)
    assert EVENTS[name](salience, salience.t0 - earlier, amount).t0 == salience.t0


@EXAMPLES
@given(saliences(), elapsed, elapsed)
def test_a_pin_fixes_the_value_and_unpinning_decays_from_there(
    salience: Salience, later: timedelta, longer: timedelta
) -> None:
    at = salience.t0 + later
    pinned_once = pinned(salience, True, at)
    value = salience.at(at)
    assert pinned_once.at(at + longer) == value
    unpinned = pinned(pinned_once, False, at + longer)
    assert (unpinned.s, unpinned.t0) == (value, at + longer)
    assert unpinned.at(unpinned.t0 + longer) <= value


def test_a_pin_overrides_the_maximum_age() -> None:
    pinned_once = pinned(fresh(max_age_s=60.0), True, T0 + timedelta(seconds=30))
    assert pinned_once.at(T0 + timedelta(days=30)) == pinned_once.s > 0.9
    assert pinned_once.due_at() is None
    unpinned = pinned(pinned_once, False, T0 + timedelta(days=30))
    assert unpinned.at(T0 + timedelta(days=30)) == 0.0
    assert unpinned.due_at() == T0 + timedelta(minutes=1) + RESOLUTION


def test_a_new_lifecycle_decays_from_the_current_value() -> None:
    at = T0 + timedelta(hours=1)
    slower = with_lifecycle(fresh(), Decay(half_life_s=DAY), DeletionPolicy.MANUAL_ONLY, at)
    assert slower.at(at) == pytest.approx(0.5)
    assert slower.at(at + timedelta(days=1)) == pytest.approx(0.25)
    assert slower.due_at() is None


@EXAMPLES
@given(saliences() | saliences(pinned=True), elapsed, elapsed)
def test_a_withdrawn_record_stays_at_0(salience: Salience, later: timedelta, longer: timedelta) -> None:
    withdrawn_once = withdrawn(salience, salience.t0 + later)
    assert withdrawn_once.at(withdrawn_once.t0 + longer) == 0.0


def test_a_withdrawn_record_is_due_when_a_new_one_would_be() -> None:
    at = T0 + timedelta(hours=9)
    withdrawn_once = withdrawn(fresh(), at)
    new = replace(fresh(), t0=at)
    assert withdrawn_once.due_at() == new.due_at()
    assert withdrawn(fresh(max_age_s=60.0), at).due_at() == T0 + timedelta(minutes=1) + RESOLUTION
    assert withdrawn(replace(fresh(), deletion_policy=DeletionPolicy.NEVER), at).due_at() is None


@EXAMPLES
@given(saliences(), st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), elapsed, amounts), max_size=6), elapsed)
def test_reading_between_events_does_not_change_the_values(
    salience: Salience, events: list[tuple[str, timedelta, float]], step: timedelta
) -> None:
    read_often = never_read = salience
    at = salience.t0
    for name, later, amount in events:
        for count in range(4):
            read_often.at(at + step * count)
            read_often.due_at()
        at += later
        read_often, never_read = EVENTS[name](read_often, at, amount), EVENTS[name](never_read, at, amount)
    assert read_often == never_read
    assert read_often.due_at() == never_read.due_at()


@pytest.mark.parametrize("name", ["unheard_of", "", 7, None])
def test_an_unregistered_custom_curve_is_refused_when_written(name: object) -> None:
    salience = fresh(Curve.CUSTOM, params={"name": name}, min_salience=1.0)
    for write in (salience.due_at, salience.decay.checked, replace(salience, pinned=True).due_at):
        with pytest.raises(InvalidInput, match="power_law"):
            write()
    with pytest.raises(InvalidInput, match="power_law"):
        with_lifecycle(fresh(), salience.decay, DeletionPolicy.AUTO_PRUNE, T0)


@pytest.mark.parametrize("beta", [0, -1, True, "1", None, math.inf, 1e6])
def test_the_power_law_needs_a_valid_exponent(beta: object) -> None:
    with pytest.raises(InvalidInput, match="beta"):
        custom_curve({"name": "power_law", "beta": beta}, path=["decay"])


@EXAMPLES
@given(st.sampled_from(sorted(CURVES)), st.floats(1, 1e8), st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0.001, 1))
def test_a_registered_curve_starts_at_1_never_increases_and_is_inverted_by_seconds_until(
    name: str, half_life_s: float, one: float, other: float, share: float
) -> None:
    curve = CURVES[name]
    sooner, later = sorted((one, other))
    assert curve.retained(0.0, half_life_s, {}) == 1.0
    assert curve.retained(later, half_life_s, {}) <= curve.retained(sooner, half_life_s, {}) + ROUNDING
    assert curve.retained(curve.seconds_until(share, half_life_s, {}), half_life_s, {}) == pytest.approx(share)


def test_a_power_law_too_flat_to_fade_before_the_year_9999_has_no_due_instant() -> None:
    assert fresh(Curve.CUSTOM, params={"beta": 1e-9}).due_at() is None
