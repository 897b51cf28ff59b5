"""Lessons: the inputs and results of their mutations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self, cast
from uuid import UUID

import strawberry

from stratagraph.graphql.arguments import given_id
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import Sensitivity
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.receipts import CaptureReceipt
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.revision_inputs import EXPECTED, KEY, RATIONALE
from stratagraph.memory.capture.request import MAX_LABEL, MAX_TAGS
from stratagraph.memory.lessons import service
from stratagraph.memory.lessons.request import (
    CONFIDENCE,
    MAX_CODE,
    MAX_DOMAIN,
    MAX_DOMAINS,
    MAX_TASK,
    MAX_TEXT,
    SOURCE,
    LearnLesson,
)
from stratagraph.memory.lessons.service import DEFAULT_CREDITED_S, MAX_CREDITED_S, LearnedLesson
from stratagraph.memory.lessons.utility import DROPPED, KEPT, STALE_HIT_RATE, STALE_RETRIEVALS
from stratagraph.memory.revise.request import RemoveLesson, VerifyLesson
from stratagraph.store.model import errors
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.search.retrievals import RETENTION

_LESSON_ID = "Id of the lesson, a UUID."
_TEXT = f"at most {MAX_TEXT:,} characters."


@strawberry.input(description="A lesson from a mistake: what the task was, what went wrong, and what to do instead.")
class LearnLessonInput:
    task: str = strawberry.field(
        description=f"What was to be done, 1 to {MAX_TASK:,} characters. A lesson of the same scope and sensitivity"
        " with an equal task, ignoring case, accents and spacing, is merged with this one."
    )
    solution: str = strawberry.field(description=f"What to do, 1 to {MAX_TEXT:,} characters.")
    mistake: str | None = strawberry.field(default=None, description=f"What went wrong, {_TEXT}")
    trigger: str | None = strawberry.field(
        default=None,
        description=f"When the lesson applies, {_TEXT} Without an embedder, a question finds the lesson by these words."
        " Default: the task.",
    )
    anti_pattern: str | None = strawberry.field(default=None, description=f"What to avoid in general, {_TEXT}")
    correct_pattern: str | None = strawberry.field(default=None, description=f"What to do in general, {_TEXT}")
    code_example: str | None = strawberry.field(
        default=None, description=f"Code that shows it, at most {MAX_CODE:,} characters."
    )
    domains: list[str] | None = strawberry.field(
        default=None,
        description=f"Fields that it belongs to, at most {MAX_DOMAINS}, of 1 to {MAX_DOMAIN} characters each.",
    )
    confidence: float | None = strawberry.field(
        default=None, description=f"How sure the lesson is, from 0 to 1. Default: {CONFIDENCE}."
    )
    source: str | None = strawberry.field(
        default=None,
        description=f"Where it comes from, such as `self_play`, at most {MAX_LABEL} characters. Default: `{SOURCE}`.",
    )
    source_challenge_hash: str | None = strawberry.field(
        default=None, description=f"Hash of the challenge that taught it, at most {MAX_DOMAIN} characters."
    )
    verified: bool | None = strawberry.field(
        default=None,
        description="Whether it was verified. Stored as false without access admin; another caller then verifies it"
        " with `verifyLesson`. Default: false.",
    )
    conditions: JSON | None = strawberry.field(
        default=None, description="Conditions of its trigger, a JSON object, which `retrieveGraph` selects by."
    )
    tags: list[str] | None = strawberry.field(
        default=None, description=f"At most {MAX_TAGS} labels of 1 to {MAX_LABEL} characters each."
    )
    scope: str | None = strawberry.field(
        default=None,
        description=f"Scope of the lesson, at most {MAX_LABEL} characters. Default: the credential's only scope, or"
        " unscoped for a credential of all scopes.",
    )
    sensitivity: Sensitivity | None = strawberry.field(
        default=None, description="Sensitivity of the lesson. Default: LOW, or the credential's ceiling if lower."
    )
    timestamp: datetime | None = strawberry.field(
        default=None, description="Instant at which it was learned. Default: now."
    )
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> LearnLesson:
        return LearnLesson(
            task=self.task,
            solution=self.solution,
            mistake=self.mistake or "",
            trigger=self.trigger or "",
            anti_pattern=self.anti_pattern or "",
            correct_pattern=self.correct_pattern or "",
            code_example=self.code_example or "",
            domains=tuple(self.domains or ()),
            confidence=CONFIDENCE if self.confidence is None else self.confidence,
            source=SOURCE if self.source is None else self.source,
            source_challenge_hash=self.source_challenge_hash or "",
            verified=bool(self.verified),
            conditions=cast(dict[str, Any] | None, self.conditions),
            tags=tuple(self.tags or ()),
            scope=self.scope,
            sensitivity=self.sensitivity,
            timestamp=self.timestamp,
            idempotency_key=self.idempotency_key,
        )


@strawberry.type(description="The lesson was stored.")
class LearnLessonSuccess:
    learned: strawberry.Private[LearnedLesson]

    @strawberry.field(description="The lesson, or the known lesson that it was merged with.")
    def lesson(self) -> MemoryRecord:
        return MemoryRecord.of(self.learned.captured.primary)

    @strawberry.field(description="Whether it was merged with a known lesson, whose frequency grew by one.")
    def merged(self) -> bool:
        return self.learned.is_merged

    @strawberry.field(
        description=f"Ids of the lessons that were retired, because over {KEPT} of the scope and sensitivity are known."
    )
    def retired_ids(self) -> list[strawberry.ID]:
        return _ids(self.learned.retired)

    @strawberry.field(description="Proof that the lesson was stored.")
    def receipt(self) -> CaptureReceipt:
        captured = self.learned.captured
        return CaptureReceipt.of(
            captured.candidate,
            captured.sequence,
            mentions=captured.mentions,
            changes=captured.changes,
            unindexed_terms=captured.unindexed_terms,
            warnings=self.learned.warnings,
        )

    @strawberry.field(description="Whether this is the result of an earlier request with the same idempotency key.")
    def replayed(self) -> bool:
        return self.learned.captured.replayed


LearnLessonResult = Annotated[
    LearnLessonSuccess | Refusal,
    strawberry.union("LearnLessonResult", description="Result of learning a lesson, or the error that refused it."),
]


@strawberry.input(description="Note whether a lesson was verified. Who wrote its advice needs access admin to say so.")
class VerifyLessonInput:
    record_id: strawberry.ID = strawberry.field(description=_LESSON_ID)
    verified: bool = strawberry.field(
        default=True, description="True if it was verified; false if that was tried and failed."
    )
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> VerifyLesson:
        return VerifyLesson(
            record_id=given_id(self.record_id, path=["recordId"]),
            verified=self.verified,
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )


@strawberry.input(description="Remove a lesson that is wrong. It is retracted, and stays as history.")
class RemoveLessonInput:
    record_id: strawberry.ID = strawberry.field(description=_LESSON_ID)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> RemoveLesson:
        return RemoveLesson(
            record_id=given_id(self.record_id, path=["recordId"]),
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )


@strawberry.type(description="Lessons as text for a prompt.")
class Playbook:
    text: str = strawberry.field(
        description="One line for each lesson, which ends with its number in brackets, as in `[1]`; empty without"
        " lessons."
    )
    lesson_ids: list[strawberry.ID] = strawberry.field(
        description="Ids of the lessons in the text, UUIDs, in the order of their numbers: `[1]` cites the first."
    )
    playbook_id: strawberry.ID = strawberry.field(
        description="Id by which `creditLessons` credits these lessons, a UUID; for"
        f" {RETENTION.days} days, by the same credential."
    )

    @classmethod
    def of(cls, found: service.Playbook) -> Self:
        return cls(text=found.text, lesson_ids=_ids(found.lessons), playbook_id=strawberry.ID(str(found.id)))


@strawberry.input(
    description="Credit the lessons of one playbook as helpful, or those in this credential's latest playbooks. Give"
    " `playbookId` or `windowSeconds`."
)
class CreditLessonsInput:
    playbook_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="`playbookId` of a playbook that this credential got: just its lessons are credited.",
    )
    lesson_ids: list[strawberry.ID] | None = strawberry.field(
        default=None,
        description="Those lessons of the playbook that helped, some of its `lessonIds`; null for all of them. Needs"
        " `playbookId`.",
    )
    window_seconds: int | None = strawberry.field(
        default=None,
        description=f"How far back playbooks are credited, in seconds, from 1 to {MAX_CREDITED_S:,}. Default without a"
        f" `playbookId`: {DEFAULT_CREDITED_S}.",
    )

    async def credited_by(self, lessons: service.Lessons, trust: Trust) -> list[UUID]:
        """Return the lessons that are credited. Raises InvalidInput for fields that exclude each other."""
        if self.playbook_id is None:
            if self.lesson_ids is not None:
                raise errors.InvalidInput(
                    "lessonIds: give the playbookId of the playbook that has them, too", path=["lessonIds"]
                )
            window_s = DEFAULT_CREDITED_S if self.window_seconds is None else self.window_seconds
            return await lessons.credit(trust, window_s=window_s)
        if self.window_seconds is not None:
            raise errors.InvalidInput(
                "windowSeconds: a playbook is named by playbookId; give one of the two", path=["windowSeconds"]
            )
        return await lessons.credit_playbook(
            trust,
            parse_id(self.playbook_id, path=["playbookId"]),
            lessons=None
            if self.lesson_ids is None
            else [parse_id(id_, path=["lessonIds", str(n)]) for n, id_ in enumerate(self.lesson_ids)],
        )


@strawberry.input(description="Retire lessons that do not help.")
class RetireLessonsInput:
    scope: str | None = strawberry.field(
        default=None,
        description="Scope of the lessons. Default: the credential's only scope, or unscoped for a credential of all"
        " scopes.",
    )
    min_retrievals: int = strawberry.field(
        default=STALE_RETRIEVALS,
        description="Retrievals, from 1, from which a lesson counts as unhelpful if (helpful + 1) / (retrievals + 2) is"
        f" below {STALE_HIT_RATE}.",
    )
    fraction: float = strawberry.field(
        default=DROPPED,
        description="Part of the unhelpful lessons to retire, from 0 to 1, those of the least utility; rounded up, at"
        " each sensitivity by itself.",
    )


@strawberry.type(description="The lessons that a request counted or retired.")
class LessonsChanged:
    lesson_ids: list[strawberry.ID] = strawberry.field(description="Their ids, UUIDs.")

    @classmethod
    def of(cls, ids: Sequence[UUID]) -> Self:
        return cls(lesson_ids=_ids(ids))


LessonsResult = Annotated[
    LessonsChanged | Refusal,
    strawberry.union("LessonsResult", description="The lessons that were changed, or the error that refused it."),
]


def _ids(ids: Sequence[UUID]) -> list[strawberry.ID]:
    return [strawberry.ID(str(id_)) for id_ in ids]
