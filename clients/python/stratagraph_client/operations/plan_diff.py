from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import PlanLinkKind


class PlanDiffData(BaseModel):
    planDiff: Optional["PlanDiffResult"]


class PlanDiffResult(BaseModel):
    planId: str
    fromId: str
    toId: str
    sameStructure: bool
    addedSteps: list["PlanDiffAddedSteps"]
    removedSteps: list["PlanDiffRemovedSteps"]
    changedSteps: list["PlanDiffChangedSteps"]
    addedLinks: list["PlanDiffAddedLinks"]
    removedLinks: list["PlanDiffRemovedLinks"]


class PlanDiffAddedSteps(BaseModel):
    id: str
    op: str
    params: JsonValue | None


class PlanDiffRemovedSteps(BaseModel):
    id: str
    op: str
    params: JsonValue | None


class PlanDiffChangedSteps(BaseModel):
    id: str
    fields: list[str]
    before: JsonValue
    after: JsonValue


class PlanDiffAddedLinks(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind


class PlanDiffRemovedLinks(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind
