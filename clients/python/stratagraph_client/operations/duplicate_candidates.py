from datetime import datetime

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class DuplicateCandidatesData(BaseModel):
    duplicateCandidates: "DuplicateCandidatesResult"


class DuplicateCandidatesResult(BaseModel):
    nodes: list["DuplicateCandidatesNodes"]
    pageInfo: "DuplicateCandidatesPageInfo"


class DuplicateCandidatesNodes(BaseModel):
    records: list["RecordFields"]
    score: float
    evidence: list["DuplicateCandidatesNodesEvidence"]
    foundAt: datetime


class DuplicateCandidatesNodesEvidence(BaseModel):
    signal: str
    bits: float


class DuplicateCandidatesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
