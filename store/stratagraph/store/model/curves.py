"""Custom curves: functions of time, besides the exponential and the linear one, by which salience may fall.

A custom curve has two halves. The Python half, here, gives the share that is left after a time, and in closed form the
time after which a share is left. The SQL half is the function `curve_<name>(elapsed_s, half_life_s, params)`, which a
migration makes and `salience_at` calls; a test compares the two. Every curve starts at 1 and never rises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

Params = Mapping[str, Any]
MAX_BETA = 1e6  # exclusive bound of the power law's exponent; so steep a curve is a step


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCurve:
    """One registered curve. Times are in seconds; `params` are the record's.

    `check(params, path)` raises InvalidInput for parameters that the curve cannot use. `retained(elapsed_s,
    half_life_s, params)` returns the share that is left. `seconds_until(share, half_life_s, params)` returns the time
    after which that share is left, or infinity if it never falls so low.
    """

    name: str
    check: Callable[[Params, list[str]], None]
    retained: Callable[[float, float, Params], float]
    seconds_until: Callable[[float, float, Params], float]


def custom_curve(params: Params | None, *, path: list[str]) -> CustomCurve:
    """Return the curve that `params["name"]` names; the power law if there is no name.

    Raises InvalidInput for an unknown name, listing the registered curves, and for an invalid parameter.
    """
    given = params or {}
    name = given.get("name", POWER_LAW.name)
    curve = CURVES.get(name) if isinstance(name, str) else None
    if curve is None:
        where = [*path, "params", "name"]
        raise InvalidInput(
            f"{'.'.join(where)}: {shown(name)} is not a registered curve; choose one of {', '.join(sorted(CURVES))}",
            path=where,
        )
    curve.check(given, path)
    return curve


def check_power_law(params: Params, path: list[str]) -> None:
    """Raise InvalidInput unless `beta` is above 0 and below MAX_BETA: at 0 or less the curve would not fall."""
    beta = params.get("beta", 1.0)
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 < beta < MAX_BETA:
        where = [*path, "params", "beta"]
        raise InvalidInput(
            f"{'.'.join(where)}: must be a number above 0 and below {MAX_BETA:g}, not {shown(beta)}", path=where
        )


def _power_law(elapsed_s: float, half_life_s: float, params: Params) -> float:
    return math.pow(1.0 + elapsed_s / half_life_s, -_beta(params))


def _power_law_until(share: float, half_life_s: float, params: Params) -> float:
    try:
        return half_life_s * (math.pow(share, -1.0 / _beta(params)) - 1.0)
    except OverflowError:
        return math.inf


def _beta(params: Params) -> float:
    return float(params.get("beta", 1.0))


# The power law of forgetting, (1 + Δ/τ)^−β, with the half-life as τ and `beta` (1 unless given) as β: Wickelgren,
# "Single-trace fragility theory of memory dynamics", Memory & Cognition 2, 1974. Its tail is heavier than exponential.
POWER_LAW = CustomCurve(name="power_law", check=check_power_law, retained=_power_law, seconds_until=_power_law_until)

CURVES: dict[str, CustomCurve] = {curve.name: curve for curve in (POWER_LAW,)}
