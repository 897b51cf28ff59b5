"""Reports on what came of a retrieval, and what they changed."""

from __future__ import annotations

from typing import Annotated, Self

import strawberry

from stratagraph.graphql.arguments import given_id, record_uuid, request_of
from stratagraph.graphql.types.enums import Outcome
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.warnings import WARNINGS, ReceiptWarning
from stratagraph.memory.capture.error_paths import within_item
from stratagraph.memory.feedback.request import (
    MAX_LATENCY_MS,
    MAX_REPORTS,
    MAX_STEPS,
    MAX_USED,
    OutcomeReport,
    StepOutcome,
    check_fields,
)
from stratagraph.memory.feedback.salience import FAILED, FLOOR, UNUSED
from stratagraph.memory.feedback.service import Credited
from stratagraph.store.model.problems import Problems
from stratagraph.store.search.retrievals import RETENTION


@strawberry.input(description="The outcome of one step of a plan.")
class StepOutcomeInput:
    record_id: strawberry.ID = strawberry.field(
        description="Id of the PLAN_GRAPH record, a UUID; one of `usedRecordIds`."
    )
    step_id: str = strawberry.field(description="Id of the step in the plan.")
    outcome: Outcome = strawberry.field(description="How the step ended.")


@strawberry.input(description="What came of the task that a retrieval was for.")
class ReportOutcomeInput:
    retrieval_id: strawberry.ID = strawberry.field(
        description="`retrievalId` of a retrieval by the same credential, a UUID. Its outcome can be reported once,"
        f" within {RETENTION.days} days."
    )
    outcome: Outcome = strawberry.field(description="How the task ended.")
    used_record_ids: list[strawberry.ID] = strawberry.field(
        description=f"Ids of the returned records that were used, at most {MAX_USED:,}; empty if none was."
    )
    latency_ms: float | None = strawberry.field(
        default=None,
        description=f"Duration of the task in milliseconds, from 0 to {MAX_LATENCY_MS:.0f}, for the statistics of the"
        " procedures and plans used; null if unknown.",
    )
    steps: list[StepOutcomeInput] | None = strawberry.field(
        default=None, description=f"Outcomes of single steps of the plans used, at most {MAX_STEPS:,}, each step once."
    )

    def as_report(self) -> OutcomeReport:
        return OutcomeReport(
            retrieval=record_uuid(self.retrieval_id, "retrievalId"),
            outcome=self.outcome,
            used=tuple(
                given_id(id_, path=["usedRecordIds", str(index)]) for index, id_ in enumerate(self.used_record_ids)
            ),
            latency_ms=self.latency_ms,
            steps=tuple(
                StepOutcome(
                    record=given_id(step.record_id, path=["steps", str(position), "recordId"]),
                    step=step.step_id,
                    outcome=step.outcome,
                )
                for position, step in enumerate(self.steps or ())
            ),
        )


@strawberry.type(description="The outcome was reported, and the records of the retrieval were credited with it.")
class ReportOutcomeSuccess:
    retrieval_id: strawberry.ID = strawberry.field(description="Id of the retrieval.")
    outcome: Outcome = strawberry.field(description="The reported outcome.")
    reinforced_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of the used records whose salience a success raised by their reinforcement gain."
    )
    penalized_ids: list[strawberry.ID] = strawberry.field(
        description=f"Ids of the records whose salience was lowered: used ones by {FAILED} after a failure, returned"
        f" and unused ones by {UNUSED} after a success; to {FLOOR} at the lowest. Pinned records keep theirs."
    )
    skipped_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of the used records that the outcome was not counted for: they are deleted, superseded or"
        " retracted, or no longer the caller's to read and write."
    )
    warnings: list[ReceiptWarning] = strawberry.field(description=WARNINGS)
    sequence: str = strawberry.field(description="Token for `atLeastSequence`, for reading the own write.")
    replayed: bool = strawberry.field(
        description="Whether this is the result of the same report before; nothing was changed again."
    )

    @classmethod
    def of(cls, done: Credited) -> Self:
        return cls(
            retrieval_id=strawberry.ID(str(done.retrieval)),
            outcome=done.outcome,
            reinforced_ids=[strawberry.ID(str(id_)) for id_ in done.reinforced],
            penalized_ids=[strawberry.ID(str(id_)) for id_ in done.penalized],
            skipped_ids=[strawberry.ID(str(id_)) for id_ in done.skipped],
            warnings=[ReceiptWarning.of(warning) for warning in done.warnings],
            sequence=done.sequence,
            replayed=done.replayed,
        )


@strawberry.input(description="What came of several tasks; all is reported or nothing.")
class ReportOutcomesInput:
    items: list[ReportOutcomeInput] = strawberry.field(
        description=f"The reports, 1 to {MAX_REPORTS}, each on another retrieval. Errors name the item in `path`."
    )

    def as_reports(self) -> list[OutcomeReport]:
        reports, problems = [], Problems()
        for position, item in enumerate(self.items):
            with problems, within_item(position, is_batch=True):
                reports.append(request_of(item.as_report, check_fields))
        problems.refuse()
        return reports


@strawberry.type(description="The outcomes were reported, in one transaction.")
class ReportOutcomesSuccess:
    results: list[ReportOutcomeSuccess] = strawberry.field(description="One result for each report, in their order.")


ReportOutcomesResult = Annotated[
    ReportOutcomesSuccess | Refusal,
    strawberry.union("ReportOutcomesResult", description="Result of several reports, or the error that refused all."),
]

ReportOutcomeResult = Annotated[
    ReportOutcomeSuccess | Refusal,
    strawberry.union("ReportOutcomeResult", description="Result of a report, or the error that refused it."),
]
