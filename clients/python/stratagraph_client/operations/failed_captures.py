from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .enums import Sensitivity, SourceKind


class FailedCaptures(BaseModel):
    failedCaptures: "FailedCapturesFailedCaptures"


class FailedCapturesFailedCaptures(BaseModel):
    nodes: list["FailedCapturesFailedCapturesNodes"]
    pageInfo: "FailedCapturesFailedCapturesPageInfo"


class FailedCapturesFailedCapturesNodes(BaseModel):
    candidateId: str
    batchId: str
    position: int
    actor: str
    sourceKind: SourceKind
    scope: Optional[str]
    sensitivity: Sensitivity
    stage: str
    error: str
    attempts: int
    nextTryAt: Optional[datetime]
    createdAt: datetime


class FailedCapturesFailedCapturesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
