"""The queries and mutations about lessons."""

from __future__ import annotations

from typing import Annotated

import strawberry

from stratagraph.graphql.arguments import After, AsOfInstant
from stratagraph.graphql.context import Info
from stratagraph.graphql.revising import revised
from stratagraph.graphql.types.enums import Window
from stratagraph.graphql.types.lessons import (
    CreditLessonsInput,
    LearnLessonInput,
    LearnLessonResult,
    LearnLessonSuccess,
    LessonsChanged,
    LessonsResult,
    Playbook,
    RemoveLessonInput,
    RetireLessonsInput,
    VerifyLessonInput,
)
from stratagraph.graphql.types.pictures import RecordPage
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.revision import RevisionResult
from stratagraph.memory.lessons.playbook import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS
from stratagraph.memory.lessons.service import MAX_LISTED
from stratagraph.memory.lessons.utility import KEPT
from stratagraph.memory.lessons.windows import zone_of

DEFAULT_LESSONS = 20
DEFAULT_TOLD = 10

Scope = Annotated[
    str | None,
    strawberry.argument(description="Only lessons of this scope and unscoped ones; null for all visible scopes."),
]
TokenBudget = Annotated[
    int | None,
    strawberry.argument(
        description=f"Maximum number of tokens of the text, from {MIN_TOKENS} to {MAX_TOKENS:,}, as a rather high"
        f" estimate; {DEFAULT_TOKENS:,} by default. Lessons that have no room are left out."
    ),
]
Limit = Annotated[
    int | None,
    strawberry.argument(description=f"Maximum number of lessons, from 1 to {KEPT}; the default is {DEFAULT_TOLD}."),
]


AboutQuery = Annotated[
    str | None,
    strawberry.argument(
        description="Only lessons about this task or question: by the words of their triggers and, with an embedder, by"
        " meaning. Null for all."
    ),
]
LearnedWithin = Annotated[
    Window | None, strawberry.argument(description="Only lessons learned within this window; ALL by default.")
]
WindowZone = Annotated[
    str | None,
    strawberry.argument(
        description="Time zone by whose clock the window begins, such as `Europe/Berlin` or `+02:00`; null for UTC."
    ),
]
OfSource = Annotated[
    str | None, strawberry.argument(description="Only lessons with exactly this `source`; null for all.")
]
OfTrigger = Annotated[
    str | None,
    strawberry.argument(
        description="Only lessons with this trigger, or task, ignoring case, accents and spacing; null for all."
    ),
]
First = Annotated[
    int | None,
    strawberry.argument(
        description=f"Maximum number of lessons to return, from 1 to {MAX_LISTED}; the default is {DEFAULT_LESSONS}."
    ),
]


@strawberry.type(description="Queries about lessons.")
class LessonQueries:
    @strawberry.field(
        description="Return current lessons that the caller may read in full: with a query those that are about it,"
        " best first; else the last learned first. The filters look at the last 500 that the caller may read.",
        deprecation_reason="Use `lessonPage`, which has the same lessons page by page.",
    )
    async def lessons(
        self,
        info: Info,
        query: AboutQuery = None,
        scope: Scope = None,
        first: First = DEFAULT_LESSONS,
        window: LearnedWithin = Window.ALL,
        time_zone: WindowZone = None,
        source: OfSource = None,
        trigger: OfTrigger = None,
    ) -> list[MemoryRecord]:
        found = await info.context.services.lessons.find(
            info.context.trust,
            query=query,
            scope=scope,
            window=window or Window.ALL,
            zone=zone_of(time_zone, path=["timeZone"]),
            source=source,
            trigger=trigger,
            first=DEFAULT_LESSONS if first is None else first,
        )
        info.context.record.touch(len(found))
        return [MemoryRecord.of(record) for record in found]

    @strawberry.field(
        description="Return a page of the current lessons that the caller may read in full: with a query those that are"
        " about it, best first; else the last learned first. The last 500 that the caller may read are looked at. With"
        " `asOf`, of those that were current then, found by words alone, among the last 1,000 skills and lessons."
    )
    async def lesson_page(
        self,
        info: Info,
        query: AboutQuery = None,
        scope: Scope = None,
        first: First = DEFAULT_LESSONS,
        after: After = None,
        window: LearnedWithin = Window.ALL,
        time_zone: WindowZone = None,
        source: OfSource = None,
        trigger: OfTrigger = None,
        as_of: AsOfInstant = None,
    ) -> RecordPage:
        page = await info.context.services.lessons.page(
            info.context.trust,
            query=query,
            scope=scope,
            window=window or Window.ALL,
            zone=zone_of(time_zone, path=["timeZone"]),
            source=source,
            trigger=trigger,
            first=DEFAULT_LESSONS if first is None else first,
            after=after,
            as_of=as_of,
        )
        return RecordPage.of(page, info.context)

    @strawberry.field(
        description="Return lessons as text for a system prompt, one line each, their texts quoted: with a query those"
        " that are about it, and an empty text if none is; else the last learned ones under `## RECENT LESSONS`. Counts"
        " nothing unless asked to; credit the lessons that helped with `creditLessons`."
    )
    async def playbook(
        self,
        info: Info,
        query: Annotated[
            str | None, strawberry.argument(description="The task at hand; null for the last learned lessons.")
        ] = None,
        scope: Scope = None,
        limit: Limit = DEFAULT_TOLD,
        token_budget: TokenBudget = DEFAULT_TOKENS,
        record_retrievals: Annotated[
            bool | None,
            strawberry.argument(
                description="Whether each lesson in the text counts as retrieved now, so that the utility of one that"
                " is told and not credited falls. By default a lesson counts when it is credited."
            ),
        ] = False,
    ) -> Playbook:
        found = await info.context.services.lessons.playbook(
            info.context.trust,
            query=query,
            scope=scope,
            limit=DEFAULT_TOLD if limit is None else limit,
            token_budget=DEFAULT_TOKENS if token_budget is None else token_budget,
            is_counted=bool(record_retrievals),
        )
        return Playbook.of(found)

    @strawberry.field(
        description="Return the mistakes of the last learned lessons as text for a prompt, one line each, under"
        " `## RECENT FAILURES`; empty if there are none. Counts no retrievals."
    )
    async def recent_failures(
        self, info: Info, scope: Scope = None, limit: Limit = DEFAULT_TOLD, token_budget: TokenBudget = DEFAULT_TOKENS
    ) -> str:
        return await info.context.services.lessons.failures(
            info.context.trust,
            scope=scope,
            limit=DEFAULT_TOLD if limit is None else limit,
            token_budget=DEFAULT_TOKENS if token_budget is None else token_budget,
        )


@strawberry.type(description="Mutations of lessons.")
class LessonMutations:
    @strawberry.mutation(
        description="Learn a lesson from a mistake, or merge it with a known one that has an equal task or, with an"
        f" embedder, nearly the same meaning. The lessons of a scope and sensitivity beyond {KEPT} are retired, of the"
        " author with the most first: the newest, then verified ones, then those of most utility stay."
    )
    async def learn_lesson(
        self,
        info: Info,
        input: Annotated[LearnLessonInput, strawberry.argument(description="The lesson.")],  # noqa: A002
    ) -> LearnLessonResult:
        context = info.context
        context.record.touch(1)
        return LearnLessonSuccess(learned=await context.services.lessons.learn(context.trust, input.as_request()))

    @strawberry.mutation(
        description="Note that a lesson was verified, or that this was tried and failed. A change of what the lesson"
        " advises drops it. FORBIDDEN for who wrote its advice, without access admin."
    )
    async def verify_lesson(
        self,
        info: Info,
        input: Annotated[VerifyLessonInput, strawberry.argument(description="The lesson, and the result.")],  # noqa: A002
    ) -> RevisionResult:
        return await revised(info, input)

    @strawberry.mutation(description="Remove a lesson that is wrong: it is retracted, and stays as history.")
    async def remove_lesson(
        self,
        info: Info,
        input: Annotated[RemoveLessonInput, strawberry.argument(description="The lesson, and the reason.")],  # noqa: A002
    ) -> RevisionResult:
        return await revised(info, input)

    @strawberry.mutation(
        description="Count as helpful the lessons of one playbook, or each once those of all that `playbook` recently"
        " returned to this credential. A playbook is credited once: its id again counts nothing and returns the same"
        " lessons, the same window again returns none."
    )
    async def credit_lessons(
        self,
        info: Info,
        input: Annotated[CreditLessonsInput, strawberry.argument(description="The playbook, or the window.")],  # noqa: A002
    ) -> LessonsResult:
        context = info.context
        return LessonsChanged.of(await input.credited_by(context.services.lessons, context.trust))

    @strawberry.mutation(
        description="Retire the least useful part of the lessons of a scope that are often retrieved and hardly ever"
        " help. They leave the current truth and stay as history."
    )
    async def retire_lessons(
        self,
        info: Info,
        input: Annotated[RetireLessonsInput, strawberry.argument(description="The lessons to look at.")],  # noqa: A002
    ) -> LessonsResult:
        context = info.context
        return LessonsChanged.of(
            await context.services.lessons.drop(
                context.trust, scope=input.scope, retrievals=input.min_retrievals, fraction=input.fraction
            )
        )
