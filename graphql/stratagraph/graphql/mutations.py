"""The mutations of the schema."""

from __future__ import annotations

from typing import Annotated

import strawberry

from stratagraph.graphql.arguments import record_uuid, request_of
from stratagraph.graphql.batch_mutations import BatchMutations
from stratagraph.graphql.context import Info
from stratagraph.graphql.lesson_fields import LessonMutations
from stratagraph.graphql.revising import revised
from stratagraph.graphql.types.capture import (
    CaptureMemoriesInput,
    CaptureMemoriesResult,
    CaptureMemoriesSuccess,
    CaptureMemoryInput,
    CaptureMemoryResult,
    CaptureMemorySuccess,
)
from stratagraph.graphql.types.erase import EraseInput, EraseResult, EraseSuccess
from stratagraph.graphql.types.fact_predicates import (
    FactPredicate,
    SetPredicateInput,
    SetPredicateResult,
    SetPredicateSuccess,
)
from stratagraph.graphql.types.failed_captures import (
    DropCaptureResult,
    DropCaptureSuccess,
    RetriedCapture,
    RetryCaptureResult,
    RetryCaptureSuccess,
)
from stratagraph.graphql.types.learning import (
    LearnAgainInput,
    LearnAgainResult,
    LearnAgainSuccess,
    UndoRunInput,
    UndoRunResult,
    UndoRunSuccess,
)
from stratagraph.graphql.types.outcomes import ReportOutcomeInput, ReportOutcomeResult, ReportOutcomeSuccess
from stratagraph.graphql.types.remember import RememberAllInput, RememberInput, renamed_errors, renamed_warnings
from stratagraph.graphql.types.revision import RevisionResult
from stratagraph.graphql.types.revision_inputs import (
    AmendInput,
    ContestInput,
    DeleteRecordInput,
    ForkInput,
    MergeInput,
    PenalizeInput,
    PinInput,
    ReinforceInput,
    RejectDuplicateInput,
    ResolveContestInput,
    RetractInput,
    SupersedeInput,
    UnmergeInput,
)
from stratagraph.graphql.types.typed_revisions import ForkRecordInput, SupersedeRecordInput
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback.request import check_fields as check_report

CandidateId = Annotated[
    strawberry.ID, strawberry.argument(description="Id of a failed capture, as `failedCaptures` lists it, a UUID.")
]
_REVISION = strawberry.argument(description="The record, the change and the reason.")


@strawberry.type(
    description="Writes. Each runs in one transaction, except that erasing a scope or a tenant takes several."
)
class Mutation(BatchMutations, LessonMutations):
    @strawberry.mutation(description="Store one memory.")
    async def capture_memory(
        self,
        info: Info,
        input: Annotated[CaptureMemoryInput, strawberry.argument(description="The memory to store.")],  # noqa: A002
    ) -> CaptureMemoryResult:
        context = info.context
        context.record.touch(1)
        captured = await context.services.capture.capture(context.trust, [input.as_request()])
        return CaptureMemorySuccess(captured=captured[0])

    @strawberry.mutation(description="Store several memories in one transaction: all of them or none.")
    async def capture_memories(
        self,
        info: Info,
        input: Annotated[CaptureMemoriesInput, strawberry.argument(description="The memories to store.")],  # noqa: A002
    ) -> CaptureMemoriesResult:
        context = info.context
        context.record.touch(len(input.items))
        captured = await context.services.capture.capture(
            context.trust, [item.as_request() for item in input.items], batch=True
        )
        return CaptureMemoriesSuccess(results=[CaptureMemorySuccess(captured=item) for item in captured])

    @strawberry.mutation(description="Store one memory whose content is typed; the same as `captureMemory` with JSON.")
    async def remember(
        self,
        info: Info,
        input: Annotated[RememberInput, strawberry.argument(description="The memory to store.")],  # noqa: A002
    ) -> CaptureMemoryResult:
        context = info.context
        context.record.touch(1)
        with renamed_errors(input.renamed):
            captured = await context.services.capture.capture(context.trust, [input.as_request()])
        return CaptureMemorySuccess(captured=renamed_warnings(captured[0], input.renamed))

    @strawberry.mutation(
        description="Store several memories whose contents are typed in one transaction, as `captureMemories` does."
    )
    async def remember_all(
        self,
        info: Info,
        input: Annotated[RememberAllInput, strawberry.argument(description="The memories to store.")],  # noqa: A002
    ) -> CaptureMemoriesResult:
        context = info.context
        context.record.touch(len(input.items))
        with renamed_errors(input.renamed):
            captured = await context.services.capture.capture(context.trust, input.as_requests(), batch=True)
        return CaptureMemoriesSuccess(
            results=[
                CaptureMemorySuccess(captured=renamed_warnings(one, item.renamed))
                for item, one in zip(input.items, captured, strict=True)
            ]
        )

    @strawberry.mutation(
        description="Retry now, with the rights of their own caller, the captures of the request of a failed capture."
    )
    async def retry_capture(self, info: Info, id: CandidateId) -> RetryCaptureResult:  # noqa: A002
        context = info.context
        stored = await context.services.failed_captures.retry(context.trust, record_uuid(id))
        return RetryCaptureSuccess(captures=[RetriedCapture.of(one) for one in stored])

    @strawberry.mutation(description="Delete the failed captures of the request of a failed capture, unstored.")
    async def drop_capture(self, info: Info, id: CandidateId) -> DropCaptureResult:  # noqa: A002
        context = info.context
        dropped = await context.services.failed_captures.drop(context.trust, record_uuid(id))
        return DropCaptureSuccess(candidate_ids=[strawberry.ID(str(one)) for one in dropped])

    @strawberry.mutation(
        description="Replace a record by a new one with another payload. An entity or a working record is changed in"
        " place."
    )
    async def supersede(self, info: Info, input: Annotated[SupersedeInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(
        description="Replace a record by a new one with some members of its payload changed, by a JSON merge patch. An"
        " entity or a working record is changed in place."
    )
    async def amend(self, info: Info, input: Annotated[AmendInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="Do as `supersede` does, with a typed payload.")
    async def supersede_record(
        self,
        info: Info,
        input: Annotated[SupersedeRecordInput, _REVISION],  # noqa: A002 - the contract's name
    ) -> RevisionResult:
        return await revised(info, input, input.renamed)

    @strawberry.mutation(description="Do as `fork` does, with a typed payload.")
    async def fork_record(self, info: Info, input: Annotated[ForkRecordInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input, input.renamed)

    @strawberry.mutation(description="Add a variant of a record for conditions under which the record does not hold.")
    async def fork(self, info: Info, input: Annotated[ForkInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="Put a record in doubt until the contest is resolved.")
    async def contest(self, info: Info, input: Annotated[ContestInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="End the contest of a record.")
    async def resolve_contest(
        self,
        info: Info,
        input: Annotated[ResolveContestInput, _REVISION],  # noqa: A002 - the contract's name
    ) -> RevisionResult:
        return await revised(info, input)

    @strawberry.mutation(description="Withdraw a record that was wrong, without a replacement.")
    async def retract(self, info: Info, input: Annotated[RetractInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="Merge records with the same content into one.")
    async def merge(
        self,
        info: Info,
        input: Annotated[  # noqa: A002 - the contract's name
            MergeInput, strawberry.argument(description="The records, the merged payload and the reason.")
        ],
    ) -> RevisionResult:
        return await revised(info, input, input.renamed)

    @strawberry.mutation(
        description="Undo the merge of an entity into another one: it gets back its names, its facts and its relations."
    )
    async def unmerge(self, info: Info, input: Annotated[UnmergeInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(
        description="Note that two records do not say the same, so that they are neither merged by consolidation nor"
        " listed by `duplicateCandidates` again. Neither record changes."
    )
    async def reject_duplicate(
        self,
        info: Info,
        input: Annotated[  # noqa: A002 - the contract's name
            RejectDuplicateInput, strawberry.argument(description="The two records and the reason.")
        ],
    ) -> RevisionResult:
        return await revised(info, input)

    @strawberry.mutation(
        description="Undo a run of learning: what it created is retracted, and what it changed is restored, except what"
        " was changed since. Needs admin access."
    )
    async def undo_run(
        self,
        info: Info,
        input: Annotated[UndoRunInput, strawberry.argument(description="The run and the reason.")],  # noqa: A002
    ) -> UndoRunResult:
        context = info.context
        return UndoRunSuccess.of(
            await context.services.runs.undo(context.trust, record_uuid(input.id), rationale=input.rationale)
        )

    @strawberry.mutation(
        description="Let the next run learn again from the episodes of an undone run, for the stages of that run. Sent"
        " again, it changes nothing more. Needs admin access."
    )
    async def learn_again(
        self,
        info: Info,
        input: Annotated[LearnAgainInput, strawberry.argument(description="The undone run.")],  # noqa: A002
    ) -> LearnAgainResult:
        context = info.context
        return LearnAgainSuccess(episodes=await context.services.runs.learn_again(context.trust, record_uuid(input.id)))

    @strawberry.mutation(
        description="Register what is known of a predicate of facts, for the tenant. Needs admin access."
    )
    async def set_predicate(
        self,
        info: Info,
        input: Annotated[  # noqa: A002 - the contract's name
            SetPredicateInput, strawberry.argument(description="The predicate, and what is known of it.")
        ],
    ) -> SetPredicateResult:
        context = info.context
        registered = await context.services.predicates.set(context.trust, input.name, input.as_registration())
        return SetPredicateSuccess(predicate=FactPredicate.of(registered))

    @strawberry.mutation(description="Delete a record with its history. Its audit log is kept.")
    async def delete_record(
        self,
        info: Info,
        input: Annotated[DeleteRecordInput, _REVISION],  # noqa: A002 - the contract's name
    ) -> RevisionResult:
        return await revised(info, input)

    @strawberry.mutation(description="Raise the salience of a record by its reinforcement gain.")
    async def reinforce(self, info: Info, input: Annotated[ReinforceInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="Lower the salience of a record.")
    async def penalize(self, info: Info, input: Annotated[PenalizeInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(description="Hold the salience of a record at its present value, or let it decay again.")
    async def pin(self, info: Info, input: Annotated[PinInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await revised(info, input)

    @strawberry.mutation(
        description="Report what came of a retrieval: records that were used gain salience by a success and lose it by"
        " a failure, those that a success did not need lose a little, and the statistics of procedures, plans and"
        " lessons are updated. The same report again changes nothing."
    )
    async def report_outcome(
        self,
        info: Info,
        input: Annotated[ReportOutcomeInput, strawberry.argument(description="The retrieval and its outcome.")],  # noqa: A002
    ) -> ReportOutcomeResult:
        context = info.context
        report = request_of(input.as_report, check_report)
        return ReportOutcomeSuccess.of(await context.services.feedback.report(context.trust, report))

    @strawberry.mutation(
        description="Erase records irrevocably, with their history, their audit rationales and everything derived from"
        " them alone."
    )
    async def erase(
        self,
        info: Info,
        input: Annotated[EraseInput, strawberry.argument(description="What to erase, and why.")],  # noqa: A002
    ) -> EraseResult:
        context = info.context
        request = request_of(input.as_request, Erase.check_fields)
        if request.record_id is not None:
            context.record.touch(1, request.record_id)
        return EraseSuccess.of(await context.services.erasure.erase(context.trust, request))
