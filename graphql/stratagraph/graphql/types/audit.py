"""The audit log of one record, page by page."""

from __future__ import annotations

from typing import Self

import strawberry

from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.provenance import AuditEntry
from stratagraph.memory.records.lookup import AuditPage


@strawberry.type(description="A page of a record's audit log, oldest entry first.")
class AuditLog:
    nodes: list[AuditEntry] = strawberry.field(description="The entries of this page, oldest first.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the log.")

    @classmethod
    def of(cls, page: AuditPage) -> Self:
        return cls(
            nodes=[AuditEntry.of(entry) for entry in page.entries],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )
