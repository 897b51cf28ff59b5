"""The history of a record, version by version."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.context import Context
from stratagraph.graphql.past import AsOf, PastLoaders
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.records.lookup import History
from stratagraph.store.model.clock import RESOLUTION


@strawberry.type(description="One version of a record and the time in which it was the current one.")
class RecordVersion:
    valid_from: datetime = strawberry.field(description="Instant in UTC from which this version was current.")
    valid_to: datetime | None = strawberry.field(
        description="Instant in UTC at which the next version replaced this one; null for the current version."
    )
    record: MemoryRecord = strawberry.field(
        description="The record as of the last instant of this version, its salience and relations included; the"
        " current version as of now."
    )


@strawberry.type(description="A page of a record's versions, newest first.")
class RecordHistory:
    nodes: list[RecordVersion] = strawberry.field(description="The versions of this page, newest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")

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
                        AsOf(version.valid_to - RESOLUTION, loaders) if version.valid_to is not None else None,
                    ),
                )
                for version in found.versions
            ],
            page_info=PageInfo(has_next_page=found.has_next, end_cursor=found.end_cursor),
        )
