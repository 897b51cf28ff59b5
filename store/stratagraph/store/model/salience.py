"""Salience: how much a record matters now. A pure function of time (SPEC §2).

A record keeps the value `s` and the instant `t0` of its last salience event; what it is worth at another
instant follows from its curve. Nothing is swept, so a read is always right, whether or not a job has run. Each event
returns the record's new `Salience`, fixed at the event's instant; the same arithmetic is in the database as
`salience_at`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from stratagraph.store.model.curves import CustomCurve, custom_curve
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType
from stratagraph.store.model.errors import InvalidInput

PRUNE_BELOW = 0.001
HOUR = 3_600.0  # seconds
DAY = 24 * HOUR

HALF_LIFE_S: dict[MemoryType, float] = {
    MemoryType.EPISODIC: HOUR,
    MemoryType.WORKING: DAY,
    MemoryType.ENTITY: 30 * DAY,
    MemoryType.SEMANTIC: 30 * DAY,
    MemoryType.COMPETENCE: 30 * DAY,
    MemoryType.PLAN_GRAPH: 30 * DAY,
}
REINFORCEMENT_GAIN = 0.1
_DECAY_PATH = ["lifecycle", "decay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How salience falls. `half_life_s` in seconds, at least 1; `max_age_s` counts from the record's creation.

    With the custom curve, `params` name a registered one and hold its parameters (see `curves`).
    """

    curve: Curve = Curve.EXPONENTIAL
    half_life_s: float = DAY
    min_salience: float = 0.0
    max_age_s: float | None = None
    reinforcement_gain: float = REINFORCEMENT_GAIN
    params: dict[str, Any] | None = None

    def checked(self) -> Decay:
        """The decay itself. Raises InvalidInput for a custom curve that is not registered or has a bad parameter."""
        if self.curve is Curve.CUSTOM:
            custom_curve(self.params, path=_DECAY_PATH)
        return self

    @property
    def _custom(self) -> CustomCurve:
        return custom_curve(self.params, path=_DECAY_PATH)

    def retained(self, elapsed_s: float) -> float:
        """The share of `s` that is left `elapsed_s` seconds later; 1 at 0 and never rising."""
        match self.curve:
            case Curve.EXPONENTIAL:
                return math.exp2(-elapsed_s / self.half_life_s)
            case Curve.LINEAR:
                return max(0.0, 1.0 - elapsed_s / self.half_life_s / 2.0)
            case Curve.CUSTOM:
                return self._custom.retained(elapsed_s, self.half_life_s, self.params or {})

    def seconds_until(self, share: float) -> float:
        """After how many seconds `share` of the value is left; infinity if never. The inverse of `retained`."""
        match self.curve:
            case Curve.EXPONENTIAL:
                return -self.half_life_s * math.log2(share)
            case Curve.LINEAR:
                return 2.0 * self.half_life_s * (1.0 - share)
            case Curve.CUSTOM:
                return self._custom.seconds_until(share, self.half_life_s, self.params or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Salience:
    """The value `s` fixed at `t0`, and what becomes of it.

    `is_withdrawn` is true of superseded and retracted records: they are worth nothing and stay as history for as long
    as a new record would take to fade.
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
        """The value at `instant`, in [0, 1]. Before `t0` it is `s`. A pin wins over the maximum age."""
        if self.pinned:
            return self.s
        decay = self.decay
        if decay.max_age_s is not None and (instant - self.created_at).total_seconds() > decay.max_age_s:
            return 0.0
        elapsed = max(0.0, (instant - self.t0).total_seconds())
        floor = min(decay.min_salience, self.s)
        return max(floor, self.s * decay.retained(elapsed))

    def due_at(self) -> datetime | None:
        """From when on the record may be pruned: the first instant, to the microsecond, at which its value is below
        PRUNE_BELOW. Never early. None if never by itself.

        Raises InvalidInput for a custom curve that is not registered; whoever writes a record asks, so none is stored.
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
        """`estimate`, or the instant soon after it from which on the value really is below: logarithms round."""
        step = timedelta(microseconds=1)
        try:
            while self.at(estimate) >= PRUNE_BELOW:
                estimate += step
                step *= 2
        except OverflowError:
            return None
        return estimate

    def fixed(self, at: datetime) -> Salience:
        """The same, with the value of `at` fixed there. Time never runs backwards from one event to the next."""
        at = max(at, self.t0)
        return replace(self, s=self.at(at), t0=at)


def reinforced(salience: Salience, at: datetime) -> Salience:
    """It was useful: the value of now and the gain on top, at most 1. The caller refuses what was withdrawn."""
    fixed = salience.fixed(at)
    return replace(fixed, s=min(1.0, fixed.s + salience.decay.reinforcement_gain), last_reinforced_at=fixed.t0)


def penalized(salience: Salience, amount: float, at: datetime) -> Salience:
    """It did harm: the value of now less `amount`, but not below the floor, and never more than it was.

    Raises InvalidInput unless `amount` is finite and at least 0.
    """
    if not (math.isfinite(amount) and amount >= 0):
        raise InvalidInput(f"amount: {amount} is not a finite number of at least 0", path=["amount"])
    fixed = salience.fixed(at)
    return replace(fixed, s=min(fixed.s, max(salience.decay.min_salience, fixed.s - amount)))


def pinned(salience: Salience, is_pinned: bool, at: datetime) -> Salience:
    """Held at the value of now, or let go from it. One past its maximum age is worth nothing again once let go."""
    return replace(salience.fixed(at), pinned=is_pinned)


def with_lifecycle(salience: Salience, decay: Decay, policy: DeletionPolicy, at: datetime) -> Salience:
    """From now on it falls by `decay` from the value of now. Raises InvalidInput for an unregistered custom curve."""
    return replace(salience.fixed(at), decay=decay.checked(), deletion_policy=policy)


def withdrawn(salience: Salience, at: datetime) -> Salience:
    """Superseded or retracted: it stays at 0, whatever happens, and is history."""
    return replace(salience.fixed(at), s=0.0, is_withdrawn=True)


def _later(instant: datetime, seconds: float | None) -> datetime | None:
    """Rounded up to the microsecond. None beyond the end of the calendar: a half-life of millennia never falls due."""
    if seconds is None:
        return None
    try:
        return instant + timedelta(microseconds=math.ceil(seconds * 1e6))
    except OverflowError:
        return None
