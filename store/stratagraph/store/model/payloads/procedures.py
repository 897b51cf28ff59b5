"""What skills and plans have in common: the tools that they use, and the keys that only the service writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.plan_graph import tool_of_step

# Keys of a payload, and of the entries of its lists, that only learning and reported outcomes write.
COMPUTED = {
    MemoryType.COMPETENCE: {"": ("learned",), "recipe": ("effect", "share", "metrics")},
    MemoryType.PLAN_GRAPH: {
        "": ("learned", "composed", "derived_from"),
        "nodes": ("effect", "share", "metrics"),
        "edges": ("share",),
    },
}


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


def without_computed(payload: Mapping[str, Any], memory_type: MemoryType) -> dict[str, Any]:
    """Return the payload without the keys that the service computes, which a caller may not give."""
    known = dict(payload)
    for part, keys in COMPUTED.get(memory_type, {}).items():
        if not part:
            known = {name: value for name, value in known.items() if name not in keys}
        elif known.get(part):
            known[part] = [{name: value for name, value in one.items() if name not in keys} for one in known[part]]
    return known


def refuse_computed(payload: Mapping[str, Any], memory_type: MemoryType, *, path: Sequence[str]) -> None:
    """Raise InvalidInput if a caller's payload of a skill or plan has keys that the service computes.

    The `path` of the error begins with `path`, and names the first of them.
    """
    found: list[list[str]] = []
    for part, keys in COMPUTED.get(memory_type, {}).items():
        entries = (
            [([], payload)] if not part else [([part, str(n)], one) for n, one in enumerate(payload.get(part) or ())]
        )
        found += [[*where, key] for where, one in entries for key in keys if key in one]
    if found:
        named = ", ".join(".".join(one) for one in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise InvalidInput(
            f"{'.'.join(path)}: {named}{more}: computed by the service from what it observed; leave"
            f" {'it' if len(found) == 1 else 'them'} out",
            path=[*path, *found[0]],
        )
