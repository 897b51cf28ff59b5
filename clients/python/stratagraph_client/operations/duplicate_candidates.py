from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class DuplicateCandidates(BaseModel):
    duplicateCandidates: "DuplicateCandidatesDuplicateCandidates"


class DuplicateCandidatesDuplicateCandidates(BaseModel):
    nodes: list["DuplicateCandidatesDuplicateCandidatesNodes"]
    pageInfo: "DuplicateCandidatesDuplicateCandidatesPageInfo"


class DuplicateCandidatesDuplicateCandidatesNodes(BaseModel):
    records: list["DuplicateCandidatesDuplicateCandidatesNodesRecords"]
    score: float
    evidence: list["DuplicateCandidatesDuplicateCandidatesNodesEvidence"]
    foundAt: datetime


DuplicateCandidatesDuplicateCandidatesNodesRecords = RecordFields


class DuplicateCandidatesDuplicateCandidatesNodesEvidence(BaseModel):
    signal: str
    bits: float


class DuplicateCandidatesDuplicateCandidatesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
