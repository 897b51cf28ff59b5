"""What the mirror shows of the executions of a plan is part of what is compared."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from stratagraph.graph_sync.differences import Drift
from stratagraph.graph_sync.images import compare, record_image
from stratagraph.graph_sync.mapping import node, steps_as_columns, tools_used
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def plan(metrics: Any = None, steps: Any = None, *, sensitivity: Sensitivity = Sensitivity.LOW) -> dict[str, Any]:
    row = {
        "tenant": 1,
        "id": UUID(int=1),
        "type": int(MemoryType.PLAN_GRAPH),
        "state": int(RecordState.ACTIVE),
        "scope": 1,
        "sensitivity": int(sensitivity),
        "name": "Plan: ship",
        "row_version": 1,
        "created_at": NOON,
        "occurred_at": NOON,
        "valid_from": None,
        "valid_to": None,
        "digest": 7,
        "payload": {
            "plan_id": "ship",
            "version": "2",
            "metrics": metrics,
            "nodes": [{"id": "a", "op": "build", "metrics": steps}, {"id": "b", "op": "deploy it"}],
            "edges": [{"from": "a", "to": "b", "kind": "control"}],
        },
    }
    return node(row, generation=1, names_up_to=Sensitivity.LOW)


def test_a_plan_and_its_steps_have_what_is_known_of_their_executions() -> None:
    shown = plan({"execution_count": 4, "failure_rate": 0.25}, {"execution_count": 3, "failure_count": 1})
    assert {name: shown["p"][name] for name in ("plan", "version", "executed", "failure_rate")} == {
        "plan": "ship",
        "version": "2",
        "executed": 4,
        "failure_rate": 0.25,
    }
    assert [(step["executed"], step["failed"]) for step in shown["steps"]] == [(3, 1), (None, None)]
    assert tools_used(steps_as_columns(shown)) == ["build", "deploy it"]


@pytest.mark.parametrize("odd", [None, {}, {"execution_count": "many", "failure_count": True, "failure_rate": None}])
def test_what_is_no_number_is_not_shown(odd: Any) -> None:
    shown = plan(odd, odd)
    assert not {"executed", "failure_rate"} & shown["p"].keys()
    assert all(step["executed"] is None and step["failed"] is None for step in shown["steps"])


def test_nothing_of_a_plan_above_the_mirrored_level_is_shown() -> None:
    shown = plan({"execution_count": 4}, {"execution_count": 3}, sensitivity=Sensitivity.MEDIUM)
    assert not {"plan", "version", "executed", "name"} & shown["p"].keys()
    assert shown["steps"] == []


def test_counts_changed_by_hand_are_a_difference() -> None:
    required = record_image(plan({"execution_count": 4}, {"execution_count": 3, "failure_count": 1}))
    assert compare(required, required, lambda _: True) is None
    of_step = record_image(plan({"execution_count": 4}, {"execution_count": 3, "failure_count": 0}))
    assert compare(required, of_step, lambda _: True) == (Drift.EDITED, "steps, links or tools")
    of_plan = record_image(plan({"execution_count": 5}, {"execution_count": 3, "failure_count": 1}))
    assert compare(required, of_plan, lambda _: True) == (Drift.EDITED, "properties executed")
    assert isinstance(required.parts, Counter)
