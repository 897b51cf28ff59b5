from datetime import datetime
from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import PlanLinkKind, PlanStepKind, PlanStepStatus, RecordState


class PlanGraphData(BaseModel):
    planGraph: Optional["PlanGraphResult"]


class PlanGraphResult(BaseModel):
    id: str
    planId: str
    version: str
    composed: bool
    intent: str | None
    state: RecordState
    validFrom: datetime
    validTo: datetime | None
    collapsed: bool
    stepCount: int
    linkCount: int
    criticalPath: list[str]
    metrics: "PlanGraphMetrics"
    steps: list["PlanGraphSteps"]
    links: list["PlanGraphLinks"]


class PlanGraphMetrics(BaseModel):
    avgLatencyMs: float | None
    failureRate: float | None
    executionCount: int
    lastExecutedAt: datetime | None


class PlanGraphSteps(BaseModel):
    id: str
    label: str
    kind: PlanStepKind
    op: str
    params: JsonValue | None
    guards: JsonValue | None
    rank: int
    order: int
    depth: int
    count: int
    status: PlanStepStatus
    executions: int | None
    failures: int | None


class PlanGraphLinks(BaseModel):
    id: str
    source: str
    target: str
    kind: PlanLinkKind
    count: int
