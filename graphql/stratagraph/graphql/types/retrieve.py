"""Retrieval: what is asked, and the graph that answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self, cast

import strawberry

from stratagraph.graphql.context import Context
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import Engine, MemoryType, Sensitivity
from stratagraph.graphql.types.errors import Forbidden, InvalidInput, Unavailable
from stratagraph.graphql.types.records import MemoryRecord, PastLoaders, Relation, Then
from stratagraph.memory.retrieve import selection as chosen
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Node, Retrieved


@strawberry.input(description="A task in words, and how much of what surrounds it to return.")
class RetrieveGraphInput:
    task_descriptor: str = strawberry.field(description="What is to be done or answered, in plain words.")
    memory_types: list[MemoryType] | None = strawberry.field(default=None, description="Types of the roots.")
    min_salience: float | None = None
    root_limit: int | None = strawberry.field(default=10, description="1 to 100.")
    node_limit: int | None = strawberry.field(default=25, description="Roots included; 1 to 1000.")
    edge_limit: int | None = strawberry.field(default=100, description="0 to 5000.")
    max_hops: int | None = strawberry.field(default=1, description="0 to 6.")
    context: JSON | None = strawberry.field(
        default=None, description="Conditions as an object; decides among procedures and plans."
    )
    as_of: datetime | None = strawberry.field(
        default=None,
        description="A past instant: what would have been the answer then, salience and ranking included, among what"
        " the caller may see now as well. Entities are found by the names they have now.",
    )
    at_least_sequence: str | None = strawberry.field(
        default=None, description="A receipt's sequence: the answer reflects at least that write."
    )
    token_budget: int | None = strawberry.field(default=None, description="Adds `rendering` of at most this length.")
    scopes: list[str] | None = strawberry.field(default=None, description="May only narrow the credential.")
    max_sensitivity: Sensitivity | None = strawberry.field(default=None, description="May only narrow the credential.")

    def as_request(self) -> RetrieveRequest:
        return RetrieveRequest(
            task_descriptor=self.task_descriptor,
            memory_types=tuple(self.memory_types or ()),
            min_salience=self.min_salience,
            root_limit=10 if self.root_limit is None else self.root_limit,
            node_limit=25 if self.node_limit is None else self.node_limit,
            edge_limit=100 if self.edge_limit is None else self.edge_limit,
            max_hops=1 if self.max_hops is None else self.max_hops,
            context=cast(dict[str, Any] | None, self.context),
            as_of=self.as_of,
            at_least_sequence=self.at_least_sequence,
            token_budget=self.token_budget,
            scopes=None if self.scopes is None else tuple(self.scopes),
            max_sensitivity=self.max_sensitivity,
        )


@strawberry.type(description="What made a record part of the answer.")
class Why:
    words: float = strawberry.field(description="Match by words, relative to the best, in [0, 1].")
    names: list[str] = strawberry.field(description="Names in the descriptor that mean this entity.")
    recency: float
    via_id: strawberry.ID | None = strawberry.field(description="The node that led to it.")


@strawberry.type(description="A record of the answer.")
class GraphNode:
    record: MemoryRecord
    root: bool
    hop: int = strawberry.field(description="Steps from the nearest root.")
    score: float
    why: Why | None

    @classmethod
    def of(cls, node: Node, then: Then | None, context: Context) -> Self:
        via = node.why.via
        return cls(
            record=MemoryRecord.of(node.record, then, context),
            root=node.root,
            hop=node.hop,
            score=node.score,
            why=None
            if node.record.redacted
            else Why(
                words=node.why.words,
                names=node.why.names,
                recency=node.why.recency,
                via_id=strawberry.ID(str(via)) if via is not None else None,
            ),
        )


@strawberry.type(description="What the limits cut off.")
class Limits:
    reached: list[str] = strawberry.field(description="Of roots, nodes, edges, hops: those that ended the search.")
    hubs: list[strawberry.ID] = strawberry.field(description="Records with more edges than were followed.")


@strawberry.type(description="A procedure or plan that might be followed.")
class SelectionCandidate:
    record_id: strawberry.ID
    score: float
    applicability: float
    success_rate: float
    recency: float


@strawberry.type(description="Which procedure or plan to follow, when there are any.")
class Selection:
    chosen_id: strawberry.ID | None
    confidence: float
    needs_more: bool = strawberry.field(description="Too close to call: give more context.")
    ask_for: list[str] = strawberry.field(description="The condition keys that would decide.")
    ranked: list[SelectionCandidate]

    @classmethod
    def of(cls, selection: chosen.Selection) -> Self:
        return cls(
            chosen_id=strawberry.ID(str(selection.chosen)) if selection.chosen is not None else None,
            confidence=selection.confidence,
            needs_more=selection.needs_more,
            ask_for=list(selection.ask_for),
            ranked=[
                SelectionCandidate(
                    record_id=strawberry.ID(str(item.id)),
                    score=item.score,
                    applicability=item.applicability,
                    success_rate=item.success_rate,
                    recency=item.recency,
                )
                for item in selection.ranked
            ],
        )


@strawberry.type(description="How fresh the answer is.")
class Freshness:
    engine: Engine
    fallback: str | None = strawberry.field(description="Why the preferred engine was not used.")
    mirror_lag_seconds: float | None = strawberry.field(description="Null without a mirror.")


@strawberry.type(description="Ranked memories and the neighbourhood that connects them.")
class RetrieveGraphSuccess:
    roots: list[strawberry.ID]
    nodes: list[GraphNode]
    edges: list[Relation]
    selection: Selection | None
    limits: Limits
    freshness: Freshness
    retrieval_id: strawberry.ID
    rendering: str | None = strawberry.field(description="For a prompt, with record ids as citations.")

    @classmethod
    def of(cls, found: Retrieved, context: Context) -> Self:
        then = Then(found.at, PastLoaders(context)) if found.at is not None else None
        return cls(
            roots=[strawberry.ID(str(id_)) for id_ in found.roots],
            nodes=[GraphNode.of(node, then, context) for node in found.nodes],
            edges=[Relation.of(edge) for edge in found.edges],
            selection=Selection.of(found.selection) if found.selection is not None else None,
            limits=Limits(reached=list(found.reached), hubs=[strawberry.ID(str(hub)) for hub in found.hubs]),
            freshness=Freshness(
                engine=Engine(found.engine), fallback=found.fallback, mirror_lag_seconds=found.mirror_lag_seconds
            ),
            retrieval_id=strawberry.ID(str(found.id)),
            rendering=found.rendering,
        )


RetrieveGraphResult = Annotated[
    RetrieveGraphSuccess | InvalidInput | Forbidden | Unavailable,
    strawberry.union("RetrieveGraphResult", description="The graph, or why there is none."),
]
