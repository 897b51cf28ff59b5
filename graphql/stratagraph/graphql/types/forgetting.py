"""What will be forgotten, and when."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.records import MemoryRecord, PageInfo
from stratagraph.memory.forgetting import MAX_TOTAL, Preview


@strawberry.type(description="A record that will be pruned, if nothing happens before.")
class ForgettableRecord:
    record: MemoryRecord
    due_at: datetime = strawberry.field(description="From when on it may be pruned.")


@strawberry.type(description="What would be pruned by an instant if nothing happened before it; oldest due first.")
class ForgetPreview:
    nodes: list[ForgettableRecord]
    total: int = strawberry.field(description=f"Of all pages; exact up to {MAX_TOTAL:,}, which may mean more.")
    page_info: PageInfo

    @classmethod
    def of(cls, preview: Preview) -> Self:
        return cls(
            nodes=[
                ForgettableRecord(record=MemoryRecord.of(item.record), due_at=item.due_at) for item in preview.items
            ],
            total=preview.total,
            page_info=PageInfo(has_next_page=preview.has_next, end_cursor=preview.end_cursor),
        )
