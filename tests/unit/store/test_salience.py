"""Salience is a pure function of time: where it starts, how it falls, when it falls due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stratagraph.store.enums import Curve, DeletionPolicy, MemoryType
from stratagraph.store.salience import DAY, HALF_LIFE_S, HOUR, PRUNE_BELOW, Decay, Salience, reinforced

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
def test_the_value_never_rises_by_itself(salience: Salience, one: timedelta, other: timedelta) -> None:
    sooner, later = sorted((salience.t0 + one, salience.t0 + other))
    assert salience.at(later) <= salience.at(sooner) + ROUNDING


@EXAMPLES
@given(saliences(), elapsed)
def test_the_value_stays_between_0_and_s(salience: Salience, later: timedelta) -> None:
    assert 0.0 <= salience.at(salience.t0 + later) <= salience.s


@EXAMPLES
@given(saliences(max_age=False), elapsed)
def test_the_floor_holds_but_never_lifts_above_s(salience: Salience, later: timedelta) -> None:
    assert salience.at(salience.t0 + later) >= min(salience.decay.min_salience, salience.s)


@EXAMPLES
@given(saliences(pinned=True), elapsed)
def test_a_pinned_record_stays_at_s(salience: Salience, later: timedelta) -> None:
    assert salience.at(salience.t0 + later) == salience.s
    assert salience.due_at() is None


@EXAMPLES
@given(saliences(), st.lists(elapsed, max_size=5), elapsed)
def test_reading_in_between_changes_nothing(salience: Salience, reads: list[timedelta], later: timedelta) -> None:
    unread = replace(salience)
    values = [salience.at(salience.t0 + read) for read in reads]
    assert salience.at(salience.t0 + later) == unread.at(unread.t0 + later)
    assert [salience.at(salience.t0 + read) for read in reads] == values
    assert salience == unread


@EXAMPLES
@given(saliences(), elapsed)
def test_reinforcing_never_lowers_and_never_passes_1(salience: Salience, later: timedelta) -> None:
    at = salience.t0 + later
    assert salience.at(at) <= reinforced(salience, at) <= 1.0


def test_reinforcing_adds_the_gain_to_the_value_of_now() -> None:
    assert reinforced(fresh(), T0 + timedelta(hours=1)) == pytest.approx(0.6)
    assert reinforced(fresh(reinforcement_gain=0.25), T0 + timedelta(hours=2)) == pytest.approx(0.5)


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
def test_the_power_law_falls_by_its_exponent(params: dict[str, Any] | None, share: float) -> None:
    assert after(fresh(Curve.CUSTOM, params=params), 3 * HOUR) == pytest.approx(share)


@pytest.mark.parametrize("curve", Curve)
def test_past_its_maximum_age_a_record_is_worth_nothing(curve: Curve) -> None:
    salience = fresh(curve, max_age_s=60.0, min_salience=0.5)
    assert after(salience, 60) > 0.5
    assert after(salience, 60.000001) == 0.0


def test_the_maximum_age_counts_from_creation_not_from_the_last_event() -> None:
    salience = replace(fresh(max_age_s=3_600.0), t0=T0 + timedelta(minutes=59))
    assert salience.at(T0 + timedelta(minutes=60)) > 0.9
    assert salience.at(T0 + timedelta(minutes=60) + SECOND) == 0.0
    assert salience.due_at() == T0 + timedelta(hours=1)


def test_a_floor_above_s_does_not_lift_it() -> None:
    assert after(fresh(s=0.2, min_salience=0.9), 10 * HOUR) == 0.2


@EXAMPLES
@given(saliences())
def test_a_record_falls_due_when_its_value_passes_below_the_threshold(salience: Salience) -> None:
    due = salience.due_at()
    assume(due is not None)
    assert due is not None
    assert salience.at(due + SECOND) < PRUNE_BELOW
    if salience.s >= PRUNE_BELOW:
        assert salience.at(due - SECOND) >= PRUNE_BELOW


@EXAMPLES
@given(saliences(), elapsed)
def test_a_record_that_never_falls_due_never_falls_below_the_threshold(salience: Salience, later: timedelta) -> None:
    if salience.due_at() is None:
        assert salience.at(salience.t0 + later) >= PRUNE_BELOW
    else:
        assert salience.at(datetime.max.replace(tzinfo=UTC)) < PRUNE_BELOW


@pytest.mark.parametrize("curve", Curve)
def test_every_curve_falls_due_by_itself(curve: Curve) -> None:
    due = fresh(curve).due_at()
    assert due is not None
    assert fresh(curve).at(due - SECOND) > PRUNE_BELOW > fresh(curve).at(due + SECOND)


def test_what_is_already_below_the_threshold_is_due_at_once() -> None:
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
def test_some_records_never_fall_due(salience: Salience) -> None:
    assert salience.due_at() is None


def test_a_floor_below_the_threshold_does_not_keep_a_record() -> None:
    due = fresh(min_salience=PRUNE_BELOW - 0.0001).due_at()
    assert due is not None
    assert fresh(min_salience=PRUNE_BELOW - 0.0001).at(due + SECOND) < PRUNE_BELOW


def test_every_type_has_its_half_life() -> None:
    assert HALF_LIFE_S.keys() == set(MemoryType)
    assert (HALF_LIFE_S[MemoryType.EPISODIC], HALF_LIFE_S[MemoryType.WORKING]) == (3_600, 86_400)
    assert {HALF_LIFE_S[kind] for kind in list(MemoryType)[2:]} == {30 * 86_400}
