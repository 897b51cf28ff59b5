"""Recompute learned skills and plans without erased episodes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from stratagraph.memory.capture.caption import plan_caption, shortened, skill_caption
from stratagraph.memory.learning.competence.skills import skill_payload
from stratagraph.memory.learning.plans.plan_graphs import plan_payload
from stratagraph.memory.learning.procedures.effects import Effect
from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.reported import reported_of_plan, reported_of_skill


def without_episodes(content: Mapping[str, Any], episodes: Collection[str]) -> dict[str, Any] | None:
    """Return the content of a learned skill or plan without what only `episodes` showed; None if nothing is to change.

    `content` has the content columns of one version; `episodes` are ids. A state that cannot be read is removed, and
    the payload is left as it is, like a caller's.
    """
    payload, state = content["payload"], content["learned_state"]
    if state is None:
        return None
    before = Observation.of_state(state)
    if before is None:
        return {**content, "learned_state": None}
    if not before.rests_on(episodes):
        return None
    observed = before.forgetting(episodes)
    if payload["kind"] == "plan_graph":
        after = plan_payload(observed, _effects(payload["nodes"], "op"), reported_of_plan(payload, before))
    else:
        after = skill_payload(observed, _effects(payload["recipe"], "tool"), reported_of_skill(payload, before))
    if "version" in payload:
        after["version"] = payload["version"]
    name, text = (plan_caption if payload["kind"] == "plan_graph" else skill_caption)(after)
    return {**content, "payload": after, "name": shortened(name), "text": text, "learned_state": observed.as_json()}


def _effects(steps: Collection[Mapping[str, Any]], tool: str) -> dict[str, Effect]:
    """Return what the steps of a payload say of their tools."""
    return {one[tool]: Effect(one["effect"]) for one in steps if one.get("effect") in {*Effect}}
