from datetime import datetime
from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType


class Metrics(BaseModel):
    metrics: "MetricsMetrics"


class MetricsMetrics(BaseModel):
    total: int
    active: int
    contested: int
    pinned: int
    auditEntries: int
    createdLastDay: int
    growthRate: Optional[float]
    meanSalience: Optional[float]
    meanConfidence: Optional[float]
    salienceDistribution: list[int]
    byType: list["MetricsMetricsByType"]
    revisionRate: Optional[float]
    contradictionRate: Optional[float]
    retrievalUsefulness: Optional[float]
    competenceSuccessRate: Optional[float]
    planReuseFrequency: Optional[float]
    mirrorLagSeconds: Optional[float]
    queueDepths: Optional[list["MetricsMetricsQueueDepths"]]
    countedAt: Optional[datetime]


class MetricsMetricsByType(BaseModel):
    type_: MemoryType = Field(alias="type")
    total: int
    current: int


class MetricsMetricsQueueDepths(BaseModel):
    queue: str
    depth: int
