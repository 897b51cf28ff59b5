"""The difference between two versions of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import strawberry

from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import PlanLinkKind
from stratagraph.memory.plans.differences import ChangedStep, PlanDifference


@strawberry.type(description="A step that only one of two versions of a plan has.")
class PlanDiffStep:
    id: strawberry.ID = strawberry.field(description="Identifier of the step, unique within the plan.")
    op: str = strawberry.field(description="The operation that the step performs.")
    params: JSON | None = strawberry.field(description="Parameters of the operation.")

    @classmethod
    def of(cls, step: Mapping[str, Any]) -> Self:
        return cls(id=strawberry.ID(step["id"]), op=step["op"], params=step.get("params"))


@strawberry.type(description="A step that both of two versions of a plan have, with differences.")
class PlanDiffChange:
    id: strawberry.ID = strawberry.field(description="Identifier of the step, unique within the plan.")
    fields: list[str] = strawberry.field(
        description="Names of the fields that differ: `op`, `params`, `guards`, `label`, `share` or `effect`."
    )
    before: JSON = strawberry.field(description="These fields in the version `from`; those that it lacks are left out.")
    after: JSON = strawberry.field(description="These fields in the version `to`; those that it lacks are left out.")

    @classmethod
    def of(cls, change: ChangedStep) -> Self:
        before, after = (
            {name: step[name] for name in change.fields if name in step} for step in (change.before, change.after)
        )
        return cls(id=strawberry.ID(change.id), fields=list(change.fields), before=JSON(before), after=JSON(after))


@strawberry.type(description="A dependency that only one of two versions of a plan has.")
class PlanDiffLink:
    source: strawberry.ID = strawberry.field(description="Identifier of the earlier step.")
    target: strawberry.ID = strawberry.field(description="Identifier of the later step.")
    kind: PlanLinkKind = strawberry.field(description="Whether the link orders the steps or passes data.")

    @classmethod
    def of(cls, link: tuple[str, str, str]) -> Self:
        return cls(source=strawberry.ID(link[0]), target=strawberry.ID(link[1]), kind=PlanLinkKind(link[2]))


@strawberry.type(description="What changed between two versions of a plan. Statistics of executions are not compared.")
class PlanDiff:
    plan_id: str = strawberry.field(description="Name of the plan, shared by both versions.")
    from_id: strawberry.ID = strawberry.field(description="Id of the record of the version `from`, a UUID.")
    to_id: strawberry.ID = strawberry.field(description="Id of the record of the version `to`, a UUID.")
    same_structure: bool = strawberry.field(
        description="Whether both are the same graph of operations, whatever their steps are called."
    )
    added_steps: list[PlanDiffStep] = strawberry.field(description="The steps that only the version `to` has.")
    removed_steps: list[PlanDiffStep] = strawberry.field(description="The steps that only the version `from` has.")
    changed_steps: list[PlanDiffChange] = strawberry.field(description="The steps of both that differ.")
    added_links: list[PlanDiffLink] = strawberry.field(description="The dependencies that only the version `to` has.")
    removed_links: list[PlanDiffLink] = strawberry.field(
        description="The dependencies that only the version `from` has."
    )

    @classmethod
    def of(cls, found: PlanDifference) -> Self:
        return cls(
            plan_id=(found.after.payload or {})["plan_id"],
            from_id=strawberry.ID(str(found.before.id)),
            to_id=strawberry.ID(str(found.after.id)),
            same_structure=found.has_same_structure,
            added_steps=[PlanDiffStep.of(one) for one in found.added_steps],
            removed_steps=[PlanDiffStep.of(one) for one in found.removed_steps],
            changed_steps=[PlanDiffChange.of(one) for one in found.changed_steps],
            added_links=[PlanDiffLink.of(one) for one in found.added_links],
            removed_links=[PlanDiffLink.of(one) for one in found.removed_links],
        )
