from datetime import datetime

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType


class MetricsData(BaseModel):
    metrics: "MetricsResult"


class MetricsResult(BaseModel):
    total: int
    active: int
    contested: int
    pinned: int
    auditEntries: int
    createdLastDay: int
    growthRate: float | None
    meanSalience: float | None
    meanConfidence: float | None
    salienceDistribution: list[int]
    byType: list["MetricsByType"]
    revisionRate: float | None
    contradictionRate: float | None
    retrievalUsefulness: float | None
    competenceSuccessRate: float | None
    planReuseFrequency: float | None
    mirrorLagSeconds: float | None
    queueDepths: list["MetricsQueueDepths"] | None
    countedAt: datetime | None


class MetricsByType(BaseModel):
    type_: MemoryType = Field(alias="type")
    total: int
    current: int


class MetricsQueueDepths(BaseModel):
    queue: str
    depth: int
