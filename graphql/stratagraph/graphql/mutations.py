"""The mutations of the schema."""

from __future__ import annotations

from typing import Annotated, Protocol

import strawberry

from stratagraph.graphql.context import Info
from stratagraph.graphql.types.capture import (
    CaptureMemoriesInput,
    CaptureMemoriesResult,
    CaptureMemoriesSuccess,
    CaptureMemoryInput,
    CaptureMemoryResult,
    CaptureMemorySuccess,
)
from stratagraph.graphql.types.erase import EraseInput, EraseResult, EraseSuccess
from stratagraph.graphql.types.revision import RevisionResult, RevisionSuccess
from stratagraph.graphql.types.revision_inputs import (
    ContestInput,
    DeleteRecordInput,
    ForkInput,
    MergeInput,
    PenalizeInput,
    PinInput,
    ReinforceInput,
    ResolveContestInput,
    RetractInput,
    SupersedeInput,
)
from stratagraph.memory.revise.request import Revise

_REVISION = strawberry.argument(description="The record, the change and the reason.")


@strawberry.type(
    description="Writes. Each runs in one transaction, except that erasing a scope or a tenant takes several."
)
class Mutation:
    @strawberry.mutation(description="Store one memory.")
    async def capture_memory(
        self,
        info: Info,
        input: Annotated[CaptureMemoryInput, strawberry.argument(description="The memory to store.")],  # noqa: A002
    ) -> CaptureMemoryResult:
        context = info.context
        captured = await context.services.capture.capture(context.trust, [input.as_request()])
        return CaptureMemorySuccess.of(captured[0])

    @strawberry.mutation(description="Store several memories in one transaction: all of them or none.")
    async def capture_memories(
        self,
        info: Info,
        input: Annotated[CaptureMemoriesInput, strawberry.argument(description="The memories to store.")],  # noqa: A002
    ) -> CaptureMemoriesResult:
        context = info.context
        captured = await context.services.capture.capture(
            context.trust, [item.as_request() for item in input.items], batch=True
        )
        return CaptureMemoriesSuccess(results=[CaptureMemorySuccess.of(item) for item in captured])

    @strawberry.mutation(
        description="Replace a record by a new one with another payload. An entity or a working record is changed in"
        " place."
    )
    async def supersede(self, info: Info, input: Annotated[SupersedeInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="Add a variant of a record for conditions under which the record does not hold.")
    async def fork(self, info: Info, input: Annotated[ForkInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="Put a record in doubt until the contest is resolved.")
    async def contest(self, info: Info, input: Annotated[ContestInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="End the contest of a record.")
    async def resolve_contest(
        self,
        info: Info,
        input: Annotated[ResolveContestInput, _REVISION],  # noqa: A002 - the contract's name
    ) -> RevisionResult:
        return await _revise(info, input)

    @strawberry.mutation(description="Withdraw a record that was wrong, without a replacement.")
    async def retract(self, info: Info, input: Annotated[RetractInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="Merge records with the same content into one.")
    async def merge(
        self,
        info: Info,
        input: Annotated[  # noqa: A002 - the contract's name
            MergeInput, strawberry.argument(description="The records, the merged payload and the reason.")
        ],
    ) -> RevisionResult:
        return await _revise(info, input)

    @strawberry.mutation(description="Delete a record with its history. Its audit log is kept.")
    async def delete_record(
        self,
        info: Info,
        input: Annotated[DeleteRecordInput, _REVISION],  # noqa: A002 - the contract's name
    ) -> RevisionResult:
        return await _revise(info, input)

    @strawberry.mutation(description="Raise the salience of a record by its reinforcement gain.")
    async def reinforce(self, info: Info, input: Annotated[ReinforceInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="Lower the salience of a record.")
    async def penalize(self, info: Info, input: Annotated[PenalizeInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

    @strawberry.mutation(description="Hold the salience of a record at its present value, or let it decay again.")
    async def pin(self, info: Info, input: Annotated[PinInput, _REVISION]) -> RevisionResult:  # noqa: A002
        return await _revise(info, input)

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
        return EraseSuccess.of(await context.services.erasure.erase(context.trust, input.as_request()))


class _RevisionInput(Protocol):
    def as_request(self) -> Revise: ...


async def _revise(info: Info, given: _RevisionInput) -> RevisionSuccess:
    context = info.context
    return RevisionSuccess.of(await context.services.revision.revise(context.trust, given.as_request()))
