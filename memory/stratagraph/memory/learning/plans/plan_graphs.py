"""The payload of a plan, computed from what was observed of it. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.memory.learning.plans.canonical import canonical
from stratagraph.memory.learning.plans.shapes import Shape, branches_of, critical_path, shape_of
from stratagraph.memory.learning.procedures.arguments import SAID, main_origin, schema_of
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.errors import SHOWN_FAILURES
from stratagraph.memory.learning.procedures.guidance import guidance_of
from stratagraph.memory.learning.procedures.naming import conditions_of, described, signature, triggers_of
from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.reported import Reported
from stratagraph.store.model.payloads.plan_graph import LEARNED_PLAN

LEAST_CALLS = 3  # of an episode whose tool graph is a plan; shorter ones are skills only
MAX_INTENT = 200  # characters


def plan_id(tools: tuple[str, ...]) -> str:
    """Return the id of the plan with these tools: `plan:a+b+c`."""
    return f"{LEARNED_PLAN}{signature(tools)}"


def plan_payload(observed: Observation, effects: Mapping[str, Effect], reported: Reported) -> dict[str, Any]:
    """Return the payload of a plan, without its version. `effects` is what each tool does, as far as it is known.

    Besides the schema's fields, a step has `share`, the share of the merged episodes that took it, `effect` where that
    is known, and what `guidance` says of it; a link has its `share`; `branches` lists where episodes diverged, and
    `critical_path` the steps that take longest. `fallbacks` are remedies of failures.
    """
    shape = shape_of(observed)
    path, expected_ms = critical_path(shape, observed.steps)
    executions = observed.episodes + reported.failures + reported.others
    metrics: dict[str, Any] = {
        "execution_count": executions,
        "failure_rate": (observed.failed + reported.failures) / executions,
        "last_executed_at": max(observed.last_at, reported.last_at),
    }
    if observed.timed:
        metrics["avg_latency_ms"] = observed.latency_ms / observed.timed
    conditions = conditions_of(observed)
    triggers = triggers_of(observed)
    stated = {one.text for one in observed.tasks}
    payload = {
        "kind": "plan_graph",
        "plan_id": plan_id(observed.tools),
        "intent": stated.pop()[:MAX_INTENT] if len(stated) == 1 else None,
        "nodes": [_node(name, shape, observed, effects, reported) for name in shape.order],
        "edges": [
            {"from": source, "to": target, "kind": kind, "share": count / shape.taken[source]}
            for (source, target), (kind, count) in shape.links.items()
        ],
        "constraints": conditions or None,
        "inputs_schema": _inputs(observed),
        "metrics": metrics,
        "triggers": triggers,
        "branches": branches_of(shape) or None,
        "critical_path": {"steps": list(path), "expected_latency_ms": expected_ms} if path else None,
        "failure_modes": [one.value for one in observed.failures.by_count()[:SHOWN_FAILURES]] or None,
        "fallbacks": [one.value for one in observed.remedies.by_count()[:SHOWN_FAILURES]] or None,
    }
    return {key: value for key, value in payload.items() if value is not None}


def structure_of(payload: Mapping[str, Any]) -> object:
    """Return what is equal for the payloads of two plans exactly if their steps and links are the same but for names.

    Steps are distinguished by their tools, links by their kinds.
    """
    labels = {node["id"]: (node.get("params") or {}).get("tool") or node["op"] for node in payload["nodes"]}
    return canonical(labels, [(edge["from"], edge["to"], edge["kind"]) for edge in payload["edges"]]).form


def _node(
    name: str, shape: Shape, observed: Observation, effects: Mapping[str, Effect], reported: Reported
) -> dict[str, Any]:
    step = observed.steps[name]
    more, more_failed = reported.steps.get(name, (0, 0))
    node: dict[str, Any] = {
        "id": name,
        "op": shape.tools[name],
        "label": described(step.tool, step.arguments),
        "params": {
            "tool": step.tool,
            "args_schema": schema_of(step.arguments, calls=step.calls, episodes=step.executions),
        },
        "metrics": {
            "execution_count": step.executions + more,
            "failure_count": step.failures + more_failed,
            "call_count": step.calls,
            "failed_call_count": step.failed_calls,
        },
        "share": shape.taken[name] / shape.episodes,
        **guidance_of(step.tool, step.arguments, _earlier(name, shape), effects),
    }
    if step.timed:
        node["metrics"]["avg_latency_ms"] = step.latency_ms / step.timed
    effect = effects.get(step.tool, Effect.UNKNOWN)
    return node if effect is Effect.UNKNOWN else node | {"effect": effect.value}


def _earlier(name: str, shape: Shape) -> list[str]:
    """Return the tools of the steps from which links lead to a step, directly or over others, in their order."""
    before, waiting = set[str](), [name]
    while waiting:
        at = waiting.pop()
        found = {source for source, target in shape.links if target == at} - before
        before |= found
        waiting += found
    return [shape.tools[one] for one in shape.order if one in before]


def _inputs(observed: Observation) -> dict[str, Any] | None:
    """Return the schema of what the user must say: the arguments that mostly came from their words."""
    properties: dict[str, Any] = {}
    for name in sorted(observed.steps):
        for path, one in observed.steps[name].arguments.items():
            if main_origin(one) == SAID:
                types = sorted({shown.value for shown in one.types.values})
                properties.setdefault(path, {"type": types[0] if len(types) == 1 else types})
    return {"type": "object", "properties": properties} if properties else None
