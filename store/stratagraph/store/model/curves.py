"""Custom curves: by which functions of time, beside the built-in two, salience may fall. Pure.

A custom curve is a registered pair. Its Python half is here: the share that is left after a time, and in closed form
the time after which a share is left. Its SQL half is the function `curve_<name>(elapsed_s, half_life_s, params)`,
which a migration makes and `salience_at` calls; a test holds the two together. Every curve starts at 1 and never rises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stratagraph.store.model.errors import InvalidInput

Params = Mapping[str, Any]
MAX_BETA = 1e6  # exponent of the power law; a curve so steep is a step


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCurve:
    """One registered curve. Times are seconds; `params` are those of the record, checked by `check`.

    `seconds_until` may return infinity: then that share is left for ever.
    """

    name: str
    check: Callable[[Params, list[str]], None]
    retained: Callable[[float, float, Params], float]
    seconds_until: Callable[[float, float, Params], float]


def custom_curve(params: Params | None, *, path: list[str]) -> CustomCurve:
    """The curve that `params["name"]` names, a power law where it names none.

    Raises InvalidInput listing the registered curves where there is none of that name, and where a parameter is wrong.
    """
    given = params or {}
    name = given.get("name", POWER_LAW.name)
    curve = CURVES.get(name) if isinstance(name, str) else None
    if curve is None:
        where = [*path, "params", "name"]
        raise InvalidInput(
            f"{'.'.join(where)}: {name!r} is no registered curve; there are {', '.join(sorted(CURVES))}", path=where
        )
    curve.check(given, path)
    return curve


def _check_power_law(params: Params, path: list[str]) -> None:
    beta = params.get("beta", 1.0)
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 < beta < MAX_BETA:
        where = [*path, "params", "beta"]
        raise InvalidInput(f"{'.'.join(where)}: a number above 0 and below {MAX_BETA:g}", path=where)


def _power_law(elapsed_s: float, half_life_s: float, params: Params) -> float:
    return math.pow(1.0 + elapsed_s / half_life_s, -_beta(params))


def _power_law_until(share: float, half_life_s: float, params: Params) -> float:
    try:
        return half_life_s * (math.pow(share, -1.0 / _beta(params)) - 1.0)
    except OverflowError:
        return math.inf


def _beta(params: Params) -> float:
    return float(params.get("beta", 1.0))


# s·(1+Δ/τ)^−β with the half-life as τ and `beta` (1 unless given) as β: heavy-tailed, as forgetting is in people.
POWER_LAW = CustomCurve(name="power_law", check=_check_power_law, retained=_power_law, seconds_until=_power_law_until)

CURVES: dict[str, CustomCurve] = {curve.name: curve for curve in (POWER_LAW,)}
