"""Salience: how much a record matters at an instant, in [0, 1]. See docs/specification.md, Salience.

A record stores the value `s` and the instant `t0` of its last salience event; the value at any other instant is
computed from its curve. No job writes decayed values, so a read is right whether or not a job has run. Each event is a
function that returns the record's new `Salience`, fixed at the event's instant. The database computes the same value
with `salience_at`, to 1e-12.

For Δ seconds since `t0` and a half-life of H seconds, an exponential curve leaves the share 2^(−Δ/H) of `s` and a
linear one max(0, 1 − Δ/(2H)), so that both leave a half at Δ = H. For custom curves see `curves`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from stratagraph.store.model.curves import CustomCurve, custom_curve
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType
from stratagraph.store.model.errors import InvalidInput

PRUNE_BELOW = 0.001  # salience; a record below it may be pruned
HOUR = 3_600.0  # seconds
DAY = 24 * HOUR

HALF_LIFE_S: dict[MemoryType, float] = {  # seconds, for a record that brings no lifecycle of its own
    MemoryType.EPISODIC: HOUR,
    MemoryType.WORKING: DAY,
    MemoryType.ENTITY: 30 * DAY,
    MemoryType.SEMANTIC: 30 * DAY,
    MemoryType.COMPETENCE: 30 * DAY,
    MemoryType.PLAN_GRAPH: 30 * DAY,
}
REINFORCEMENT_GAIN = 0.1  # added to the salience by each reinforcement, unless the record says otherwise
_DECAY_PATH = ["lifecycle", "decay"]


def salience_at(
    instant: datetime,
    *,
    s: float,
    t0: datetime,
    created_at: datetime,
    pinned: bool,
    curve: Curve,
    half_life_s: float,
    min_salience: float,
    max_age_s: float | None,
    params: dict[str, Any] | None,
) -> float:
    """Return the salience of a record at `instant`, in [0, 1]; before `t0` it is `s`. See Salience and Decay.

    For the hundreds of records that one retrieval ranks, of which it builds no `Salience`.
    """
    if pinned:
        return s
    if max_age_s is not None and (instant - created_at).total_seconds() > max_age_s:
        return 0.0
    elapsed_s = max(0.0, (instant - t0).total_seconds())
    return max(min(min_salience, s), s * _retained(elapsed_s, curve, half_life_s, params))


def _retained(elapsed_s: float, curve: Curve, half_life_s: float, params: dict[str, Any] | None) -> float:
    match curve:
        case Curve.EXPONENTIAL:
            return math.exp2(-elapsed_s / half_life_s)
        case Curve.LINEAR:
            return max(0.0, 1.0 - elapsed_s / half_life_s / 2.0)
        case Curve.CUSTOM:
            return custom_curve(params, path=_DECAY_PATH).retained(elapsed_s, half_life_s, params or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How salience falls over time.

    `half_life_s` and `max_age_s` are in seconds, at least 1; `max_age_s` counts from the record's creation, and after
    it the salience is 0. `min_salience` is a floor in [0, 1], which never raises a value. `params` are for the custom
    curve only: the name of a registered curve and its parameters (see `curves`).
    """

    curve: Curve = Curve.EXPONENTIAL
    half_life_s: float = DAY
    min_salience: float = 0.0
    max_age_s: float | None = None
    reinforcement_gain: float = REINFORCEMENT_GAIN
    params: dict[str, Any] | None = None

    def checked(self) -> Decay:
        """Return this decay unchanged; raise InvalidInput for a custom curve of unknown name or invalid parameter."""
        if self.curve is Curve.CUSTOM:
            custom_curve(self.params, path=_DECAY_PATH)
        return self

    @property
    def _custom(self) -> CustomCurve:
        return custom_curve(self.params, path=_DECAY_PATH)

    def retained(self, elapsed_s: float) -> float:
        """Return the share of `s` that is left after `elapsed_s` seconds. It is 1 at 0 s and never rises."""
        return _retained(elapsed_s, self.curve, self.half_life_s, self.params)

    def seconds_until(self, share: float) -> float:
        """Return the seconds after which `share` of the value is left; infinity if never. The inverse of `retained`."""
        match self.curve:
            case Curve.EXPONENTIAL:
                return -self.half_life_s * math.log2(share)
            case Curve.LINEAR:
                return 2.0 * self.half_life_s * (1.0 - share)
            case Curve.CUSTOM:
                return self._custom.seconds_until(share, self.half_life_s, self.params or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Salience:
    """The salience of one record: the value `s` at the instant `t0`, and how it changes from there.

    `is_withdrawn` is true for superseded and retracted records. Their salience is 0, and they are kept as history for
    as long as a record with salience 1 would take to fade.
    """

    s: float
    t0: datetime
    created_at: datetime
    decay: Decay
    pinned: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.AUTO_PRUNE
    last_reinforced_at: datetime | None = None
    is_withdrawn: bool = False

    def at(self, instant: datetime) -> float:
        """Return the value at `instant`, in [0, 1]. Before `t0` it is `s`. A pin overrides the maximum age."""
        return salience_at(
            instant,
            s=self.s,
            t0=self.t0,
            created_at=self.created_at,
            pinned=self.pinned,
            curve=self.decay.curve,
            half_life_s=self.decay.half_life_s,
            min_salience=self.decay.min_salience,
            max_age_s=self.decay.max_age_s,
            params=self.decay.params,
        )

    def due_at(self) -> datetime | None:
        """Return the instant from which the record may be pruned; None if it never becomes due by time alone.

        That is the first instant, to the microsecond, at which the value is below PRUNE_BELOW; it is never too early.
        Raises InvalidInput for a custom curve with an unknown name or an invalid parameter. Every write of a record
        calls this, so no such curve is stored.
        """
        self.decay.checked()
        if self.pinned or self.deletion_policy is not DeletionPolicy.AUTO_PRUNE:
            return None
        if self.is_withdrawn:
            return replace(self, s=1.0, is_withdrawn=False).due_at()
        if self.s < PRUNE_BELOW:
            return self.t0
        by_age = _later(self.created_at, self.decay.max_age_s)
        by_decay = None
        if min(self.decay.min_salience, self.s) < PRUNE_BELOW:
            by_decay = _later(self.t0, self.decay.seconds_until(PRUNE_BELOW / self.s))
        estimate = min((instant for instant in (by_age, by_decay) if instant is not None), default=None)
        return self._first_below(estimate) if estimate is not None else None

    def _first_below(self, estimate: datetime) -> datetime | None:
        """Return `estimate`, or the next instant tried at which the value is below PRUNE_BELOW: logarithms round."""
        step = timedelta(microseconds=1)
        try:
            while self.at(estimate) >= PRUNE_BELOW:
                estimate += step
                step *= 2
        except OverflowError:
            return None
        return estimate

    def fixed(self, at: datetime) -> Salience:
        """Return the same salience with `t0` moved to `at` and `s` to the value there. `t0` never moves backwards."""
        at = max(at, self.t0)
        return replace(self, s=self.at(at), t0=at)


def reinforced(salience: Salience, at: datetime) -> Salience:
    """Return the salience after a reinforcement: the value at `at` plus the gain, at most 1.

    Callers refuse to reinforce a withdrawn record.
    """
    fixed = salience.fixed(at)
    return replace(fixed, s=min(1.0, fixed.s + salience.decay.reinforcement_gain), last_reinforced_at=fixed.t0)


def penalized(salience: Salience, amount: float, at: datetime) -> Salience:
    """Return the salience after a penalty: the value at `at` less `amount`, not below the floor, and never raised.

    Raises InvalidInput unless `amount` is finite and at least 0.
    """
    if not (math.isfinite(amount) and amount >= 0):
        raise InvalidInput(f"amount: {amount} is not a finite number of at least 0", path=["amount"])
    fixed = salience.fixed(at)
    return replace(fixed, s=min(fixed.s, max(salience.decay.min_salience, fixed.s - amount)))


def pinned(salience: Salience, is_pinned: bool, at: datetime) -> Salience:
    """Return the salience pinned at its value at `at`, or unpinned and falling from it.

    A record past its maximum age has salience 0 again as soon as it is unpinned.
    """
    return replace(salience.fixed(at), pinned=is_pinned)


def with_lifecycle(salience: Salience, decay: Decay, policy: DeletionPolicy, at: datetime) -> Salience:
    """Return the salience with another decay and deletion policy, falling from its value at `at`.

    Raises InvalidInput for a custom curve with an unknown name or an invalid parameter.
    """
    return replace(salience.fixed(at), decay=decay.checked(), deletion_policy=policy)


def withdrawn(salience: Salience, at: datetime) -> Salience:
    """Return the salience of a record that was superseded or retracted: 0 from `at` on."""
    return replace(salience.fixed(at), s=0.0, is_withdrawn=True)


def of_task(salience: Salience, *, is_done: bool, at: datetime) -> Salience | None:
    """Return the salience of a working record whose task is done at `at`, or goes on; None if it does not change.

    That of a done task is 0, so that the record may be pruned at once; where it goes on after that, it is 1 again. A
    pinned record keeps its value.
    """
    if salience.pinned or is_done is (salience.s == 0.0):
        return None
    return replace(salience.fixed(at), s=0.0 if is_done else 1.0)


def _later(instant: datetime, seconds: float | None) -> datetime | None:
    """Return `instant` plus `seconds`, rounded up to the microsecond; None for None or beyond the year 9999."""
    if seconds is None:
        return None
    try:
        return instant + timedelta(microseconds=math.ceil(seconds * 1e6))
    except OverflowError:
        return None
