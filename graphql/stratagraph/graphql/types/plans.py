"""Plans as graphs, with a place for each step, so that a front end needs no layout algorithm."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import PlanLinkKind, PlanStepKind, PlanStepStatus, RecordState
from stratagraph.memory.plans import drawing
from stratagraph.memory.plans.groups import MAX_LINKS, MAX_NODES
from stratagraph.store.model.payloads.base import count_of


@strawberry.type(description="One action of a plan, or a group of several where the plan is too large to show at once.")
class PlanStep:
    id: strawberry.ID = strawberry.field(
        description="Identifier of the step, unique within the plan. That of a group can be given as the argument"
        " `group`."
    )
    label: str = strawberry.field(description="What to write on the step: one line of at most 80 characters.")
    kind: PlanStepKind = strawberry.field(description="Whether this is a step or a group of steps.")
    op: str = strawberry.field(description="The operation that the step performs; of a group, that of its first step.")
    params: JSON | None = strawberry.field(description="Parameters of the operation.")
    guards: JSON | None = strawberry.field(description="Conditions that must hold before the step runs.")
    rank: int = strawberry.field(
        description="Length of the longest path from a source to the step, in links, from 0; its column in a drawing."
    )
    order: int = strawberry.field(
        description="Place of the step within its rank, from 0, from top to bottom; chosen so that few links cross."
    )
    depth: int = strawberry.field(
        description="Length of the longest path from a source of the whole plan to the step, in links, from 0; of a"
        " group, to its first step. Equals `rank` where no steps are grouped."
    )
    count: int = strawberry.field(description="Number of steps that this stands for: 1, or more for a group.")
    status: PlanStepStatus = strawberry.field(
        description="What is known of the step's executions; of a group, the worst of its steps' statuses."
    )
    executions: int | None = strawberry.field(
        description="Number of known executions, from 0, as captured with the plan; null where none was captured, and"
        " for a group."
    )
    failures: int | None = strawberry.field(
        description="Number of known executions that failed, from 0, as captured with the plan; null where none was"
        " captured, and for a group."
    )

    @classmethod
    def of(cls, step: drawing.DrawnStep) -> Self:
        return cls(
            id=strawberry.ID(step.id),
            label=step.label,
            kind=step.kind,
            op=step.op,
            params=step.params,
            guards=step.guards,
            rank=step.rank,
            order=step.order,
            depth=step.depth,
            count=step.count,
            status=step.status,
            executions=step.executions,
            failures=step.failures,
        )


@strawberry.type(description="A dependency between two steps of a plan.")
class PlanLink:
    id: strawberry.ID = strawberry.field(
        description="Identifier of the link, unique within the plan and equal in all versions that have the link."
    )
    source: strawberry.ID = strawberry.field(description="Identifier of the earlier step.")
    target: strawberry.ID = strawberry.field(description="Identifier of the later step.")
    kind: PlanLinkKind = strawberry.field(description="Whether the link orders the steps or passes data.")
    count: int = strawberry.field(
        description="Number of dependencies that the link stands for; more than 1 between groups."
    )


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
    composed: bool = strawberry.field(
        description="Whether the plan is stored nowhere: it was composed of steps of known skills and plans, for a task"
        " that none of these is for."
    )
    intent: str | None = strawberry.field(description="What the plan is for, in words.")
    state: RecordState = strawberry.field(
        description="Whether the plan is part of the current truth; with `at`, whether it was at that instant."
    )
    valid_from: datetime = strawberry.field(description="Instant in UTC at which this version became known.")
    valid_to: datetime | None = strawberry.field(
        description="Instant in UTC at which this version was superseded or retracted; null while it is current."
    )
    steps: list[PlanStep] = strawberry.field(
        description=f"The steps in topological order: by rank, and by order within it. At most {MAX_NODES}."
    )
    links: list[PlanLink] = strawberry.field(
        description=f"The dependencies between the steps. They join at most {MAX_LINKS:,} pairs of steps."
    )
    collapsed: bool = strawberry.field(
        description=f"Whether steps are shown in groups, because there are more than {MAX_NODES}, or because they have"
        f" more than {MAX_LINKS:,} links."
    )
    step_count: int = strawberry.field(description="Number of steps before grouping, from 1.")
    link_count: int = strawberry.field(description="Number of links before grouping, from 0.")
    metrics: PlanMetrics = strawberry.field(description="Results of past executions.")
    critical_path: list[strawberry.ID] = strawberry.field(
        description="Identifiers of the steps on the longest path through the plan, or through the group, in order;"
        " where steps are grouped, of the groups that hold them."
    )

    @classmethod
    def of(cls, plan: drawing.Drawing) -> Self:
        payload = plan.payload
        metrics = payload.get("metrics") or {}
        last = metrics.get("last_executed_at")
        return cls(
            id=strawberry.ID(str(plan.record.id)),
            plan_id=payload["plan_id"],
            version=payload["version"],
            composed=payload.get("composed") is True,
            intent=payload.get("intent"),
            state=plan.record.state,
            valid_from=plan.valid_from,
            valid_to=plan.valid_to,
            steps=[PlanStep.of(step) for step in plan.steps],
            links=[
                PlanLink(
                    id=strawberry.ID(link.id),
                    source=strawberry.ID(link.source),
                    target=strawberry.ID(link.target),
                    kind=PlanLinkKind(link.kind),
                    count=link.count,
                )
                for link in plan.links
            ],
            collapsed=plan.collapsed,
            step_count=plan.step_count,
            link_count=plan.link_count,
            metrics=PlanMetrics(
                avg_latency_ms=metrics.get("avg_latency_ms"),
                failure_rate=metrics.get("failure_rate"),
                execution_count=count_of(metrics.get("execution_count")),
                last_executed_at=datetime.fromisoformat(last) if last else None,
            ),
            critical_path=[strawberry.ID(id_) for id_ in plan.critical_path],
        )
