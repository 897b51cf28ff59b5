"""What skills and plans have in common: the tools that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.payloads.plan_graph import tool_of_step


def tools_used(payload: Mapping[str, Any], memory_type: MemoryType) -> list[str]:
    """Return the tools of a plan or a skill, each once, in the order of its steps; none for a record of another type.

    Tools are those of the steps (`tool` of a recipe step; `params.tool` of a plan's step, else its `op`, where that is
    one word) and `required_tools`.
    """
    match memory_type:
        case MemoryType.COMPETENCE:
            recipe = payload.get("recipe") or ()
            tools = [step.get("tool") for step in recipe] + list(payload.get("required_tools") or ())
        case MemoryType.PLAN_GRAPH:
            tools = [tool_of_step(step) for step in payload.get("nodes") or ()]
        case _:
            return []
    return list(dict.fromkeys(tool.strip() for tool in tools if isinstance(tool, str) and tool.strip()))
