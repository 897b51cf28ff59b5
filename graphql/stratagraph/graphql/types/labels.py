"""Tags and predicates in use."""

from __future__ import annotations

from typing import Self

import strawberry

from stratagraph.graphql.types.pages import PageInfo
from stratagraph.memory.records import labels
from stratagraph.store.records.labels import LOOKED


@strawberry.type(description="A tag of records, or a predicate of facts, that is in use.")
class Label:
    name: str = strawberry.field(description="The tag, or the predicate as facts spell it.")
    uses: int = strawberry.field(description="Number of the counted records that have it, at least 1.")


@strawberry.type(description="A page of labels in use.")
class LabelConnection:
    nodes: list[Label] = strawberry.field(description="The labels of this page, the most used first.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")
    looked: int = strawberry.field(
        description=f"Number of records that were counted, the newest, from 0 to {LOOKED:,}."
    )
    complete: bool = strawberry.field(
        description="Whether these are all current ones that the caller may read in full."
    )

    @classmethod
    def of(cls, page: labels.LabelPage) -> Self:
        return cls(
            nodes=[Label(name=one.name, uses=one.uses) for one in page.labels],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
            looked=page.looked,
            complete=page.is_complete,
        )
