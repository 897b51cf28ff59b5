"""The fields by which callers follow changes: a query for pages, and a subscription for streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, cast

import strawberry

from stratagraph.graphql.context import Context, Info
from stratagraph.graphql.types.changes import Change, ChangeConnection, ChangeFilter
from stratagraph.memory.changes import filters
from stratagraph.memory.changes.service import MAX_PAGE
from stratagraph.store.feed.change_log import Place

DEFAULT_CHANGES = 100
_Wanted = Annotated[
    ChangeFilter | None, strawberry.argument(description="Which changes to tell of; null for all that are visible.")
]
_Position = (
    "`position` of a change, or `pageInfo.endCursor` of `changes`, not over a day old; null for the present, so that"
)


@strawberry.type(description="Pages of changes.")
class ChangeQueries:
    @strawberry.field(
        description="Return a page of the changes after a position, oldest first, as far as the caller may see what"
        " they concern now. Without `after`, return no changes and the present position as `pageInfo.endCursor`: read"
        " it, then the records, then the changes after it, and nothing is missed. POSITION_EXPIRED where the changes"
        " after the position are no longer kept."
    )
    async def changes(
        self,
        info: Info,
        after: Annotated[
            str | None, strawberry.argument(description=f"{_Position} only the present position is returned.")
        ] = None,
        first: Annotated[
            int | None,
            strawberry.argument(
                description=f"Maximum number of changes to return, from 1 to {MAX_PAGE}; the default is"
                f" {DEFAULT_CHANGES}."
            ),
        ] = DEFAULT_CHANGES,
        filter: _Wanted = None,  # noqa: A002 - the contract's name
    ) -> ChangeConnection:
        context = info.context
        page = await context.services.changes.page(
            context.trust,
            after=after,
            first=DEFAULT_CHANGES if first is None else first,
            wanted=filter.as_request() if filter is not None else None,
        )
        return ChangeConnection.of(page)


class Followed:
    """The changes that a subscription asks for. A transport takes what it asks for; iterating executes it alone."""

    def __init__(self, context: Context, wanted: filters.ChangeFilter, place: Place | None) -> None:
        self.context = context
        self.wanted = wanted
        self.place = place

    async def __aiter__(self) -> AsyncIterator[Change]:
        async with self.context.services.changes.stream(self.context.trust, self.place) as stream:
            while True:
                await stream.wait()
                for change in (await stream.take()).changes:
                    if self.wanted.admits(stream.tenant, change):
                        yield Change.of(change, stream.tenant)


@strawberry.type(description="Streams. They are served over WebSocket (graphql-transport-ws) and server-sent events.")
class Subscription:
    @strawberry.subscription(
        description="Send the changes after a position, and then each further one when it is committed, as far as the"
        " caller may see what it concerns when it is sent."
    )
    async def changed(
        self,
        info: Info,
        filter: _Wanted = None,  # noqa: A002 - the contract's name
        after: Annotated[
            str | None, strawberry.argument(description=f"{_Position} what is committed from now on is sent.")
        ] = None,
    ) -> AsyncGenerator[Change, None]:
        context = info.context
        wanted = filter.as_request() if filter is not None else filters.ChangeFilter()
        place = await context.services.changes.check(context.trust, after=context.resume_after or after, wanted=wanted)
        # Strawberry knows a subscription by the type of a generator; the executor takes any asynchronous iterable.
        return cast("AsyncGenerator[Change, None]", Followed(context, wanted, place))
