"""Salience: how much a record matters now. A pure function of time (SPEC §2).

A record keeps the value `s` and the instant `t0` of its last salience event; what it is worth at another
instant follows from its curve. Nothing is swept, so a read is right whether or not a job has run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from stratagraph.store.enums import Curve, DeletionPolicy, MemoryType

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How salience falls. `half_life_s` in seconds, at least 1; `max_age_s` counts from the record's creation.

    The custom curve is a power law whose exponent is `params["beta"]`, a positive number.
    """

    curve: Curve = Curve.EXPONENTIAL
    half_life_s: float = DAY
    min_salience: float = 0.0
    max_age_s: float | None = None
    reinforcement_gain: float = REINFORCEMENT_GAIN
    params: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Salience:
    """The value `s` fixed at `t0`, and what becomes of it."""

    s: float
    t0: datetime
    created_at: datetime
    decay: Decay
    pinned: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.AUTO_PRUNE
    last_reinforced_at: datetime | None = None

    def at(self, instant: datetime) -> float:
        """The value at `instant`, in [0, 1]. Before `t0` it is `s`."""
        if self.pinned:
            return self.s
        decay = self.decay
        if decay.max_age_s is not None and (instant - self.created_at).total_seconds() > decay.max_age_s:
            return 0.0
        elapsed = max(0.0, (instant - self.t0).total_seconds())
        floor = min(decay.min_salience, self.s)
        return max(floor, self.s * _retained(decay, elapsed))

    def due_at(self) -> datetime | None:
        """When the record may be pruned: its value falls below PRUNE_BELOW. None if never by itself."""
        if self.pinned or self.deletion_policy is not DeletionPolicy.AUTO_PRUNE:
            return None
        by_age = _later(self.created_at, self.decay.max_age_s) if self.decay.max_age_s is not None else None
        if self.s < PRUNE_BELOW:
            return self.t0
        if min(self.decay.min_salience, self.s) >= PRUNE_BELOW:
            return by_age
        by_decay = _later(self.t0, _seconds_until(self.decay, PRUNE_BELOW / self.s))
        return min((instant for instant in (by_age, by_decay) if instant is not None), default=None)


def _later(instant: datetime, seconds: float) -> datetime | None:
    """None where that lies beyond the end of the calendar: a half-life of millennia never falls due."""
    try:
        return instant + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _retained(decay: Decay, elapsed: float) -> float:
    """The share of `s` that is left `elapsed` seconds later; 1 at 0 and never rising."""
    match decay.curve:
        case Curve.EXPONENTIAL:
            return math.exp2(-elapsed / decay.half_life_s)
        case Curve.LINEAR:
            return max(0.0, 1.0 - elapsed / (2.0 * decay.half_life_s))
        case Curve.CUSTOM:
            return math.pow(1.0 + elapsed / decay.half_life_s, -_beta(decay))


def _seconds_until(decay: Decay, share: float) -> float:
    """After how many seconds `share` of the value is left; the inverse of `_retained`."""
    match decay.curve:
        case Curve.EXPONENTIAL:
            return -decay.half_life_s * math.log2(share)
        case Curve.LINEAR:
            return 2.0 * decay.half_life_s * (1.0 - share)
        case Curve.CUSTOM:
            return decay.half_life_s * (math.pow(share, -1.0 / _beta(decay)) - 1.0)


def _beta(decay: Decay) -> float:
    """Exponent of the power law s·(1+Δ/τ)^−β, with the half-life as τ."""
    return float((decay.params or {}).get("beta", 1.0))


def reinforced(salience: Salience, at: datetime) -> float:
    return min(1.0, salience.at(at) + salience.decay.reinforcement_gain)
