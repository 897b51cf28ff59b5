"""How memories hang together: paths, impact, plans by their steps, what entities share, what is next to a record."""

from __future__ import annotations

from typing import Self

import strawberry

from stratagraph.graphql.types.enums import Engine, MemoryType
from stratagraph.graphql.types.records import MemoryRecord, Relation
from stratagraph.graphql.types.retrieve import Freshness
from stratagraph.memory.explore import answers
from stratagraph.store.traversal.links import DEGREE_CAP

_HUBS = "Records from which not all relations were followed."


def _freshness(found: answers.AnsweredBy) -> Freshness:
    return Freshness(engine=Engine(found.engine), fallback=found.fallback, mirror_lag_seconds=found.mirror_lag_seconds)


@strawberry.type(description="A way from one record to another that meets no record twice.")
class GraphPath:
    nodes: list[MemoryRecord]
    relations: list[Relation] = strawberry.field(description="The heaviest between each two nodes, in their order.")
    weight: float = strawberry.field(description="The product of the relations' weights.")
    sentence: str = strawberry.field(description="The path in one line, each relation in its own direction.")

    @classmethod
    def of(cls, path: answers.Path) -> Self:
        return cls(
            nodes=[MemoryRecord.of(record) for record in path.records],
            relations=[Relation.of(relation) for relation in path.relations],
            weight=path.weight,
            sentence=path.sentence,
        )


@strawberry.type(description="The best ways between two records: the shortest first, of these the heaviest.")
class PathExplanation:
    paths: list[GraphPath]
    reached: list[str] = strawberry.field(description="Of hops, nodes, hubs, paths: those that cut the search.")
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    freshness: Freshness

    @classmethod
    def of(cls, found: answers.Paths) -> Self:
        return cls(
            paths=[GraphPath.of(path) for path in found.paths],
            reached=list(found.reached),
            hubs=[strawberry.ID(str(hub)) for hub in found.hubs],
            freshness=_freshness(found.found),
        )


@strawberry.type(description="How many records of one type are affected at one distance.")
class ImpactCount:
    hop: int
    type: MemoryType
    count: int


@strawberry.type(description="A record that refers to another or rests on it, directly or not.")
class ImpactedNode:
    record: MemoryRecord
    hop: int
    strength: float = strawberry.field(description="The greatest product of weights that leads to it.")
    via_id: strawberry.ID = strawberry.field(description="The record before it on that way.")


@strawberry.type(description="What refers to a record or rests on it, level by level.")
class Impact:
    record: MemoryRecord
    counts: list[ImpactCount] = strawberry.field(description="By hop and type, of all that was found.")
    total: int
    nodes: list[ImpactedNode] = strawberry.field(description="By hop, then the most important first.")
    reached: list[str] = strawberry.field(description="Of hops, nodes, hubs: those that cut the search.")
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    freshness: Freshness

    @classmethod
    def of(cls, found: answers.Impact) -> Self:
        return cls(
            record=MemoryRecord.of(found.record),
            counts=[ImpactCount(hop=one.hop, type=one.type, count=one.count) for one in found.counts],
            total=found.total,
            nodes=[
                ImpactedNode(
                    record=MemoryRecord.of(one.record),
                    hop=one.hop,
                    strength=one.strength,
                    via_id=strawberry.ID(str(one.via)),
                )
                for one in found.affected
            ],
            reached=list(found.reached),
            hubs=[strawberry.ID(str(hub)) for hub in found.hubs],
            freshness=_freshness(found.found),
        )


@strawberry.type(description="A step of a plan that answers one of the ops asked for.")
class MatchedStep:
    id: strawberry.ID
    op: str


@strawberry.type(description="A plan that does what was asked, in that order.")
class MatchedPlan:
    record: MemoryRecord
    steps: list[MatchedStep] = strawberry.field(description="One for each op, in the order asked for.")


@strawberry.type(description="Plans with steps of some ops in some order, newest first.")
class PlanMatches:
    plans: list[MatchedPlan]
    has_more: bool
    reached: list[str] = strawberry.field(description="`plans` where there were more candidates than are looked at.")
    freshness: Freshness

    @classmethod
    def of(cls, found: answers.Plans) -> Self:
        return cls(
            plans=[
                MatchedPlan(
                    record=MemoryRecord.of(plan.record),
                    steps=[MatchedStep(id=strawberry.ID(step.id), op=step.op) for step in plan.steps],
                )
                for plan in found.plans
            ],
            has_more=found.has_more,
            reached=list(found.reached),
            freshness=_freshness(found.found),
        )


@strawberry.type(description="An entity that shares memories with another.")
class RelatedEntity:
    entity: MemoryRecord
    shared: int = strawberry.field(description="How many memories are linked to both.")
    weight: float = strawberry.field(description="The sum over these of the product of both weights.")
    memory_ids: list[strawberry.ID] = strawberry.field(description="The heaviest of these, at most 5.")


@strawberry.type(description="Entities that share memories with one, the heaviest first.")
class RelatedEntities:
    record: MemoryRecord
    entities: list[RelatedEntity]
    has_more: bool
    reached: list[str] = strawberry.field(description="`hubs` where not all memories or entities were followed.")
    hubs: list[strawberry.ID] = strawberry.field(description=_HUBS)
    freshness: Freshness

    @classmethod
    def of(cls, found: answers.Related) -> Self:
        return cls(
            record=MemoryRecord.of(found.record),
            entities=[
                RelatedEntity(
                    entity=MemoryRecord.of(one.record),
                    shared=one.shared,
                    weight=one.weight,
                    memory_ids=[strawberry.ID(str(id_)) for id_ in one.memories],
                )
                for one in found.entities
            ],
            has_more=found.has_more,
            reached=list(found.reached),
            hubs=[strawberry.ID(str(hub)) for hub in found.hubs],
            freshness=_freshness(found.found),
        )


@strawberry.type(description="A record next to another, with hints for a drawing.")
class Neighbour:
    record: MemoryRecord
    weight: float = strawberry.field(description="Of the heaviest relation to it.")
    degree: int = strawberry.field(description=f"Relations that could be followed from it, counted to {DEGREE_CAP}.")
    more: int = strawberry.field(description="Those of them that are not in this answer.")
    hub: bool = strawberry.field(description=f"It has {DEGREE_CAP} relations or more: ask before expanding it.")


@strawberry.type(description="What a front end adds to its drawing when a record is expanded.")
class Expansion:
    record: MemoryRecord
    neighbours: list[Neighbour] = strawberry.field(description="Those that are not loaded yet, best first.")
    relations: list[Relation] = strawberry.field(description="From the record to these neighbours.")
    between: list[Relation] = strawberry.field(
        description="Between these neighbours, and from them to what is loaded; at most 500."
    )
    has_more: bool = strawberry.field(description="Ask again, with these neighbours among `loadedIds`.")
    freshness: Freshness

    @classmethod
    def of(cls, found: answers.Expansion) -> Self:
        return cls(
            record=MemoryRecord.of(found.record),
            neighbours=[
                Neighbour(
                    record=MemoryRecord.of(one.record),
                    weight=one.weight,
                    degree=one.degree,
                    more=one.more,
                    hub=one.hub,
                )
                for one in found.neighbours
            ],
            relations=[Relation.of(relation) for relation in found.relations],
            between=[Relation.of(relation) for relation in found.between],
            has_more=found.has_more,
            freshness=_freshness(found.found),
        )
