"""The preview of pruning: which records will be pruned, and when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.records.forgetting import MAX_TOTAL, Forgettable, Preview


@strawberry.type(description="A record that will be pruned unless something changes its salience before.")
class ForgettableRecord:
    record: MemoryRecord = strawberry.field(description="The record as it is now.")
    due_at: datetime = strawberry.field(
        description="Instant in UTC from which the record may be pruned; never earlier than its salience allows."
    )
    awaits_learning: bool = strawberry.field(
        description="Whether the record is kept beyond `dueAt` until learning has read its episode, which it does"
        " within hours of the episode's close. It may then be kept for a skill."
    )

    @classmethod
    def of(cls, item: Forgettable) -> Self:
        return cls(record=MemoryRecord.of(item.record), due_at=item.due_at, awaits_learning=item.awaits_learning)


@strawberry.type(
    description="Records that would be pruned by an instant if they were neither read nor changed before it."
)
class ForgetPreview:
    nodes: list[ForgettableRecord] = strawberry.field(description="The records of this page, earliest due first.")
    total: int = strawberry.field(
        description=f"Number of records on all pages, from 0 to {MAX_TOTAL:,}; {MAX_TOTAL:,} means that many or more."
    )
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

    @classmethod
    def of(cls, preview: Preview) -> Self:
        return cls(
            nodes=[ForgettableRecord.of(item) for item in preview.items],
            total=preview.total or 0,
            page_info=PageInfo(has_next_page=preview.has_next, end_cursor=preview.end_cursor),
        )


@strawberry.type(description="A page of the records whose salience falls to the threshold of pruning by an instant.")
class FadingConnection:
    counter: strawberry.Private[Callable[[], Awaitable[int]]]
    nodes: list[ForgettableRecord] = strawberry.field(description="The records of this page, earliest due first.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

    @strawberry.field(
        description=f"Number of records on all pages, counted where this is selected, from 0 to {MAX_TOTAL:,};"
        f" {MAX_TOTAL:,} means that many or more."
    )
    async def total_count(self) -> int:
        return await self.counter()

    @classmethod
    def of(cls, preview: Preview, counter: Callable[[], Awaitable[int]]) -> Self:
        return cls(
            counter=counter,
            nodes=[ForgettableRecord.of(item) for item in preview.items],
            page_info=PageInfo(has_next_page=preview.has_next, end_cursor=preview.end_cursor),
        )
