"""Find steps of given operations, in a given order, within one plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STEPS_APART = 64  # edges of a plan followed at most from one step to the next


def steps_in_order(payload: Mapping[str, Any], ops: Sequence[str]) -> list[str] | None:
    """Return the ids of steps of these ops, each reachable from the one before, or None if the plan has none.

    A step is reachable over at most STEPS_APART edges. If several sequences match, the steps listed first in the plan
    are returned; the choice starts with the last step.

    >>> plan = {"nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "test"}], "edges": [{"from": "a", "to": "b"}]}
    >>> steps_in_order(plan, ["build", "test"]), steps_in_order(plan, ["test", "build"])
    (['a', 'b'], None)
    """
    after: dict[str, list[str]] = {}
    for edge in payload["edges"]:
        after.setdefault(edge["from"], []).append(edge["to"])
    position = {node["id"]: index for index, node in enumerate(payload["nodes"])}
    of_op: dict[str, list[str]] = {}
    for node in payload["nodes"]:
        of_op.setdefault(node["op"], []).append(node["id"])
    predecessors: list[dict[str, str | None]] = [dict.fromkeys(of_op.get(ops[0], ()))]
    for op in ops[1:]:
        wanted = set(of_op.get(op, ()))
        level: dict[str, str | None] = {}
        # In the order of the plan, because setdefault keeps the first predecessor of a step.
        for near in sorted(predecessors[-1], key=position.__getitem__):
            for far in _reached(after, near) & wanted:
                level.setdefault(far, near)
        predecessors.append(level)
    if not predecessors[-1]:
        return None
    step: str | None = min(predecessors[-1], key=position.__getitem__)
    steps: list[str] = []
    for level in reversed(predecessors):
        assert step is not None
        steps.append(step)
        step = level[step]
    return steps[::-1]


def _reached(after: Mapping[str, Sequence[str]], start: str) -> set[str]:
    """Return the steps reachable from `start` over 1 to STEPS_APART edges."""
    found: set[str] = set()
    frontier = [start]
    for _ in range(STEPS_APART):
        frontier = [far for near in frontier for far in after.get(near, ()) if far not in found]
        frontier = list(dict.fromkeys(frontier))
        if not frontier:
            break
        found.update(frontier)
    return found
