"""The schema: queries, mutations, and what guards them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Protocol
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
from stratagraph.graphql.types.erase import EraseInput, EraseResult, EraseSuccess
from stratagraph.graphql.types.explore import Expansion, Impact, PathExplanation, PlanMatches, RelatedEntities
from stratagraph.graphql.types.forgetting import ForgetPreview
from stratagraph.graphql.types.history import RecordHistory
from stratagraph.graphql.types.plans import Health, HealthCheck, PlanGraph
from stratagraph.graphql.types.records import (
    MemoryRecord,
    PageInfo,
    PastLoaders,
    RecordConnection,
    RecordFilter,
    Then,
)
from stratagraph.graphql.types.retrieve import RetrieveGraphInput, RetrieveGraphResult, RetrieveGraphSuccess
from stratagraph.graphql.types.revision import (
    ContestInput,
    DeleteRecordInput,
    ForkInput,
    ImpactedRecord,
    MergeInput,
    PenalizeInput,
    PinInput,
    Reevaluation,
    ReinforceInput,
    ResolveContestInput,
    RetractInput,
    RevisionImpact,
    RevisionResult,
    RevisionSuccess,
    SupersedeInput,
)
from stratagraph.memory.revise.request import Revise
from stratagraph.store.model.ids import parse_id

MAX_TOKENS = 2_000  # of a document; values belong into variables
MAX_DEPTH = 12
MAX_ALIASES = 20


@strawberry.type(description="Reading. Everything is what the caller's credential may see.")
class Query:
    @strawberry.field(description="Memories for a task, ranked, with the neighbourhood that connects them.")
    async def retrieve_graph(self, info: Info, input: RetrieveGraphInput) -> RetrieveGraphResult:  # noqa: A002
        context = info.context
        found = await context.services.retrieve.retrieve(context.trust, input.as_request())
        return RetrieveGraphSuccess.of(found, context.narrowed(input.scopes, input.max_sensitivity))

    @strawberry.field(
        description="One record; null where there is none for this caller. With `asOf`, as it was at that past instant,"
        " to the transaction; null where it did not exist yet, or is not in full sight by then's trust and by now's."
    )
    async def record(self, info: Info, id: strawberry.ID, as_of: datetime | None = None) -> MemoryRecord | None:  # noqa: A002
        context = info.context
        found = await context.services.lookup.record(context.trust, _uuid(id), as_of=as_of)
        if found is None:
            return None
        return MemoryRecord.of(found, Then(as_of, PastLoaders(context)) if as_of is not None else None)

    @strawberry.field(
        description="What a record was, version by version, newest first, by keyset cursors; at most 100 a page."
        " Versions that are not in full sight by their own trust and by now's are absent; so is what was deleted."
    )
    async def history(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002 - the contract's name
        first: int | None = 50,
        after: str | None = None,
    ) -> RecordHistory:
        context = info.context
        found = await context.services.lookup.history(
            context.trust, _uuid(id), first=50 if first is None else first, after=after
        )
        return RecordHistory.of(found, context)

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

    @strawberry.field(description="What retracting or correcting a record would do to all that was derived from it.")
    async def revision_impact(self, info: Info, id: strawberry.ID) -> RevisionImpact:  # noqa: A002
        context = info.context
        found, more = await context.services.revision.impact(context.trust, _uuid(id))
        return RevisionImpact(records=[ImpactedRecord.of(one) for one in found], complete=not more)

    @strawberry.field(
        description="How two records are connected: up to `k` (1 to 10) best paths of up to `maxHops` (1 to 6) through"
        " what the caller may read in full. The shortest come first, of these the heaviest. Null where an end does not"
        " exist for this caller."
    )
    async def explain_path(
        self,
        info: Info,
        start: Annotated[strawberry.ID, strawberry.argument(name="from")],
        goal: Annotated[strawberry.ID, strawberry.argument(name="to")],
        k: int | None = 3,
        max_hops: int | None = 4,
    ) -> PathExplanation | None:
        context = info.context
        found = await context.services.explore.paths(
            context.trust,
            _uuid(start, "from"),
            _uuid(goal, "to"),
            k=3 if k is None else k,
            max_hops=4 if max_hops is None else max_hops,
        )
        return PathExplanation.of(found) if found is not None else None

    @strawberry.field(
        description="What refers to a record or rests on it, within `hops` (1 to 6): counts, and the `first` (1 to 100)"
        " most important. Null where there is no such record for this caller."
    )
    async def impact(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002 - the contract's name
        hops: int | None = 2,
        first: int | None = 25,
    ) -> Impact | None:
        context = info.context
        found = await context.services.explore.impact(
            context.trust, _uuid(id), hops=2 if hops is None else hops, first=25 if first is None else first
        )
        return Impact.of(found) if found is not None else None

    @strawberry.field(
        description="Plans with steps of these `ops` (1 to 8) in this order, each reached from the one before, directly"
        " or over other steps; newest first, at most 100."
    )
    async def plans_containing(self, info: Info, ops: list[str], first: int | None = 20) -> PlanMatches:
        context = info.context
        return PlanMatches.of(
            await context.services.explore.plans(context.trust, ops, first=20 if first is None else first)
        )

    @strawberry.field(
        description="Entities that share memories with this one, the heaviest first, at most 100. Null where there is"
        " no such record for this caller."
    )
    async def related_entities(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002 - the contract's name
        first: int | None = 20,
    ) -> RelatedEntities | None:
        context = info.context
        found = await context.services.explore.related(context.trust, _uuid(id), first=20 if first is None else first)
        return RelatedEntities.of(found) if found is not None else None

    @strawberry.field(
        description="For drawings: the best neighbours of a record that are not among `loadedIds` (at most 500), up to"
        " 100 a page, and what joins them. Null where there is no such record for this caller."
    )
    async def expand(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002 - the contract's name
        loaded_ids: list[strawberry.ID] | None = None,
        first: int | None = 25,
    ) -> Expansion | None:
        context = info.context
        found = await context.services.explore.expand(
            context.trust,
            _uuid(id),
            loaded=[_uuid(loaded, "loadedIds") for loaded in loaded_ids or ()],
            first=25 if first is None else first,
        )
        return Expansion.of(found) if found is not None else None

    @strawberry.field(description="Derived records that wait to be looked at again, oldest first, at most 200.")
    async def reevaluations(self, info: Info) -> list[Reevaluation]:
        context = info.context
        return [Reevaluation.of(entry) for entry in await context.services.revision.waiting(context.trust)]

    @strawberry.field(description="What would be pruned by an instant if nothing happened before it. Changes nothing.")
    async def forget_preview(
        self, info: Info, until: datetime, first: int | None = 50, after: str | None = None
    ) -> ForgetPreview:
        context = info.context
        return ForgetPreview.of(
            await context.services.forgetting.preview(
                context.trust, until, first=50 if first is None else first, after=after
            )
        )

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

    @strawberry.mutation(description="A new payload takes a record's place.")
    async def supersede(self, info: Info, input: SupersedeInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A variant beside a record, for conditions under which it does not hold.")
    async def fork(self, info: Info, input: ForkInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record is in doubt.")
    async def contest(self, info: Info, input: ContestInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="The doubt is over.")
    async def resolve_contest(self, info: Info, input: ResolveContestInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record was wrong, and nothing takes its place.")
    async def retract(self, info: Info, input: RetractInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="Records that say the same become one.")
    async def merge(self, info: Info, input: MergeInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record goes, with its history; its audit log stays.")
    async def delete_record(self, info: Info, input: DeleteRecordInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record matters more.")
    async def reinforce(self, info: Info, input: ReinforceInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record matters less.")
    async def penalize(self, info: Info, input: PenalizeInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="A record keeps the salience it has, or decays again.")
    async def pin(self, info: Info, input: PinInput) -> RevisionResult:  # noqa: A002
        return await _revised(info, input)

    @strawberry.mutation(description="Something goes for good, with every trace of it.")
    async def erase(self, info: Info, input: EraseInput) -> EraseResult:  # noqa: A002
        context = info.context
        return EraseSuccess.of(await context.services.erasure.erase(context.trust, input.as_request()))


class _Revision(Protocol):
    def as_request(self) -> Revise: ...


async def _revised(info: Info, given: _Revision) -> RevisionSuccess:
    context = info.context
    return RevisionSuccess.of(await context.services.revision.revise(context.trust, given.as_request()))


def _uuid(id_: str, name: str = "id") -> UUID:
    return parse_id(id_, path=[name])


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
