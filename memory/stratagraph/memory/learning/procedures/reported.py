"""The outcomes that callers reported for a skill or plan, in addition to its episodes. No I/O.

`reportOutcome` counts into the same numbers of a payload as learning does. What it counted is the difference between
these numbers and the observation that the payload holds, and is kept when the payload is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stratagraph.memory.learning.procedures.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """Reported successes and failures, other executions of a plan, and executions and failures by step.

    `latency_ms` is the mean over all executions as it was reported last, None if it never was.
    """

    successes: int = 0
    failures: int = 0
    others: int = 0
    steps: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    last_at: str = ""


NOTHING = Reported()


def reported_of_skill(payload: Mapping[str, Any], observed: Observation) -> Reported:
    """Return what was reported of a skill whose payload was computed from `observed`."""
    counted = payload.get("performance") or {}
    return Reported(
        successes=max(0, (counted.get("success_count") or 0) - observed.successes),
        failures=max(0, (counted.get("failure_count") or 0) - observed.failed),
        last_at=counted.get("last_used_at") or "",
    )


def reported_of_plan(payload: Mapping[str, Any], observed: Observation) -> Reported:
    """Return what was reported of a plan whose payload was computed from `observed`."""
    counted = payload.get("metrics") or {}
    executions = max(0, (counted.get("execution_count") or 0) - observed.episodes)
    failed = round((counted.get("failure_rate") or 0.0) * (counted.get("execution_count") or 0))
    failures = min(executions, max(0, failed - observed.failed))
    steps = {}
    for node in payload.get("nodes") or ():
        known, metrics = observed.steps.get(node["id"]), node.get("metrics") or {}
        if known is not None:
            more = (metrics.get("execution_count") or 0) - known.executions
            steps[node["id"]] = (max(0, more), max(0, (metrics.get("failure_count") or 0) - known.failures))
    return Reported(
        failures=failures,
        others=executions - failures,
        steps=steps,
        last_at=counted.get("last_executed_at") or "",
    )
