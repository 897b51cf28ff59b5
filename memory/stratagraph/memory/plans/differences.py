"""What changed between two versions of a plan. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stratagraph.memory.learning.plans.plan_graphs import structure_of
from stratagraph.store.model.records import MemoryRecord

COMPARED = ("op", "params", "guards", "label", "share", "effect")  # fields of a step; its metrics differ at any time


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedStep:
    """A step that both versions have, and the names of the fields in which it differs, sorted."""

    id: str
    fields: tuple[str, ...]
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDifference:
    """What leads from the plan `before` to the plan `after`: steps by their ids, links by their ends and kind.

    With `has_same_structure`, the two are the same graph of operations, whatever their steps are called.
    """

    before: MemoryRecord
    after: MemoryRecord
    added_steps: tuple[Mapping[str, Any], ...]
    removed_steps: tuple[Mapping[str, Any], ...]
    changed_steps: tuple[ChangedStep, ...]
    added_links: tuple[tuple[str, str, str], ...]
    removed_links: tuple[tuple[str, str, str], ...]
    has_same_structure: bool


def difference_of(before: MemoryRecord, after: MemoryRecord) -> PlanDifference:
    """Return what changed between two versions of a plan, both readable in full."""
    old, new = before.payload or {}, after.payload or {}
    was = {node["id"]: node for node in old["nodes"]}
    is_ = {node["id"]: node for node in new["nodes"]}
    changed = (_changed(was[id_], is_[id_]) for id_ in is_ if id_ in was)
    had, has = _links(old), _links(new)
    return PlanDifference(
        before=before,
        after=after,
        added_steps=tuple(node for id_, node in is_.items() if id_ not in was),
        removed_steps=tuple(node for id_, node in was.items() if id_ not in is_),
        changed_steps=tuple(one for one in changed if one is not None),
        added_links=tuple(sorted(has - had)),
        removed_links=tuple(sorted(had - has)),
        has_same_structure=structure_of(old) == structure_of(new),
    )


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> ChangedStep | None:
    fields = tuple(sorted(name for name in COMPARED if before.get(name) != after.get(name)))
    return ChangedStep(id=after["id"], fields=fields, before=before, after=after) if fields else None


def _links(payload: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    return {(edge["from"], edge["to"], edge["kind"]) for edge in payload["edges"]}
