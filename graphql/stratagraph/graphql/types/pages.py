"""Keyset pagination."""

from __future__ import annotations

import strawberry


@strawberry.type(description="Position of a page in a list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more items follow this page.")
    end_cursor: str | None = strawberry.field(
        description="Cursor of the last item; give it as `after` to get the next page. Null on an empty page with none"
        " to follow."
    )
