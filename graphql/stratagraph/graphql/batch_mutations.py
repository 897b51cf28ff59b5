"""The mutations that make several changes in one transaction. Those of captures are in `mutations`."""

from __future__ import annotations

from typing import Annotated

import strawberry

from stratagraph.graphql.context import Info
from stratagraph.graphql.types.outcomes import (
    ReportOutcomesInput,
    ReportOutcomesResult,
    ReportOutcomesSuccess,
    ReportOutcomeSuccess,
)
from stratagraph.graphql.types.revision import RevisionSuccess
from stratagraph.graphql.types.revision_batches import ReviseRecordsInput, ReviseRecordsResult, ReviseRecordsSuccess


@strawberry.type(description="Mutations of several changes in one transaction.")
class BatchMutations:
    @strawberry.mutation(
        description="Make several revisions in one transaction, in their order: all of them or none. Deletions are made"
        " one by one, by `deleteRecord`."
    )
    async def revise_records(
        self,
        info: Info,
        input: Annotated[ReviseRecordsInput, strawberry.argument(description="The revisions.")],  # noqa: A002
    ) -> ReviseRecordsResult:
        context = info.context
        done = await context.services.revision.revise_all(
            context.trust, input.as_requests(), idempotency_key=input.idempotency_key
        )
        return ReviseRecordsSuccess(results=[RevisionSuccess.of(one) for one in done])

    @strawberry.mutation(
        description="Report what came of several retrievals in one transaction, in their order: all reports or none."
    )
    async def report_outcomes(
        self,
        info: Info,
        input: Annotated[ReportOutcomesInput, strawberry.argument(description="The reports.")],  # noqa: A002
    ) -> ReportOutcomesResult:
        context = info.context
        done = await context.services.feedback.report_all(context.trust, input.as_reports())
        return ReportOutcomesSuccess(results=[ReportOutcomeSuccess.of(one) for one in done])
