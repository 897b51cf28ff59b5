"""Plans as graphs that any front end can draw without a layout of its own."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import PlanLinkKind
from stratagraph.memory import lookup


@strawberry.type(description="One action.")
class PlanStep:
    id: strawberry.ID
    op: str
    params: JSON | None
    guards: JSON | None
    rank: int = strawberry.field(description="Longest path from a source: its column in a drawing.")


@strawberry.type(description="One dependency.")
class PlanLink:
    source: strawberry.ID
    target: strawberry.ID
    kind: PlanLinkKind


@strawberry.type(description="How the plan has done.")
class PlanMetrics:
    avg_latency_ms: float | None
    failure_rate: float | None
    execution_count: int
    last_executed_at: datetime | None


@strawberry.type(description="A reusable solution: a DAG of actions.")
class PlanGraph:
    id: strawberry.ID = strawberry.field(description="Of the record.")
    plan_id: str
    version: str
    intent: str | None
    steps: list[PlanStep]
    links: list[PlanLink]
    metrics: PlanMetrics
    critical_path: list[strawberry.ID] = strawberry.field(description="The longest chain of steps.")

    @classmethod
    def of(cls, plan: lookup.PlanDrawing) -> Self:
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


@strawberry.type(description="The state of one part of the service.")
class HealthCheck:
    name: str
    ok: bool
    detail: str


@strawberry.type(description="Whether the service is well.")
class Health:
    ok: bool = strawberry.field(description="It can read and write; a missing mirror does not count against it.")
    version: str
    checks: list[HealthCheck]
