"""The queries that answer one picture of a front end each: histories of slots, threads, disputes, versions, names."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from stratagraph.graphql.arguments import After, AsOfInstant, RecordId, ValidAt, maximum, record_uuid
from stratagraph.graphql.context import Info
from stratagraph.graphql.limits.costs import PARTIES, PARTY
from stratagraph.graphql.past import shown_as_of
from stratagraph.graphql.types.forgetting import FadingConnection
from stratagraph.graphql.types.labels import LabelConnection
from stratagraph.graphql.types.pictures import (
    DisputeConnection,
    PlanVersion,
    RecordHandle,
    RecordPage,
    Thread,
)
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.memory.records.pictures import MAX_VERSIONS

DEFAULT_PAGE = 50
DEFAULT_ENTITIES = 20


OfScopes = Annotated[
    list[str] | None,
    strawberry.argument(
        description="Only records of these scopes, at most 100; an empty text is for unscoped records. Null for all."
    ),
]


@strawberry.type(description="Queries that answer one picture of a front end each.")
class ListQueries:
    @strawberry.field(
        description="Return the facts that hold or held the slot of a fact, in any state, in the order of their"
        " validity: those of its subject and predicate, in its scope and sensitivity. Empty where the caller may not"
        " read the record in full; INVALID_INPUT for one that it may read and that is no fact."
        " `records(filter: {slotOf:})` has the same facts page by page."
    )
    async def slot_history(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        first: Annotated[
            int | None, strawberry.argument(description=maximum("facts, the last stored,", MAX_PAGE))
        ] = MAX_PAGE,
        as_of: AsOfInstant = None,
    ) -> list[MemoryRecord]:
        context = info.context
        found = await context.services.lookup.pictures.slot_history(
            context.trust, record_uuid(id), first=MAX_PAGE if first is None else first, as_of=as_of
        )
        then = shown_as_of(context, found.as_of)
        return [MemoryRecord.of(record, then) for record in found.records]

    @strawberry.field(
        description=f"Return the versions of a plan that the caller may read in full, the newest first, at most"
        f" {MAX_VERSIONS}; empty where it may read none."
    )
    async def plan_versions(
        self,
        info: Info,
        plan_id: Annotated[str, strawberry.argument(description="The plan's `planId`.")],
        as_of: AsOfInstant = None,
    ) -> list[PlanVersion]:
        context = info.context
        found = await context.services.lookup.pictures.plan_versions(context.trust, plan_id, as_of=as_of)
        then = shown_as_of(context, found.as_of)
        return [PlanVersion.of(record, then) for record in found.records]

    @strawberry.field(
        description="Return the record that was captured under a name: of several the newest that is part of the"
        " current truth, else the newest. Null where the caller may read none in full."
    )
    async def record_by_handle(
        self,
        info: Info,
        handle: Annotated[RecordHandle, strawberry.argument(description="The name.")],
        as_of: AsOfInstant = None,
        valid_at: ValidAt = None,
    ) -> MemoryRecord | None:
        context = info.context
        found = await context.services.lookup.pictures.by_handle(
            context.trust, handle.as_handle(), as_of=as_of, valid_at=valid_at
        )
        then = shown_as_of(context, found.as_of)
        return MemoryRecord.of(found.records[0], then) if found.records else None

    @strawberry.field(
        description="Return a thread: its episodes, its events and its working state; null where the caller may read"
        " neither an episode nor a working state of it."
    )
    async def thread(
        self,
        info: Info,
        id: Annotated[str, strawberry.argument(description="The thread's `thread_id`.")],  # noqa: A002 - the contract's name
        as_of: AsOfInstant = None,
    ) -> Thread | None:
        context = info.context
        found = await context.services.lookup.pictures.thread(context.trust, id, as_of=as_of)
        return Thread.of(found, context) if found is not None else None

    @strawberry.field(
        description="Return a page of the open disputes, each with all its parties; the one with the newest contested"
        " record first."
    )
    async def disputes(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description=maximum("disputes", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> DisputeConnection:
        context = info.context
        page = await context.services.lookup.pictures.disputes(
            context.trust, first=DEFAULT_PAGE if first is None else first, after=after
        )
        further = sum(max(0, len(one.parties) - PARTIES) for one in page.disputes)
        if context.ticket is not None and further:
            context.ticket.admission.owe(context.ticket.party, PARTY * further)
        return DisputeConnection.of(page)

    @strawberry.field(
        description="Return a page of the records whose salience falls to the threshold of pruning by an instant, and"
        " which would then be pruned, if they were neither read nor changed before it. Changes nothing."
    )
    async def fading(
        self,
        info: Info,
        until: Annotated[
            datetime, strawberry.argument(description="Instant to look ahead to, from now to ten years ahead.")
        ],
        first: Annotated[int | None, strawberry.argument(description=maximum("records", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> FadingConnection:
        context, forgetting = info.context, info.context.services.forgetting
        page = await forgetting.preview(
            context.trust, until, first=DEFAULT_PAGE if first is None else first, after=after, counts=False
        )
        return FadingConnection.of(page, lambda: forgetting.count(context.trust, until))

    @strawberry.field(
        description="Return a page of the entities known by a name or alias, the oldest first. With `asOf`, of those"
        " that were current then and have the name now."
    )
    async def entity_page(
        self,
        info: Info,
        name: Annotated[
            str, strawberry.argument(description="Full name or alias; upper and lower case and spacing are ignored.")
        ],
        scope: Annotated[
            str | None, strawberry.argument(description="Only entities of this scope; null for all visible scopes.")
        ] = None,
        first: Annotated[
            int | None, strawberry.argument(description=maximum("entities", DEFAULT_ENTITIES))
        ] = DEFAULT_ENTITIES,
        after: After = None,
        as_of: AsOfInstant = None,
    ) -> RecordPage:
        context = info.context
        page = await context.services.lookup.pictures.entities(
            context.trust,
            name,
            scope=scope,
            first=DEFAULT_ENTITIES if first is None else first,
            after=after,
            as_of=as_of,
        )
        return RecordPage.of(page, context)

    @strawberry.field(
        description="Return a page of the tags of the current records that the caller may read in full, the most used"
        " first."
    )
    async def tags_in_use(
        self,
        info: Info,
        scopes: OfScopes = None,
        first: Annotated[int | None, strawberry.argument(description=maximum("tags", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> LabelConnection:
        page = await info.context.services.lookup.labels.page(
            info.context.trust, "tags", scopes=scopes, first=DEFAULT_PAGE if first is None else first, after=after
        )
        return LabelConnection.of(page)

    @strawberry.field(
        description="Return a page of the predicates of the current facts that the caller may read in full, the most"
        " used first. `predicates` has what is registered of them."
    )
    async def predicates_in_use(
        self,
        info: Info,
        scopes: OfScopes = None,
        first: Annotated[
            int | None, strawberry.argument(description=maximum("predicates", DEFAULT_PAGE))
        ] = DEFAULT_PAGE,
        after: After = None,
    ) -> LabelConnection:
        page = await info.context.services.lookup.labels.page(
            info.context.trust, "predicates", scopes=scopes, first=DEFAULT_PAGE if first is None else first, after=after
        )
        return LabelConnection.of(page)
