from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import PlanLinkKind


class PlanDiff(BaseModel):
    planDiff: Optional["PlanDiffPlanDiff"]


class PlanDiffPlanDiff(BaseModel):
    planId: str
    fromId: str
    toId: str
    sameStructure: bool
    addedSteps: list["PlanDiffPlanDiffAddedSteps"]
    removedSteps: list["PlanDiffPlanDiffRemovedSteps"]
    changedSteps: list["PlanDiffPlanDiffChangedSteps"]
    addedLinks: list["PlanDiffPlanDiffAddedLinks"]
    removedLinks: list["PlanDiffPlanDiffRemovedLinks"]


class PlanDiffPlanDiffAddedSteps(BaseModel):
    id: str
    op: str
    params: Optional[JsonValue]


class PlanDiffPlanDiffRemovedSteps(BaseModel):
    id: str
    op: str
    params: Optional[JsonValue]


class PlanDiffPlanDiffChangedSteps(BaseModel):
    id: str
    fields: list[str]
    before: JsonValue
    after: JsonValue


class PlanDiffPlanDiffAddedLinks(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind


class PlanDiffPlanDiffRemovedLinks(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind
