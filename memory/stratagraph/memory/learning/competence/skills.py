"""The payload of a skill, computed from what was observed of it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.memory.learning.plans.shapes import ordered_steps
from stratagraph.memory.learning.procedures.arguments import Argument, schema_of
from stratagraph.memory.learning.procedures.confidence import wilson_interval
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.errors import SHOWN_FAILURES
from stratagraph.memory.learning.procedures.guidance import guidance_of
from stratagraph.memory.learning.procedures.naming import described, signature, triggers_of
from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.reported import Reported

MIN_SUCCESSES = 2  # successes that a set of tools needs to become a skill


def skill_name(tools: tuple[str, ...]) -> str:
    """Return the name of the skill with these tools: `skill:a+b+c`."""
    return f"skill:{signature(tools)}"


def skill_payload(observed: Observation, effects: Mapping[str, Effect], reported: Reported) -> dict[str, Any]:
    """Return the payload of a skill, without its version. `effects` is what each tool does, as far as it is known."""
    recipe: list[dict[str, Any]] = []
    for tool, arguments, calls in _tools_in_order(observed):
        schema = schema_of(arguments, calls=calls, episodes=observed.episodes)
        earlier = [step["tool"] for step in recipe]
        step = {"step": described(tool, arguments), "tool": tool, "args_schema": schema}
        step |= guidance_of(tool, arguments, earlier, effects)
        effect = effects.get(tool, Effect.UNKNOWN)
        recipe.append(step if effect is Effect.UNKNOWN else step | {"effect": effect.value})
    successes = observed.successes + reported.successes
    failures = observed.failed + reported.failures
    performance: dict[str, Any] = {
        "success_count": successes,
        "failure_count": failures,
        "last_used_at": max(observed.last_at, reported.last_at),
    }
    if successes + failures:
        performance["success_rate"] = successes / (successes + failures)
        performance["success_rate_at_least"] = wilson_interval(successes, successes + failures)[0]
    if observed.timed:
        performance["avg_latency_ms"] = observed.latency_ms / observed.timed
    return {
        "kind": "competence",
        "skill_name": skill_name(observed.tools),
        "triggers": triggers_of(observed),
        "recipe": recipe,
        "required_tools": list(observed.tools),
        "failure_modes": [one.value for one in observed.failures.by_count()[:SHOWN_FAILURES]],
        "fallbacks": [one.value for one in observed.remedies.by_count()[:SHOWN_FAILURES]],
        "performance": performance,
    }


def is_new_version(payload: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether the recipe asks for other steps than the stored one: other tools, order or arguments.

    Values within the schema of an argument, and what was learned of failures, do not make a version.
    """
    return _outline(payload) != _outline(stored)


def _outline(payload: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (one.get("tool"), tuple(sorted((one.get("args_schema") or {}).get("required") or ())))
        for one in payload["recipe"]
    ]


def _tools_in_order(observed: Observation) -> list[tuple[str, Mapping[str, Argument], int]]:
    """Return the tools in the order of dependency, each with the arguments of all its steps and the number of calls."""
    arguments: dict[str, dict[str, Argument]] = {}
    calls: dict[str, int] = {}
    for name in ordered_steps(observed.steps):
        step = observed.steps[name]
        known = arguments.setdefault(step.tool, {})
        for path, one in step.arguments.items():
            known[path] = known[path].merged(one) if path in known else one
        calls[step.tool] = calls.get(step.tool, 0) + step.calls
    return [(tool, arguments[tool], calls[tool]) for tool in arguments]
