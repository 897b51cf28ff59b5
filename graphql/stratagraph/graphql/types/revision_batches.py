"""Several revisions in one request: their input and their result."""

from __future__ import annotations

from typing import Annotated

import strawberry
from strawberry.utils.str_converters import to_camel_case

from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.lessons import RemoveLessonInput, VerifyLessonInput
from stratagraph.graphql.types.revision import RevisionSuccess
from stratagraph.graphql.types.revision_inputs import (
    KEY,
    AmendInput,
    ContestInput,
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
from stratagraph.memory.capture.error_paths import within_item
from stratagraph.memory.revise.request import MAX_REVISIONS, Revise
from stratagraph.store.model.problems import Problems


@strawberry.input(one_of=True, description="One revision: exactly one of these fields, the input of its mutation.")
class RevisionInput:
    supersede: strawberry.Maybe[SupersedeInput] = strawberry.field(description="As `supersede`.")
    amend: strawberry.Maybe[AmendInput] = strawberry.field(description="As `amend`.")
    fork: strawberry.Maybe[ForkInput] = strawberry.field(description="As `fork`.")
    contest: strawberry.Maybe[ContestInput] = strawberry.field(description="As `contest`.")
    resolve_contest: strawberry.Maybe[ResolveContestInput] = strawberry.field(description="As `resolveContest`.")
    retract: strawberry.Maybe[RetractInput] = strawberry.field(description="As `retract`.")
    merge: strawberry.Maybe[MergeInput] = strawberry.field(description="As `merge`.")
    unmerge: strawberry.Maybe[UnmergeInput] = strawberry.field(description="As `unmerge`.")
    reject_duplicate: strawberry.Maybe[RejectDuplicateInput] = strawberry.field(description="As `rejectDuplicate`.")
    reinforce: strawberry.Maybe[ReinforceInput] = strawberry.field(description="As `reinforce`.")
    penalize: strawberry.Maybe[PenalizeInput] = strawberry.field(description="As `penalize`.")
    pin: strawberry.Maybe[PinInput] = strawberry.field(description="As `pin`.")
    verify_lesson: strawberry.Maybe[VerifyLessonInput] = strawberry.field(description="As `verifyLesson`.")
    remove_lesson: strawberry.Maybe[RemoveLessonInput] = strawberry.field(description="As `removeLesson`.")

    def as_request(self, position: int) -> Revise:
        """Return the request. Errors have the path of the item."""
        ((name, given),) = ((name, one.value) for name, one in vars(self).items() if one is not None)
        with within_item(position, to_camel_case(name), is_batch=True):
            request: Revise = given.as_request()
        return request


@strawberry.input(description="Several revisions, made in their order and in one transaction: all of them or none.")
class ReviseRecordsInput:
    items: list[RevisionInput] = strawberry.field(
        description=f"The revisions, 1 to {MAX_REVISIONS}, without idempotency keys of their own. Each is made after"
        " the ones before it. Errors name the item in `path`."
    )
    idempotency_key: str | None = strawberry.field(default=None, description=f"{KEY} It is that of all items together.")

    def as_requests(self) -> list[Revise]:
        requests, problems = [], Problems()
        for position, item in enumerate(self.items):
            with problems:
                requests.append(item.as_request(position))
        problems.refuse()
        return requests


@strawberry.type(description="The revisions were stored, in one transaction.")
class ReviseRecordsSuccess:
    results: list[RevisionSuccess] = strawberry.field(
        description="One result for each revision, in their order. The records are as they are after the last one."
    )


ReviseRecordsResult = Annotated[
    ReviseRecordsSuccess | Refusal,
    strawberry.union(
        "ReviseRecordsResult", description="Result of several revisions, or the error of one, which refused all."
    ),
]
