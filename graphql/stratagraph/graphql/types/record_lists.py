"""Lists of records: the filter, the order, and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.context import Context
from stratagraph.graphql.past import shown_as_of
from stratagraph.graphql.types.enums import MemoryType, RecordState
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.memory.records import listing
from stratagraph.store.model.canonical import check_json
from stratagraph.store.records.listing import COUNTED, SORT_WALKS, SORTED, Range, Span

_REDACTED = "Redacted records are left out."


@strawberry.type(
    description="A page of records in the order asked for. It may have fewer than `first`, or none, although more"
    " follow: one request looks at a bounded number of records. Go on as long as `pageInfo.hasNextPage` is true."
)
class RecordConnection:
    counter: strawberry.Private[Callable[[], Awaitable[int | None]]]
    nodes: list[MemoryRecord] = strawberry.field(description="The records of this page, in the order asked for.")
    page_info: PageInfo = strawberry.field(description="Position of this page in the list.")
    cut: bool = strawberry.field(
        description="Whether older records may fit that the list does not have. By salience or by name it has the"
        f" newest {SORTED:,} that fit, among the newest {SORTED * SORT_WALKS:,} of the filter's types, states and"
        " scopes; as of a past instant, in any order but by creation, those that fit among the newest 1,000 of then."
    )

    @strawberry.field(
        description="Number of records on all pages, from 0, counted where this is selected; null where more than"
        f" {COUNTED:,} records would have to be compared, or 1,000 as of a past instant."
    )
    async def total_count(self) -> int | None:
        return await self.counter()

    @classmethod
    def of(cls, page: listing.RecordPage, context: Context, counter: Callable[[], Awaitable[int | None]]) -> Self:
        as_of = shown_as_of(context, page.as_of)
        return cls(
            counter=counter,
            nodes=[MemoryRecord.of(record, as_of) for record in page.records],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
            cut=page.is_cut,
        )


@strawberry.input(description="Which tags a record must have.")
class TagFilter:
    any: list[str] | None = strawberry.field(default=None, description="Tags of which it has at least one.")
    all: list[str] | None = strawberry.field(default=None, description="Tags all of which it has.")


@strawberry.input(description="A part of time.")
class InstantRange:
    from_: datetime | None = strawberry.field(
        name="from", default=None, description="Its first instant; null for all time before `before`."
    )
    before: datetime | None = strawberry.field(
        default=None, description="The instant before which it ends; null for all time since `from`."
    )

    def as_span(self) -> Span:
        return Span(start=self.from_, end=self.before)


@strawberry.input(description="A range of numbers from 0 to 1, its ends included.")
class NumberRange:
    least: float | None = strawberry.field(default=None, description="The least number; null for 0.")
    most: float | None = strawberry.field(default=None, description="The greatest number; null for 1.")

    def as_range(self) -> Range:
        return Range(least=self.least, most=self.most)


@strawberry.input(
    description="Which records to list: those that fit all fields. A field left out or null does not restrict the list,"
    " and an empty list leaves nothing, but for `types` and `tags.all`."
)
class RecordFilter:
    types: list[MemoryType] | None = strawberry.field(
        default=None, description="Only records of these types; empty for all."
    )
    states: list[RecordState] | None = strawberry.field(
        default=None, description=f"Only records in these states. {_REDACTED}"
    )
    scopes: list[str] | None = strawberry.field(
        default=None, description="Only records of these scopes, at most 100; an empty text is for unscoped records."
    )
    tags: TagFilter | None = strawberry.field(default=None, description="Only records with these tags.")
    ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description=f"Only records with these ids, at most {listing.MAX_IDS:,}."
    )
    name_prefix: str | None = strawberry.field(
        default=None,
        description=f"Only records whose name begins with this, ignoring case, accents and spacing. {_REDACTED}",
    )
    source: str | None = strawberry.field(
        default=None,
        description=f"Only records with a source of exactly this `ref` or `createdBy`. {_REDACTED}",
    )
    thread_id: str | None = strawberry.field(
        default=None, description=f"Only the events, the episodes and the working state of this thread. {_REDACTED}"
    )
    slot_of: strawberry.ID | None = strawberry.field(
        default=None,
        description="Only facts that are or were in the slot of this fact: those of its subject and predicate, in its"
        " scope and sensitivity, in any state. None where the caller may not read it in full, or it is no fact.",
    )
    subject: str | None = strawberry.field(
        default=None,
        description="Only facts about this: the id of an entity, its name or an alias, or a text that is no entity."
        f" {_REDACTED}",
    )
    predicate: str | None = strawberry.field(
        default=None,
        description=f"Only facts with this predicate, in any spelling: `Works At` is `works_at`. {_REDACTED}",
    )
    created: InstantRange | None = strawberry.field(default=None, description="Only records that were stored then.")
    updated: InstantRange | None = strawberry.field(default=None, description="Only records last changed then.")
    updated_since: datetime | None = strawberry.field(
        default=None, description="Only records that were stored or changed at this instant or later."
    )
    occurred: InstantRange | None = strawberry.field(default=None, description="Only records that happened then.")
    valid_at: datetime | None = strawberry.field(
        default=None,
        description="Of the facts, only those that held at this instant, superseded ones included and retracted ones"
        " not; redacted ones are not compared. Other records are listed as without it.",
    )
    confidence: NumberRange | None = strawberry.field(default=None, description="Only records as certain as this.")
    salience: NumberRange | None = strawberry.field(
        default=None, description="Only records that matter as much as this, at the instant of the first page."
    )
    scope: str | None = strawberry.field(
        default=None,
        description="Only records of this scope; empty for unscoped.",
        deprecation_reason="Since 0.1.0, use `scopes`.",
    )
    tag: str | None = strawberry.field(
        default=None, description="Only records that have this tag.", deprecation_reason="Since 0.1.0, use `tags`."
    )

    def as_filter(self) -> listing.RecordFilter:
        for name, value in (("scope", self.scope), ("tag", self.tag)):
            check_json(value, path=["filter", name])
        scopes = self.scopes
        if self.scope is not None:
            scopes = [self.scope] if scopes is None or self.scope in scopes else []
        tags = self.tags or TagFilter()
        all_tags = tags.all
        if self.tag is not None:
            all_tags = [*(all_tags or ()), self.tag]
        updated = self.updated.as_span() if self.updated is not None else Span()
        if self.updated_since is not None:
            start = max(self.updated_since, updated.start) if updated.start is not None else self.updated_since
            updated = Span(start=start, end=updated.end)
        slot_of = listing.parsed_ids([self.slot_of], ["filter", "slotOf"])[0] if self.slot_of is not None else None
        return listing.RecordFilter(
            types=self.types or (),
            states=self.states,
            scopes=scopes,
            any_tags=tags.any,
            all_tags=all_tags,
            ids=listing.parsed_ids(self.ids, ["filter", "ids"]) if self.ids is not None else None,
            name_prefix=self.name_prefix,
            source=self.source,
            thread=self.thread_id,
            slot_of=slot_of,
            subject=self.subject,
            predicate=self.predicate,
            created=self.created.as_span() if self.created is not None else Span(),
            updated=updated,
            occurred=self.occurred.as_span() if self.occurred is not None else Span(),
            valid_at=self.valid_at,
            confidence=self.confidence.as_range() if self.confidence is not None else Range(),
            salience=self.salience.as_range() if self.salience is not None else Range(),
        )
