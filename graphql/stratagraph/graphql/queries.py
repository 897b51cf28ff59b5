"""The queries of the schema. Those about paths and neighbourhoods are in `graph_queries`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from stratagraph.graphql.arguments import After, AsOfInstant, AtLeastSequence, RecordId, maximum, record_uuid
from stratagraph.graphql.change_fields import ChangeQueries
from stratagraph.graphql.context import Info
from stratagraph.graphql.graph_queries import GraphQueries
from stratagraph.graphql.lesson_fields import LessonQueries
from stratagraph.graphql.limits.costs import EVENT
from stratagraph.graphql.list_queries import ListQueries
from stratagraph.graphql.past import AsOf, PastLoaders
from stratagraph.graphql.rule_queries import RuleQueries
from stratagraph.graphql.types.audit import AuditLog
from stratagraph.graphql.types.duplicates import DuplicateCandidateConnection
from stratagraph.graphql.types.enums import ListOrder
from stratagraph.graphql.types.explanation import WhyNotResult, WhyNotSuccess
from stratagraph.graphql.types.fact_predicates import FactPredicate
from stratagraph.graphql.types.failed_captures import FailedCaptureConnection
from stratagraph.graphql.types.forgetting import ForgetPreview
from stratagraph.graphql.types.health import Health
from stratagraph.graphql.types.history import RecordHistory
from stratagraph.graphql.types.learning import ConsolidationRunConnection
from stratagraph.graphql.types.metrics import Metrics
from stratagraph.graphql.types.plan_differences import PlanDiff
from stratagraph.graphql.types.plans import PlanGraph
from stratagraph.graphql.types.record_lists import RecordConnection, RecordFilter
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.reevaluation import ImpactedRecord, Reevaluation, RevisionImpact
from stratagraph.graphql.types.retrieve import RetrieveGraphInput, RetrieveGraphResult, RetrieveGraphSuccess
from stratagraph.memory.revise.service import MAX_WAITING
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.records.episode_timelines import LISTED_EVENTS

DEFAULT_PAGE = 50
DEFAULT_ENTITIES = 20
DEFAULT_RUNS = 20


@strawberry.type(description="Queries about records and their lifecycle.")
class RecordQueries:
    @strawberry.field(
        description="Return the records that best match a task, and the records and relations around them."
    )
    async def retrieve_graph(
        self,
        info: Info,
        input: Annotated[RetrieveGraphInput, strawberry.argument(description="The task and the limits.")],  # noqa: A002
    ) -> RetrieveGraphResult:
        context = info.context
        found = await context.services.retrieve.retrieve(context.trust, input.as_request())
        context.record.touch(len(found.nodes))
        return RetrieveGraphSuccess.of(found, context.narrowed(input.scopes, input.max_sensitivity))

    @strawberry.field(
        description="Return why a record is not in the answer to a request of `retrieveGraph`, or its place there, by"
        " the same search. NotFound where the caller may not read the record in full."
    )
    async def why_not(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        input: Annotated[RetrieveGraphInput, strawberry.argument(description="The request.")],  # noqa: A002
    ) -> WhyNotResult:
        context = info.context
        found = await context.services.retrieve.why_not(context.trust, record_uuid(id), input.as_request())
        as_of = AsOf(input.as_of, PastLoaders(context)) if input.as_of is not None else None
        return WhyNotSuccess.of(found, as_of, context)

    @strawberry.field(
        description="Return one record, or null where it is not visible to the caller. With `asOf`, return the record"
        " as of that instant; null where it did not exist then, or is not fully visible to the caller both by the trust"
        " of that instant and by the present one. With `validAt`, return null for a fact that did not hold then; with"
        " both, for one that was not current as of `asOf` and did not hold at `validAt`."
    )
    async def record(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        as_of: AsOfInstant = None,
        valid_at: Annotated[
            datetime | None,
            strawberry.argument(
                description="An instant at which the record must have held, if it is a fact; null for any. A superseded"
                " fact may have; a redacted one is not compared."
            ),
        ] = None,
    ) -> MemoryRecord | None:
        context = info.context
        wanted = record_uuid(id)
        found = await context.services.lookup.record(context.trust, wanted, as_of=as_of, valid_at=valid_at)
        context.record.touch(0 if found is None else 1, wanted)
        if found is None:
            return None
        events = len((found.payload or {}).get("timeline") or ())
        if context.ticket is not None and events > LISTED_EVENTS:
            context.ticket.admission.owe(context.ticket.party, EVENT * (events - LISTED_EVENTS))
        return MemoryRecord.of(found, AsOf(as_of, PastLoaders(context)) if as_of is not None else None)

    @strawberry.field(
        description="Return a page of a record's versions, newest first. Versions are left out that are not fully"
        " visible to the caller both by their own trust and by the present one. A deleted record has no versions."
    )
    async def history(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        first: Annotated[int | None, strawberry.argument(description=maximum("versions", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> RecordHistory:
        context = info.context
        found = await context.services.lookup.history(
            context.trust, record_uuid(id), first=DEFAULT_PAGE if first is None else first, after=after
        )
        return RecordHistory.of(found, context)

    @strawberry.field(
        description="Return a page of a record's audit log, oldest entry first; also of a record that was pruned,"
        " deleted or erased, as far as it was fully visible to the caller by the scope and sensitivity that it had. The"
        " page is empty where the record is unknown or hidden. An erased record's entries have no rationale."
    )
    async def audit_log(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        first: Annotated[int | None, strawberry.argument(description=maximum("entries", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> AuditLog:
        context = info.context
        return AuditLog.of(
            await context.services.lookup.audit_log(
                context.trust, record_uuid(id), first=DEFAULT_PAGE if first is None else first, after=after
            )
        )

    @strawberry.field(
        description="Return a page of the records that fit a filter, newest first unless another order is asked for."
        " With `asOf`, as they were at that instant: those that are fully visible to the caller both by the trust of"
        " that instant and by the present one."
    )
    async def records(
        self,
        info: Info,
        filter: Annotated[  # noqa: A002 - the contract's name
            RecordFilter | None, strawberry.argument(description="Which records to list; null for all.")
        ] = None,
        first: Annotated[int | None, strawberry.argument(description=maximum("records", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
        order: Annotated[
            ListOrder | None, strawberry.argument(description="Order of the list; null for the newest first.")
        ] = ListOrder.CREATED_DESC,
        as_of: AsOfInstant = None,
    ) -> RecordConnection:
        context, wanted = info.context, (filter or RecordFilter()).as_filter()
        lists = context.services.lookup.lists
        page = await lists.page(
            context.trust,
            wanted,
            order=order or ListOrder.CREATED_DESC,
            first=DEFAULT_PAGE if first is None else first,
            after=after,
            as_of=as_of,
        )
        context.record.touch(len(page.records))
        return RecordConnection.of(page, context, lambda: lists.count(context.trust, wanted, as_of=page.as_of))

    @strawberry.field(
        description="Return the entities known by a name or alias.",
        deprecation_reason="Since 0.1.0, use `entityPage`, which has all of them, page by page.",
    )
    async def entities(
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
    ) -> list[MemoryRecord]:
        context = info.context
        found = await context.services.lookup.entities(
            context.trust, name, scope=scope, first=DEFAULT_ENTITIES if first is None else first
        )
        context.record.touch(len(found))
        return [MemoryRecord.of(record) for record in found]

    @strawberry.field(
        description="Return a plan as a graph to draw, or null where it is not visible to the caller. A large plan is"
        " shown in groups of steps, each of which can be shown by itself."
    )
    async def plan_graph(
        self,
        info: Info,
        id: Annotated[  # noqa: A002 - the contract's name
            strawberry.ID, strawberry.argument(description="Id of the plan's record, or the plan's `planId`.")
        ],
        version: Annotated[
            str | None,
            strawberry.argument(
                description="Version label of the plan; null for the newest that is part of the current truth, else the"
                " newest."
            ),
        ] = None,
        at: Annotated[
            datetime | None,
            strawberry.argument(
                description="A past instant to show the plan as of; null for now.",
                deprecation_reason="Since 0.1.0, use `asOf`.",
            ),
        ] = None,
        group: Annotated[
            strawberry.ID | None,
            strawberry.argument(description="Id of a group in an earlier answer, to show its steps; null for all."),
        ] = None,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
    ) -> PlanGraph | None:
        context = info.context
        if at is not None and as_of is not None and at != as_of:
            raise InvalidInput("at: another instant than `asOf`, which takes its place; give one of them", path=["at"])
        found = await context.services.lookup.plan(
            context.trust,
            id,
            version,
            at=at if as_of is None else as_of,
            name="at" if as_of is None else "asOf",
            group=group,
            at_least_sequence=at_least_sequence,
        )
        return PlanGraph.of(found) if found is not None else None

    @strawberry.field(
        description="Return what changed between two versions of a plan, or null where not both are visible to the"
        " caller. Both are of the same scope and sensitivity."
    )
    async def plan_diff(
        self,
        info: Info,
        plan_id: Annotated[str, strawberry.argument(description="The plan's `planId`.")],
        from_: Annotated[str, strawberry.argument(name="from", description="Version label of the earlier version.")],
        to: Annotated[str, strawberry.argument(description="Version label of the later version.")],
    ) -> PlanDiff | None:
        context = info.context
        found = await context.services.lookup.plan_difference(context.trust, plan_id, from_, to)
        return PlanDiff.of(found) if found is not None else None

    @strawberry.field(
        description="Return the effect that retracting or correcting a record would have on the records derived from"
        " it. Changes nothing."
    )
    async def revision_impact(self, info: Info, id: RecordId) -> RevisionImpact:  # noqa: A002
        context = info.context
        found, more = await context.services.revision.impact(context.trust, record_uuid(id))
        return RevisionImpact(records=[ImpactedRecord.of(one) for one in found], complete=not more)

    @strawberry.field(
        description=f"Return the derived records that wait to be re-evaluated, oldest first, at most {MAX_WAITING}."
    )
    async def reevaluations(self, info: Info) -> list[Reevaluation]:
        context = info.context
        return [Reevaluation.of(entry) for entry in await context.services.revision.waiting(context.trust)]

    @strawberry.field(
        description="Return a page of the captures that failed because of an internal failure, oldest first: the"
        " caller's own, and those whose records the caller could read in full. They are retried in the background."
    )
    async def failed_captures(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description=maximum("captures", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> FailedCaptureConnection:
        context = info.context
        return FailedCaptureConnection.of(
            await context.services.failed_captures.page(
                context.trust, first=DEFAULT_PAGE if first is None else first, after=after
            )
        )

    @strawberry.field(
        description="Return a page of the pairs of records that may say the same and that nobody has decided on, the"
        " likeliest first; only pairs of which the caller may read both records in full."
    )
    async def duplicate_candidates(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description=maximum("pairs", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> DuplicateCandidateConnection:
        context = info.context
        return DuplicateCandidateConnection.of(
            await context.services.duplicates.page(
                context.trust, first=DEFAULT_PAGE if first is None else first, after=after
            )
        )

    @strawberry.field(
        description="Return a page of the runs of learning, newest first, as far as they concern records that the"
        " caller may read in full. A run that learned nothing there is left out."
    )
    async def consolidation_runs(
        self,
        info: Info,
        first: Annotated[int | None, strawberry.argument(description=maximum("runs", DEFAULT_RUNS))] = DEFAULT_RUNS,
        after: After = None,
    ) -> ConsolidationRunConnection:
        context = info.context
        return ConsolidationRunConnection.of(
            await context.services.runs.page(context.trust, first=DEFAULT_RUNS if first is None else first, after=after)
        )

    @strawberry.field(
        description="Return the registered predicates of facts, ordered by name: those of the tenant, and the built-in"
        " ones that it has not replaced."
    )
    async def predicates(self, info: Info) -> list[FactPredicate]:
        context = info.context
        return [FactPredicate.of(one) for one in await context.services.predicates.list(context.trust)]

    @strawberry.field(
        description="Return a page of the records that would be pruned by an instant if they were neither read nor"
        " changed before it. Changes nothing.",
        deprecation_reason="Since 0.1.0, use `fading`, which has the same records, and counts them only where"
        " that is selected.",
    )
    async def forget_preview(
        self,
        info: Info,
        until: Annotated[
            datetime, strawberry.argument(description="Instant to look ahead to, from now to ten years ahead.")
        ],
        first: Annotated[int | None, strawberry.argument(description=maximum("records", DEFAULT_PAGE))] = DEFAULT_PAGE,
        after: After = None,
    ) -> ForgetPreview:
        context = info.context
        return ForgetPreview.of(
            await context.services.forgetting.preview(
                context.trust, until, first=DEFAULT_PAGE if first is None else first, after=after
            )
        )


@strawberry.type(description="Reads. Every answer is limited to what the caller's credential may see.")
class Query(RecordQueries, ListQueries, GraphQueries, LessonQueries, RuleQueries, ChangeQueries):
    @strawberry.field(
        description="Return measures of the records that the caller may read in full, counted in the background."
    )
    async def metrics(self, info: Info) -> Metrics:
        return Metrics.of(await info.context.services.measures.measure(info.context.trust))

    @strawberry.field(description="Return the state of the service, without anything that depends on other tenants.")
    async def health(self, info: Info) -> Health:
        services = info.context.services
        return Health.of(await services.health(info.context.trust), services.version)
