"""What a front end shows around a record or a name: threads, disputes, versions of plans, and handles of records."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

import strawberry

from stratagraph.graphql.arguments import After
from stratagraph.graphql.context import Context, Info
from stratagraph.graphql.past import AsOf, shown_as_of
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.records import pictures
from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.store.model import records as domain
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.records.pictures import PARTIES

DEFAULT_TURNS = 50
DEFAULT_EPISODES = 20


def _first(what: str, default: int) -> object:
    return strawberry.argument(
        description=f"Maximum number of {what} to return, from 1 to {MAX_PAGE}; the default is {default}."
    )


@strawberry.type(description="A page of records.")
class RecordPage:
    nodes: list[MemoryRecord] = strawberry.field(
        description="The records of this page. There may be fewer than asked for although more follow."
    )
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

    @classmethod
    def of(cls, page: pictures.ShownPage, context: Context) -> Self:
        as_of = shown_as_of(context, page.as_of)
        return cls(
            nodes=[MemoryRecord.of(record, as_of) for record in page.records],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )


@strawberry.type(description="A thread: what was said and done under one `thread_id`.")
class Thread:
    state: strawberry.Private[pictures.ThreadState]
    id: str = strawberry.field(description="The thread's `thread_id`.")
    working: MemoryRecord | None = strawberry.field(
        description="The working state of the thread; the one last changed where the caller may read several, of other"
        " scopes and sensitivities. Null where there is none."
    )

    @strawberry.field(description="The episodes that the caller may read in full, the last opened first.")
    async def episodes(
        self,
        info: Info,
        first: Annotated[int | None, _first("episodes", DEFAULT_EPISODES)] = DEFAULT_EPISODES,
        after: After = None,
    ) -> RecordPage:
        page = await info.context.services.lookup.pictures.episodes(
            info.context.trust,
            self.id,
            first=DEFAULT_EPISODES if first is None else first,
            after=after,
            as_of=self.state.as_of,
        )
        return RecordPage.of(page, info.context)

    @strawberry.field(
        description="The events that the caller may read in full: those of the last opened episode first, and within"
        " one the last that arrived first."
    )
    async def turns(
        self,
        info: Info,
        first: Annotated[int | None, _first("events", DEFAULT_TURNS)] = DEFAULT_TURNS,
        after: After = None,
    ) -> RecordPage:
        page = await info.context.services.lookup.pictures.turns(
            info.context.trust,
            self.id,
            first=DEFAULT_TURNS if first is None else first,
            after=after,
            as_of=self.state.as_of,
        )
        return RecordPage.of(page, info.context)

    @classmethod
    def of(cls, state: pictures.ThreadState, context: Context) -> Self:
        as_of = shown_as_of(context, state.as_of)
        working = MemoryRecord.of(state.working, as_of) if state.working is not None else None
        return cls(state=state, id=state.id, working=working)


@strawberry.type(description="Records that contest each other, directly or over others that the caller may read.")
class Dispute:
    parties: list[MemoryRecord] = strawberry.field(
        description=f"The parties that the caller may see, the newest first, at most {PARTIES}. One that the caller may"
        " not read in full is redacted, and leads to no others. Alone where the others are hidden."
    )
    since: datetime | None = strawberry.field(
        description="Instant in UTC of the first contest that the caller may see; null where it may see none."
    )


@strawberry.type(description="A page of open disputes.")
class DisputeConnection:
    nodes: list[Dispute] = strawberry.field(
        description="The disputes of this page, the one with the newest contested record first. There may be fewer than"
        " `first` although more follow."
    )
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

    @classmethod
    def of(cls, page: pictures.DisputePage) -> Self:
        return cls(
            nodes=[
                Dispute(parties=[MemoryRecord.of(record) for record in one.parties], since=one.since)
                for one in page.disputes
            ],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )


@strawberry.type(description="A version of a plan.")
class PlanVersion:
    version: str = strawberry.field(description="Label of the version, as `planGraph` and `planDiff` take it.")
    step_count: int = strawberry.field(description="Number of its steps, from 0.")
    current: bool = strawberry.field(description="Whether it is part of the current truth: active or contested.")
    record: MemoryRecord = strawberry.field(description="The record of the version.")

    @classmethod
    def of(cls, record: domain.MemoryRecord, as_of: AsOf | None) -> Self:
        payload = record.payload or {}
        return cls(
            version=str(payload.get("version", "")),
            step_count=len(payload.get("nodes") or ()),
            current=record.state in (RecordState.ACTIVE, RecordState.CONTESTED),
            record=MemoryRecord.of(record, as_of),
        )


@strawberry.input(description="A skill or plan by its name, and one of its versions.")
class ProcedureHandle:
    name: str = strawberry.field(description="The `skill_name` of the skill, or the `plan_id` of the plan.")
    version: str | None = strawberry.field(
        default=None, description="Label of the version; null for the newest current one, else the newest."
    )


@strawberry.input(one_of=True, description="The name by which a record was captured; exactly one of these.")
class RecordHandle:
    skill: strawberry.Maybe[ProcedureHandle] = strawberry.field(description="Name and version of a skill.")
    plan: strawberry.Maybe[ProcedureHandle] = strawberry.field(description="Name and version of a plan.")
    ref: strawberry.Maybe[str] = strawberry.field(description="The `ref` of an event.")
    working: strawberry.Maybe[str] = strawberry.field(description="The `thread_id` of a working state.")

    def as_handle(self) -> pictures.Handle:
        for field, type_ in (("skill", MemoryType.COMPETENCE), ("plan", MemoryType.PLAN_GRAPH)):
            given = getattr(self, field)
            if given is not None:
                one: ProcedureHandle = given.value
                return pictures.Handle(type=type_, name=one.name, version=one.version, path=("handle", field))
        if self.ref is not None:
            return pictures.Handle(type=MemoryType.EPISODIC, name=self.ref.value, path=("handle", "ref"))
        assert self.working is not None  # the schema asks for exactly one
        return pictures.Handle(type=MemoryType.WORKING, name=self.working.value, path=("handle", "working"))
