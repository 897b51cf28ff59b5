"""The schema: queries, mutations, and what guards them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import strawberry
from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter, ParserCache, QueryDepthLimiter, ValidationCache
from strawberry.extensions.add_validation_rules import AddValidationRules
from strawberry.schema.config import StrawberryConfig

from stratagraph.graphql.context import Info
from stratagraph.graphql.scalars import SCALARS
from stratagraph.graphql.types import errors
from stratagraph.graphql.types.capture import (
    CaptureMemoriesInput,
    CaptureMemoriesResult,
    CaptureMemoriesSuccess,
    CaptureMemoryInput,
    CaptureMemoryResult,
    CaptureMemorySuccess,
)
from stratagraph.graphql.types.plans import Health, HealthCheck, PlanGraph
from stratagraph.graphql.types.records import MemoryRecord, PageInfo, RecordConnection, RecordFilter
from stratagraph.graphql.types.retrieve import RetrieveGraphInput, RetrieveGraphResult, RetrieveGraphSuccess
from stratagraph.store.errors import InvalidInput

MAX_TOKENS = 2_000  # of a document; values belong into variables
MAX_DEPTH = 12
MAX_ALIASES = 20


@strawberry.type(description="Reading. Everything is what the caller's credential may see.")
class Query:
    @strawberry.field(description="Memories for a task, ranked, with the neighbourhood that connects them.")
    async def retrieve_graph(self, info: Info, input: RetrieveGraphInput) -> RetrieveGraphResult:  # noqa: A002
        context = info.context
        return RetrieveGraphSuccess.of(await context.services.retrieve.retrieve(context.trust, input.as_request()))

    @strawberry.field(description="One record; null where there is none for this caller.")
    async def record(self, info: Info, id: strawberry.ID, as_of: datetime | None = None) -> MemoryRecord | None:  # noqa: A002
        if as_of is not None:
            raise InvalidInput("asOf: this version answers as of now only; leave it out", path=["asOf"])
        context = info.context
        found = await context.services.lookup.record(context.trust, _uuid(id))
        return MemoryRecord.of(found) if found is not None else None

    @strawberry.field(description="Records, newest first, by keyset cursors; at most 100 a page.")
    async def records(
        self,
        info: Info,
        filter: RecordFilter | None = None,  # noqa: A002 - the contract's name
        first: int | None = 50,
        after: str | None = None,
    ) -> RecordConnection:
        context, wanted = info.context, filter or RecordFilter()
        page = await context.services.lookup.records(
            context.trust,
            types=wanted.types or (),
            scope=wanted.scope,
            tag=wanted.tag,
            first=50 if first is None else first,
            after=after,
        )
        return RecordConnection(
            nodes=[MemoryRecord.of(record) for record in page.records],
            page_info=PageInfo(has_next_page=page.has_next, end_cursor=page.end_cursor),
        )

    @strawberry.field(description="Entities by name or alias, exactly but for case and spaces.")
    async def entities(
        self, info: Info, name: str, scope: str | None = None, first: int | None = 20
    ) -> list[MemoryRecord]:
        context = info.context
        found = await context.services.lookup.entities(
            context.trust, name, scope=scope, first=20 if first is None else first
        )
        return [MemoryRecord.of(record) for record in found]

    @strawberry.field(description="A plan by its record's id, or by plan_id with or without a version.")
    async def plan_graph(self, info: Info, id: strawberry.ID, version: str | None = None) -> PlanGraph | None:  # noqa: A002
        context = info.context
        found = await context.services.lookup.plan(context.trust, id, version)
        return PlanGraph.of(found) if found is not None else None

    @strawberry.field(description="Whether the service is well.")
    async def health(self, info: Info) -> Health:
        services = info.context.services
        reports = await services.health()
        return Health(
            ok=all(report.ok for report in reports if report.name != "mirror"),
            version=services.version,
            checks=[HealthCheck(name=report.name, ok=report.ok, detail=report.detail) for report in reports],
        )


@strawberry.type(description="Writing. Each is one transaction.")
class Mutation:
    @strawberry.mutation(description="Remember one thing.")
    async def capture_memory(self, info: Info, input: CaptureMemoryInput) -> CaptureMemoryResult:  # noqa: A002
        context = info.context
        captured = await context.services.capture.capture(context.trust, [input.as_request()])
        return CaptureMemorySuccess.of(captured[0])

    @strawberry.mutation(description="Remember several things in one transaction, all or nothing.")
    async def capture_memories(self, info: Info, input: CaptureMemoriesInput) -> CaptureMemoriesResult:  # noqa: A002
        context = info.context
        captured = await context.services.capture.capture(
            context.trust, [item.as_request() for item in input.items], batch=True
        )
        return CaptureMemoriesSuccess(results=[CaptureMemorySuccess.of(item) for item in captured])


def _uuid(id_: str) -> UUID:
    try:
        return UUID(id_)
    except ValueError:
        raise InvalidInput(f"id: {id_!r} is not a UUID", path=["id"]) from None


# Built once: rules made per request would be part of the validation cache's key and empty it (design/api.md 1.3).
_RULES = [
    *QueryDepthLimiter(max_depth=MAX_DEPTH).validation_rules,
    *MaxAliasesLimiter(max_alias_count=MAX_ALIASES).validation_rules,
]


def build_schema() -> strawberry.Schema:
    return strawberry.Schema(
        query=Query,
        mutation=Mutation,
        types=[errors.MemoryError],
        extensions=[
            ParserCache,
            lambda: AddValidationRules(_RULES),
            lambda: MaxTokensLimiter(max_token_count=MAX_TOKENS),
            ValidationCache,
        ],
        exception_handlers=errors.HANDLERS,
        config=StrawberryConfig(scalar_map=SCALARS),
    )
