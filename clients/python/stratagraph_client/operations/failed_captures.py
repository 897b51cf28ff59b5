from datetime import datetime

from .base_model import BaseModel
from .enums import Sensitivity, SourceKind


class FailedCapturesData(BaseModel):
    failedCaptures: "FailedCapturesResult"


class FailedCapturesResult(BaseModel):
    nodes: list["FailedCapturesNodes"]
    pageInfo: "FailedCapturesPageInfo"


class FailedCapturesNodes(BaseModel):
    candidateId: str
    batchId: str
    position: int
    actor: str
    sourceKind: SourceKind
    scope: str | None
    sensitivity: Sensitivity
    stage: str
    error: str
    attempts: int
    nextTryAt: datetime | None
    createdAt: datetime


class FailedCapturesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
