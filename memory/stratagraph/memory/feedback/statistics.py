"""The statistics of procedures and plans after one more execution. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.learning.procedures.confidence import PRIOR_FAILURES, PRIOR_SUCCESSES
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Outcome
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import count_of
from stratagraph.store.model.records import MemoryRecord


def after_use(record: MemoryRecord, report: OutcomeReport, at: datetime) -> dict[str, Any]:
    """Return the payload of a procedure or plan that was used as `report` says. What counts lessons is kept apart.

    Raises InvalidInput for a step that the plan does not have.
    """
    payload = dict(record.payload or {})
    if record.type is MemoryType.PLAN_GRAPH:
        payload["metrics"] = _metrics(payload.get("metrics") or {}, report, at)
        payload["nodes"] = _steps(record.id, payload["nodes"], report)
        return payload
    _refuse_steps(record.id, set(), report)
    payload["performance"] = _performance(payload.get("performance") or {}, report, at)
    return payload


def learned_confidence(record: MemoryRecord, outcome: Outcome) -> float | None:
    """Return the confidence of a learned procedure or plan after one more outcome; None where that does not move it.

    It is the mean of the Beta posterior that learning computes, after one more trial.
    """
    if record.learned_tools is None or outcome is Outcome.PARTIAL:
        return None
    payload = record.payload or {}
    if record.type is MemoryType.PLAN_GRAPH:
        tried = count_of((payload.get("metrics") or {}).get("execution_count"))
    else:
        performance = payload.get("performance") or {}
        tried = count_of(performance.get("success_count")) + count_of(performance.get("failure_count"))
    known = tried + PRIOR_SUCCESSES + PRIOR_FAILURES
    return (record.confidence * known + (outcome is Outcome.SUCCESS)) / (known + 1)


def _performance(before: Mapping[str, Any], report: OutcomeReport, at: datetime) -> dict[str, Any]:
    """Return a competence's counts after the execution. A partial success counts neither way."""
    successes = count_of(before.get("success_count"), int(report.outcome is Outcome.SUCCESS))
    failures = count_of(before.get("failure_count"), int(report.outcome is Outcome.FAILURE))
    after = {**before, "success_count": successes, "failure_count": failures, "last_used_at": rfc3339(at)}
    tried = successes + failures
    if tried:
        after["success_rate"] = successes / tried
    return after | _latency(before, report, executions=max(1, tried))


def _metrics(before: Mapping[str, Any], report: OutcomeReport, at: datetime) -> dict[str, Any]:
    """Return a plan's metrics after the execution. A partial success is an execution that did not fail."""
    executions = count_of(before.get("execution_count"))
    failures = (before.get("failure_rate") or 0.0) * executions + (report.outcome is Outcome.FAILURE)
    after = {
        **before,
        "execution_count": count_of(executions, 1),
        "failure_rate": min(1.0, failures / (executions + 1)),
        "last_executed_at": rfc3339(at),
    }
    return after | _latency(before, report, executions=executions + 1)


def _latency(before: Mapping[str, Any], report: OutcomeReport, *, executions: int) -> dict[str, float]:
    """Return the mean latency over all executions, where those without a latency count as average ones."""
    if report.latency_ms is None:
        return {}
    mean = before.get("avg_latency_ms")
    if mean is None:
        return {"avg_latency_ms": report.latency_ms}
    return {"avg_latency_ms": mean + (report.latency_ms - mean) / executions}


def _steps(plan: UUID, nodes: list[dict[str, Any]], report: OutcomeReport) -> list[dict[str, Any]]:
    """Return a plan's steps with the counts of those that the report names."""
    _refuse_steps(plan, {node["id"] for node in nodes}, report)
    outcomes = {step.step: step.outcome for step in report.steps_of(plan)}
    return [
        {**node, "metrics": _step_counts(node.get("metrics") or {}, outcomes[node["id"]])}
        if node["id"] in outcomes
        else node
        for node in nodes
    ]


def _step_counts(before: Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
    return {
        **before,
        "execution_count": count_of(before.get("execution_count"), 1),
        "failure_count": count_of(before.get("failure_count"), int(outcome is Outcome.FAILURE)),
    }


def _refuse_steps(record: UUID, known: set[str], report: OutcomeReport) -> None:
    for position, step in enumerate(report.steps):
        if step.record == record and step.step not in known:
            raise InvalidInput(
                f"steps.{position}.stepId: {shown(step.step)} is no step of {record}; `planGraph` lists a plan's steps",
                path=["steps", str(position), "stepId"],
            )
