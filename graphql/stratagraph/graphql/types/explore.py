"""The answers of graph questions. Each type takes its fields by name from the dataclass of the same answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, Self
from uuid import UUID

import strawberry

from stratagraph.graphql.past import AsOf
from stratagraph.graphql.types.enums import Engine, MemoryType
from stratagraph.graphql.types.errors import Refusal
from stratagraph.graphql.types.freshness import Freshness
from stratagraph.graphql.types.pages import PageInfo
from stratagraph.graphql.types.records import MemoryRecord
from stratagraph.graphql.types.relations import Relation
from stratagraph.memory.engines.service import AnsweredBy
from stratagraph.memory.explore import answers
from stratagraph.memory.explore.around import BETWEEN, NAMED
from stratagraph.store.model import records as domain
from stratagraph.store.traversal.links import DEGREE_CAP

_HUBS = "Ids of records of which not all relations were followed; the heaviest were."
_HAS_MORE = "Whether there are more than `first`."
_FRESHNESS = "Which engine answered, and how current its data was."


class _FromAnswer:
    """A type whose fields are all found by name in a dataclass of `stratagraph.memory.explore.answers`."""

    @classmethod
    def of(cls, answer: Any, as_of: AsOf | None = None) -> Self:
        """Build the answer; its records are shown as of `as_of`, or now."""
        assert dataclasses.is_dataclass(cls)
        return cls(**{field.name: _graphql(getattr(answer, field.name), as_of) for field in dataclasses.fields(cls)})


def _graphql(value: Any, as_of: AsOf | None) -> Any:
    """Return a field's value as the schema has it."""
    if isinstance(value, tuple):
        return [_graphql(one, as_of) for one in value]
    convert = _CONVERTERS.get(type(value))
    return convert(value, as_of) if convert is not None else value


def _freshness(by: AnsweredBy) -> Freshness:
    return Freshness(engine=Engine(by.engine), fallback=by.fallback, mirror_lag_seconds=by.mirror_lag_seconds)


@strawberry.type(description="A path between two records that visits no record twice.")
class GraphPath(_FromAnswer):
    nodes: list[MemoryRecord] = strawberry.field(
        description="Records of the path, from one end to the other; 2 to `maxHops` + 1."
    )
    relations: list[Relation] = strawberry.field(
        description="Heaviest relation between each two successive nodes, in the order of the path."
    )
    weight: float = strawberry.field(description="Product of the weights of the relations, from 0 to 1.")
    sentence: str = strawberry.field(
        description="The path in one line: names and predicates, with an arrow in the direction of each relation."
    )


@strawberry.type(description="The best paths between two records: those with the fewest hops, of these the heaviest.")
class PathExplanation(_FromAnswer):
    paths: list[GraphPath] = strawberry.field(description="The paths, best first; at most `k`.")
    reached: list[str] = strawberry.field(
        description="Limits that cut the search, of `hops`, `hubs`, `nodes` and `paths`; empty if none did."
    )
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    answered_by: Freshness = strawberry.field(name="freshness", description=_FRESHNESS)


@strawberry.type(description="Number of affected records of one type at one distance.")
class ImpactCount(_FromAnswer):
    hop: int = strawberry.field(description="Distance from the record asked about, in hops; 1 to `hops`.")
    type: MemoryType = strawberry.field(description="Type of the records counted.")
    count: int = strawberry.field(description="Number of records, at least 1.")


@strawberry.type(description="A record that refers to the one asked about or rests on it, directly or indirectly.")
class ImpactedNode(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The affected record.")
    hop: int = strawberry.field(description="Distance from the record asked about, in hops; 1 to `hops`.")
    strength: float = strawberry.field(
        description="Greatest product of weights along a path from the record asked about, from 0 to 1."
    )
    via_id: strawberry.ID = strawberry.field(
        description="Id of the record before it on that path; at hop 1, of the record asked about."
    )


@strawberry.type(description="What refers to a record or rests on it, level by level.")
class Impact(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The record asked about.")
    counts: list[ImpactCount] = strawberry.field(description="Numbers of all records found, by hop and type.")
    total: int = strawberry.field(description="Number of all records found, from 0.")
    nodes: list[ImpactedNode] = strawberry.field(
        description="The records found, by hop and then the most important first; at most `first`."
    )
    reached: list[str] = strawberry.field(
        description="Limits that cut the search, of `hops`, `hubs` and `nodes`; empty if none did."
    )
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    answered_by: Freshness = strawberry.field(name="freshness", description=_FRESHNESS)


@strawberry.type(description="A step of a plan that matches one of the ops asked for.")
class MatchedStep(_FromAnswer):
    id: strawberry.ID = strawberry.field(description="Id of the step within its plan.")
    op: str = strawberry.field(description="What the step does, as asked for.")


@strawberry.type(description="A plan that has the asked steps in the asked order.")
class MatchedPlan(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The record of the plan.")
    steps: list[MatchedStep] = strawberry.field(description="One step for each op, in the order asked for.")


@strawberry.type(description="Plans that have some steps in some order.")
class PlanMatches(_FromAnswer):
    plans: list[MatchedPlan] = strawberry.field(description="The plans, newest first; at most `first`.")
    has_more: bool = strawberry.field(description=_HAS_MORE)
    reached: list[str] = strawberry.field(
        description="`plans` where there were more candidates than one question reads (300); otherwise empty."
    )
    answered_by: Freshness = strawberry.field(name="freshness", description=_FRESHNESS)


@strawberry.type(description="An entity that shares memories with the one asked about: records linked to both.")
class RelatedEntity(_FromAnswer):
    entity: MemoryRecord = strawberry.field(description="The entity that shares records with the one asked about.")
    shared: int = strawberry.field(description="Number of memories linked to both, at least 1.")
    weight: float = strawberry.field(
        description="Sum over the shared memories of the product of both links' weights; 0 or more."
    )
    memory_ids: list[strawberry.ID] = strawberry.field(
        description=f"Ids of the shared memories with the greatest products, heaviest first; at most {NAMED}."
    )


@strawberry.type(description="Entities that share memories with a record.")
class RelatedEntities(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The record asked about.")
    entities: list[RelatedEntity] = strawberry.field(description="The entities, heaviest first; at most `first`.")
    has_more: bool = strawberry.field(description=_HAS_MORE)
    reached: list[str] = strawberry.field(
        description="`hubs` where not all memories or entities were followed; otherwise empty."
    )
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    answered_by: Freshness = strawberry.field(name="freshness", description=_FRESHNESS)


@strawberry.type(description="A neighbour of the record that is expanded, with hints for a drawing.")
class Neighbour(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The neighbour.")
    weight: float = strawberry.field(description="Weight of the heaviest relation to it, from 0 to 1.")
    degree: int = strawberry.field(
        description=f"Number of relations that could be followed from it, counted up to {DEGREE_CAP}."
    )
    more: int = strawberry.field(
        description=f"Number of these relations that are not in this answer, 0 to {DEGREE_CAP}."
    )
    hub: bool = strawberry.field(
        description=f"Whether it has {DEGREE_CAP} relations or more; ask the user before expanding it."
    )


@strawberry.type(description="What a front end adds to its drawing when a record is expanded.")
class Expansion(_FromAnswer):
    record: MemoryRecord = strawberry.field(description="The record that is expanded.")
    neighbours: list[Neighbour] = strawberry.field(
        description="Neighbours that are not among `loadedIds`, best first; at most `first`."
    )
    relations: list[Relation] = strawberry.field(description="Relations between the record and these neighbours.")
    between: list[Relation] = strawberry.field(
        description="Relations of these neighbours with each other and with the records of `loadedIds`, heaviest first;"
        f" at most {BETWEEN}."
    )
    has_more: bool = strawberry.field(
        description="Whether a next page may have more neighbours. For it, add these neighbours to `loadedIds`.",
        deprecation_reason="Use `pageInfo.hasNextPage`.",
    )
    page_info: PageInfo = strawberry.field(
        description="Position of this page; give `endCursor` as `after`, with the same other arguments."
    )
    reached: list[str] = strawberry.field(
        description="What ended the pages where there may be more neighbours: `loaded`, because `loadedIds` has no room"
        " for more, or `hubs`, because more relations of the record are not read; otherwise empty."
    )
    answered_by: Freshness = strawberry.field(name="freshness", description=_FRESHNESS)


_CONVERTERS: dict[type, Callable[[Any, AsOf | None], object]] = {
    UUID: lambda id_, _: strawberry.ID(str(id_)),
    domain.MemoryRecord: MemoryRecord.of,
    domain.Relation: Relation.of,
    AnsweredBy: lambda by, _: _freshness(by),
    answers.Position: lambda one, _: PageInfo(has_next_page=one.has_next, end_cursor=one.end_cursor),
    answers.Path: GraphPath.of,
    answers.ImpactCount: ImpactCount.of,
    answers.AffectedRecord: ImpactedNode.of,
    answers.MatchedStep: MatchedStep.of,
    answers.MatchedPlan: MatchedPlan.of,
    answers.RelatedEntity: RelatedEntity.of,
    answers.NeighbourRecord: Neighbour.of,
}


def _result(name: str, answer: str) -> Any:
    """Return what names and describes the union of an answer and the errors in its place."""
    return strawberry.union(name, description=f"{answer}, or the error that refused the question.")


ExplainPathResult = Annotated[PathExplanation | Refusal, _result("ExplainPathResult", "The paths between two records")]
ImpactResult = Annotated[Impact | Refusal, _result("ImpactResult", "What rests on a record")]
RelatedEntitiesResult = Annotated[
    RelatedEntities | Refusal, _result("RelatedEntitiesResult", "The entities related to a record")
]
ExpandResult = Annotated[Expansion | Refusal, _result("ExpandResult", "The expansion of a record")]
PlansContainingResult = Annotated[PlanMatches | Refusal, _result("PlansContainingResult", "Plans with some steps")]
