"""Which names a plan or a skill is linked to: tools always, names in triggers where an entity has them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from strategies import payloads

from stratagraph.memory.capture.procedures import MAX_TOOLS, MAX_TRIGGER_NAMES, names_of_procedure
from stratagraph.store.model.enums import MemoryType

Json = dict[str, Any]


def tools(payload: Json, memory_type: MemoryType) -> list[str]:
    return [one.name for one in names_of_procedure(payload, memory_type) if one.predicate == "uses"]


def mentioned(payload: Json, memory_type: MemoryType) -> set[str]:
    return {one.name for one in names_of_procedure(payload, memory_type) if one.known_only}


@pytest.mark.parametrize(
    ("node", "tool"),
    [
        ({"op": "terraform"}, ["terraform"]),
        ({"op": "apply the plan"}, []),
        ({"op": "apply the plan", "params": {"tool": "terraform"}}, ["terraform"]),
        ({"op": "apply", "params": {"tool": "terraform"}}, ["terraform"]),
        ({"op": "apply", "params": {"tool": 7}}, ["apply"]),
        ({"op": "apply", "params": {"tool": " "}}, ["apply"]),
    ],
)
def test_the_tool_of_a_step_is_its_parameter_or_else_its_operation(node: Json, tool: list[str]) -> None:
    assert tools({"nodes": [{"id": "a", **node}, {"id": "b", **node}]}, MemoryType.PLAN_GRAPH) == tool


def test_a_skill_uses_the_tools_of_its_steps_and_those_it_requires() -> None:
    skill = {
        "triggers": [],
        "recipe": [{"step": "x", "tool": "shell"}, {"step": "y"}],
        "required_tools": ["bazel", "shell"],
    }
    assert tools(skill, MemoryType.COMPETENCE) == ["shell", "bazel"]


def test_signals_conditions_and_guards_name_entities() -> None:
    trigger = {
        "signal": "ld: cache of billing-api mismatch",
        "conditions": {"team": ["Platform Crew", {"os": "macOS"}]},
    }
    found = mentioned({"triggers": [trigger], "recipe": []}, MemoryType.COMPETENCE)
    assert {"billing-api", "Platform Crew", "macOS", "cache of billing-api"} <= found
    plan = {"nodes": [{"id": "a", "op": "x", "guards": {"env": "prod-eu"}}], "intent": "release Payment Hub"}
    assert {"prod-eu", "Payment Hub"} <= mentioned(plan, MemoryType.PLAN_GRAPH)


@pytest.mark.parametrize("memory_type", [MemoryType.EPISODIC, MemoryType.ENTITY, MemoryType.WORKING])
def test_other_records_name_nothing_here(memory_type: MemoryType) -> None:
    assert names_of_procedure({"nodes": [{"op": "x"}]}, memory_type) == []


@given(payload=payloads(MemoryType.PLAN_GRAPH) | payloads(MemoryType.COMPETENCE))
def test_the_names_of_any_procedure_are_bounded_and_never_blank(payload: Json) -> None:
    memory_type = MemoryType.PLAN_GRAPH if payload["kind"] == "plan_graph" else MemoryType.COMPETENCE
    found = names_of_procedure(payload, memory_type)
    assert len(found) <= MAX_TOOLS + MAX_TRIGGER_NAMES
    assert all(one.name.strip() for one in found)
