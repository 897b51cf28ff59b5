"""Queries about the graph: paths, impact, plans by their steps, related entities, and expansion for drawings."""

from __future__ import annotations

from typing import Annotated, TypeVar

import strawberry

from stratagraph.graphql.arguments import (
    AsOfInstant,
    AtLeastSequence,
    RecordId,
    ValidAt,
    given_id,
    maximum,
    record_uuid,
    request_of,
)
from stratagraph.graphql.context import Info
from stratagraph.graphql.past import shown_as_of
from stratagraph.graphql.types.explore import (
    ExpandResult,
    Expansion,
    ExplainPathResult,
    Impact,
    ImpactResult,
    PathExplanation,
    PlanMatches,
    PlansContainingResult,
    RelatedEntities,
    RelatedEntitiesResult,
)
from stratagraph.memory.explore.request import MAX_FIRST, MAX_HOPS, MAX_LOADED, MAX_OP, MAX_OPS, MAX_PATHS
from stratagraph.memory.explore.times import Time
from stratagraph.store.model.errors import RecordNotFound

T = TypeVar("T")

DEFAULT_PATHS = 3
DEFAULT_PATH_HOPS = 4
DEFAULT_IMPACT_HOPS = 2
DEFAULT_FIRST = 25
DEFAULT_MATCHES = 20


def _existing(id_: strawberry.ID, found: T | None) -> T:
    if found is None:
        raise RecordNotFound(record_uuid(id_))
    return found


@strawberry.type(description="Queries about the graph.")
class GraphQueries:
    @strawberry.field(
        description="Return the best paths between two records, through records that the caller may read in full: the"
        " shortest first, and the heaviest first among paths of one length. NotFound where the caller may not read both"
        " records in full."
    )
    async def explain_path(
        self,
        info: Info,
        start: Annotated[
            strawberry.ID, strawberry.argument(name="from", description="Id of the record at one end, a UUID.")
        ],
        goal: Annotated[
            strawberry.ID, strawberry.argument(name="to", description="Id of the record at the other end, a UUID.")
        ],
        k: Annotated[
            int | None,
            strawberry.argument(
                description=f"Maximum number of paths to return, from 1 to {MAX_PATHS}; the default is {DEFAULT_PATHS}."
            ),
        ] = DEFAULT_PATHS,
        max_hops: Annotated[
            int | None,
            strawberry.argument(
                description=f"Maximum length of a path, in hops, from 1 to {MAX_HOPS}; the default is"
                f" {DEFAULT_PATH_HOPS}."
            ),
        ] = DEFAULT_PATH_HOPS,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
        valid_at: ValidAt = None,
    ) -> ExplainPathResult:
        context = info.context
        found = await context.services.explore.paths(
            context.trust,
            *request_of(lambda: (record_uuid(start, "from"), record_uuid(goal, "to"))),
            k=DEFAULT_PATHS if k is None else k,
            max_hops=DEFAULT_PATH_HOPS if max_hops is None else max_hops,
            at_least_sequence=at_least_sequence,
            time=Time(as_of=as_of, valid_at=valid_at),
        )
        if found is None:
            raise RecordNotFound(
                record_uuid(goal, "to"),
                f"At least one of the records {start} and {goal} does not exist or is not visible to the caller.",
            )
        return PathExplanation.of(found, shown_as_of(context, found.as_of))

    @strawberry.field(
        description="Return the records that refer to a record or are derived from it, directly or through others:"
        " counts by distance and type, and the most important records. NotFound where the caller may not read the"
        " record in full."
    )
    async def impact(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        hops: Annotated[
            int | None,
            strawberry.argument(
                description=f"Maximum distance from the record, in hops, from 1 to {MAX_HOPS}; the default is"
                f" {DEFAULT_IMPACT_HOPS}."
            ),
        ] = DEFAULT_IMPACT_HOPS,
        first: Annotated[
            int | None, strawberry.argument(description=maximum("records", DEFAULT_FIRST, MAX_FIRST))
        ] = DEFAULT_FIRST,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
        valid_at: ValidAt = None,
    ) -> ImpactResult:
        context = info.context
        found = await context.services.explore.impact(
            context.trust,
            record_uuid(id),
            hops=DEFAULT_IMPACT_HOPS if hops is None else hops,
            first=DEFAULT_FIRST if first is None else first,
            at_least_sequence=at_least_sequence,
            time=Time(as_of=as_of, valid_at=valid_at),
        )
        answer = _existing(id, found)
        return Impact.of(answer, shown_as_of(context, answer.as_of))

    @strawberry.field(
        description="Return plans that have steps with the given operations in the given order, newest first. Each step"
        " must be reachable from the one before, directly or through other steps."
    )
    async def plans_containing(
        self,
        info: Info,
        ops: Annotated[
            list[str],
            strawberry.argument(description=f"Operations in order, 1 to {MAX_OPS}, each of 1 to {MAX_OP} characters."),
        ],
        first: Annotated[
            int | None, strawberry.argument(description=maximum("plans", DEFAULT_MATCHES, MAX_FIRST))
        ] = DEFAULT_MATCHES,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
    ) -> PlansContainingResult:
        context = info.context
        found = await context.services.explore.plans(
            context.trust,
            ops,
            first=DEFAULT_MATCHES if first is None else first,
            at_least_sequence=at_least_sequence,
            time=Time(as_of=as_of),
        )
        return PlanMatches.of(found, shown_as_of(context, found.as_of))

    @strawberry.field(
        description="Return the entities that are linked to the same records as an entity, the heaviest first. NotFound"
        " where the caller may not read the record in full."
    )
    async def related_entities(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        first: Annotated[
            int | None, strawberry.argument(description=maximum("entities", DEFAULT_MATCHES, MAX_FIRST))
        ] = DEFAULT_MATCHES,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
        valid_at: ValidAt = None,
    ) -> RelatedEntitiesResult:
        context = info.context
        found = await context.services.explore.related(
            context.trust,
            record_uuid(id),
            first=DEFAULT_MATCHES if first is None else first,
            at_least_sequence=at_least_sequence,
            time=Time(as_of=as_of, valid_at=valid_at),
        )
        answer = _existing(id, found)
        return RelatedEntities.of(answer, shown_as_of(context, answer.as_of))

    @strawberry.field(
        description="Return the best neighbours of a record that a front end has not loaded yet, and the relations that"
        " connect them. NotFound where the caller may not read the record in full."
    )
    async def expand(
        self,
        info: Info,
        id: RecordId,  # noqa: A002 - the contract's name
        loaded_ids: Annotated[
            list[strawberry.ID] | None,
            strawberry.argument(description=f"Ids of the records that the front end has, at most {MAX_LOADED}."),
        ] = None,
        first: Annotated[
            int | None, strawberry.argument(description=maximum("neighbours", DEFAULT_FIRST, MAX_FIRST))
        ] = DEFAULT_FIRST,
        at_least_sequence: AtLeastSequence = None,
        as_of: AsOfInstant = None,
        valid_at: ValidAt = None,
        after: Annotated[
            str | None,
            strawberry.argument(
                description="`pageInfo.endCursor` of the page before; null for the first page. The neighbours of all"
                " pages before count as loaded."
            ),
        ] = None,
    ) -> ExpandResult:
        context = info.context
        center, loaded = request_of(
            lambda: (
                record_uuid(id),
                [given_id(loaded, path=["loadedIds", str(index)]) for index, loaded in enumerate(loaded_ids or ())],
            )
        )
        found = await context.services.explore.expand(
            context.trust,
            center,
            loaded=loaded,
            first=DEFAULT_FIRST if first is None else first,
            after=after,
            at_least_sequence=at_least_sequence,
            time=Time(as_of=as_of, valid_at=valid_at),
        )
        answer = _existing(id, found)
        return Expansion.of(answer, shown_as_of(context, answer.as_of))
