"""What a record was, version by version."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.context import Context
from stratagraph.graphql.types.records import MemoryRecord, PageInfo, PastLoaders, Then
from stratagraph.memory.lookup import History
from stratagraph.store.model.clock import RESOLUTION


@strawberry.type(description="A record while it was so.")
class RecordVersion:
    valid_from: datetime = strawberry.field(description="The instant from which it was so.")
    valid_to: datetime | None = strawberry.field(
        description="The instant at which it changed; null for what it is now."
    )
    record: MemoryRecord = strawberry.field(
        description="As it was at the last instant of this version, salience and relations included; for what it is"
        " now, at the present."
    )


@strawberry.type(description="A page of a record's versions, newest first.")
class RecordHistory:
    nodes: list[RecordVersion]
    page_info: PageInfo

    @classmethod
    def of(cls, found: History, context: Context) -> Self:
        loaders = PastLoaders(context)
        return cls(
            nodes=[
                RecordVersion(
                    valid_from=version.valid_from,
                    valid_to=version.valid_to,
                    record=MemoryRecord.of(
                        version.record,
                        Then(version.valid_to - RESOLUTION, loaders) if version.valid_to is not None else None,
                    ),
                )
                for version in found.versions
            ],
            page_info=PageInfo(has_next_page=found.has_next, end_cursor=found.end_cursor),
        )
