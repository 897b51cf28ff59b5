"""A report of what came of a retrieval, and its bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.enums import Outcome
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.problems import Problems

MAX_USED = 1_000  # records; a retrieval returns no more
MAX_STEPS = 1_000  # steps of plans in one report
MAX_STEP_ID = 2_000  # characters, as in a plan
MAX_LATENCY_MS = 1e10  # about four months
MAX_REPORTS = 100  # in one batch


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The outcome of one step, by its id in the plan `record`."""

    record: UUID
    step: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReport:
    """What came of the task that a retrieval was for, and which of the returned records were used.

    `latency_ms` is how long the task took. It and `steps` go into the statistics of the procedures and plans used.
    """

    retrieval: UUID
    outcome: Outcome
    used: tuple[UUID, ...]
    latency_ms: float | None = None
    steps: tuple[StepOutcome, ...] = ()

    def as_json(self) -> bytes:
        """Return what makes two reports the same, in a form that does not depend on the order of records and steps."""
        return orjson.dumps(
            {
                "retrieval": self.retrieval,
                "outcome": self.outcome.label,
                "used": sorted(set(self.used)),
                "latency_ms": self.latency_ms,
                "steps": sorted([str(one.record), one.step, one.outcome.label] for one in self.steps),
            }
        )

    def steps_of(self, record: UUID) -> Iterator[StepOutcome]:
        """Return the outcomes of the steps of one plan."""
        return (step for step in self.steps if step.record == record)


def check_batch(reports: Sequence[OutcomeReport]) -> None:
    """Raise InvalidInput for a batch without reports, with too many, or with two of one retrieval."""
    if not 1 <= len(reports) <= MAX_REPORTS:
        raise InvalidInput(f"items: {len(reports)} reports; give 1 to {MAX_REPORTS}", path=["items"])
    seen: set[UUID] = set()
    for position, report in enumerate(reports):
        if report.retrieval in seen:
            raise InvalidInput(
                f"items.{position}.retrievalId: an earlier item reports on {report.retrieval}; report on each retrieval"
                " once",
                path=["items", str(position), "retrievalId"],
            )
        seen.add(report.retrieval)


def check(report: OutcomeReport) -> None:
    """Raise InvalidInput naming all fields that are out of bounds, and their bounds."""
    problems = Problems()
    check_fields(report, problems)
    problems.refuse()


def check_fields(report: OutcomeReport, problems: Problems) -> None:
    """Note in `problems` what `check` raises."""
    with problems:
        _check_used(report.used)
    with problems:
        _check_latency(report.latency_ms)
    with problems:
        if len(report.steps) > MAX_STEPS:
            raise InvalidInput(f"steps: {len(report.steps)} entries; at most {MAX_STEPS:,} are allowed", path=["steps"])
    used, seen = set(report.used), set[tuple[UUID, str]]()
    for position, step in enumerate(report.steps[:MAX_STEPS]):
        with problems:
            _check_step(step, position, used, seen)
        seen.add((step.record, step.step))
        if problems.is_full:
            return


def _check_used(used: tuple[UUID, ...]) -> None:
    if len(used) > MAX_USED:
        raise InvalidInput(
            f"usedRecordIds: {len(used)} ids; at most {MAX_USED:,} are allowed, as many as a retrieval returns",
            path=["usedRecordIds"],
        )


def _check_latency(latency: float | None) -> None:
    if latency is not None and not (math.isfinite(latency) and 0 <= latency <= MAX_LATENCY_MS):
        raise InvalidInput(
            f"latencyMs: {latency} is not a number of milliseconds from 0 to {MAX_LATENCY_MS:.0f}", path=["latencyMs"]
        )


def _check_step(step: StepOutcome, position: int, used: set[UUID], seen: set[tuple[UUID, str]]) -> None:
    path = ["steps", str(position)]
    check_json(step.step, path=[*path, "stepId"])
    if len(step.step) > MAX_STEP_ID:
        raise InvalidInput(
            f"steps.{position}.stepId: {len(step.step)} characters; the ids of steps have at most {MAX_STEP_ID:,}",
            path=[*path, "stepId"],
        )
    if step.record not in used:
        raise InvalidInput(
            f"steps.{position}.recordId: {step.record} is not among usedRecordIds; add the plan there",
            path=[*path, "recordId"],
        )
    if (step.record, step.step) in seen:
        raise InvalidInput(
            f"steps.{position}: the step {shown(step.step)} of {step.record} is given twice; give each step once",
            path=path,
        )
