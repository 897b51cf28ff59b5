from datetime import datetime
from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import PlanLinkKind, PlanStepKind, PlanStepStatus, RecordState


class PlanGraph(BaseModel):
    planGraph: Optional["PlanGraphPlanGraph"]


class PlanGraphPlanGraph(BaseModel):
    id: str
    planId: str
    version: str
    composed: bool
    intent: Optional[str]
    state: RecordState
    validFrom: datetime
    validTo: Optional[datetime]
    collapsed: bool
    stepCount: int
    linkCount: int
    criticalPath: list[str]
    metrics: "PlanGraphPlanGraphMetrics"
    steps: list["PlanGraphPlanGraphSteps"]
    links: list["PlanGraphPlanGraphLinks"]


class PlanGraphPlanGraphMetrics(BaseModel):
    avgLatencyMs: Optional[float]
    failureRate: Optional[float]
    executionCount: int
    lastExecutedAt: Optional[datetime]


class PlanGraphPlanGraphSteps(BaseModel):
    id: str
    label: str
    kind: PlanStepKind
    op: str
    params: Optional[JsonValue]
    guards: Optional[JsonValue]
    rank: int
    order: int
    depth: int
    count: int
    status: PlanStepStatus
    executions: Optional[int]
    failures: Optional[int]


class PlanGraphPlanGraphLinks(BaseModel):
    id: str
    source: str
    target: str
    kind: PlanLinkKind
    count: int
