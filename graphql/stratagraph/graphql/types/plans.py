"""Plans as graphs, with a rank per step so that a front end needs no layout algorithm."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import PlanLinkKind
from stratagraph.memory import plan_layout


@strawberry.type(description="One action of a plan.")
class PlanStep:
    id: strawberry.ID = strawberry.field(description="Identifier of the step, unique within the plan.")
    op: str = strawberry.field(description="The operation that the step performs.")
    params: JSON | None = strawberry.field(description="Parameters of the operation.")
    guards: JSON | None = strawberry.field(description="Conditions that must hold before the step runs.")
    rank: int = strawberry.field(
        description="Length of the longest path from a source to the step, in links, from 0; its column in a drawing."
    )


@strawberry.type(description="A dependency between two steps of a plan.")
class PlanLink:
    source: strawberry.ID = strawberry.field(description="Identifier of the earlier step.")
    target: strawberry.ID = strawberry.field(description="Identifier of the later step.")
    kind: PlanLinkKind = strawberry.field(description="Whether the link orders the steps or passes data.")


@strawberry.type(description="Results of the plan's past executions, as captured with the plan.")
class PlanMetrics:
    avg_latency_ms: float | None = strawberry.field(
        description="Average duration of an execution, in milliseconds; null where it was not captured."
    )
    failure_rate: float | None = strawberry.field(
        description="Share of executions that failed, from 0 to 1; null where it was not captured."
    )
    execution_count: int = strawberry.field(description="Number of executions, 0 where it was not captured.")
    last_executed_at: datetime | None = strawberry.field(
        description="Instant of the last execution, in UTC; null where it was not captured."
    )


@strawberry.type(description="A plan that can be used again: a directed acyclic graph of actions.")
class PlanGraph:
    id: strawberry.ID = strawberry.field(description="Id of the plan's record, a UUID.")
    plan_id: str = strawberry.field(description="Name of the plan, shared by all its versions.")
    version: str = strawberry.field(description="Version label of the plan's payload; not the record's version.")
    intent: str | None = strawberry.field(description="What the plan is for, in words.")
    steps: list[PlanStep] = strawberry.field(description="The steps in topological order.")
    links: list[PlanLink] = strawberry.field(description="The dependencies between the steps.")
    metrics: PlanMetrics = strawberry.field(description="Results of past executions.")
    critical_path: list[strawberry.ID] = strawberry.field(
        description="Identifiers of the steps on the longest path through the plan, in order."
    )

    @classmethod
    def of(cls, plan: plan_layout.PlanLayout) -> Self:
        payload = plan.payload
        metrics = payload.get("metrics") or {}
        last = metrics.get("last_executed_at")
        return cls(
            id=strawberry.ID(str(plan.record.id)),
            plan_id=payload["plan_id"],
            version=payload["version"],
            intent=payload.get("intent"),
            steps=[
                PlanStep(id=strawberry.ID(step.id), op=step.op, params=step.params, guards=step.guards, rank=step.rank)
                for step in plan.steps
            ],
            links=[
                PlanLink(
                    source=strawberry.ID(edge["from"]),
                    target=strawberry.ID(edge["to"]),
                    kind=PlanLinkKind(edge["kind"]),
                )
                for edge in payload["edges"]
            ],
            metrics=PlanMetrics(
                avg_latency_ms=metrics.get("avg_latency_ms"),
                failure_rate=metrics.get("failure_rate"),
                execution_count=metrics.get("execution_count", 0),
                last_executed_at=datetime.fromisoformat(last) if last else None,
            ),
            critical_path=[strawberry.ID(id_) for id_ in plan.critical_path],
        )
