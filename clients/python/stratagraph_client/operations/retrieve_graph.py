from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
    RelationFields,
)


class RetrieveGraphData(BaseModel):
    retrieveGraph: "RetrieveGraphResult"


class RetrieveGraphResult(BaseModel):
    retrievalId: str
    nothingKnown: bool
    roots: list[str]
    nodes: list["RetrieveGraphNodes"]
    edges: list["RelationFields"]
    rendering: str | None
    citations: list["RetrieveGraphCitations"]
    namedTimes: list["RetrieveGraphNamedTimes"]
    selection: Optional["RetrieveGraphSelection"]
    limits: "RetrieveGraphLimits"
    freshness: "FreshnessFields"
    vectorFallback: str | None


class RetrieveGraphNodes(BaseModel):
    record: "RecordFields"
    root: bool
    hop: int
    score: float
    strength: float
    duplicateCount: int
    duplicateIds: list[str]
    why: Optional["RetrieveGraphNodesWhy"]


class RetrieveGraphNodesWhy(BaseModel):
    matchedWords: list[str]
    names: list[str]
    timedBy: str | None
    viaId: str | None
    words: float
    vectors: float
    recency: float
    signals: list["RetrieveGraphNodesWhySignals"]


class RetrieveGraphNodesWhySignals(BaseModel):
    signal: str
    value: float
    weight: float
    share: float


class RetrieveGraphCitations(BaseModel):
    number: int
    recordId: str


class RetrieveGraphNamedTimes(BaseModel):
    words: str
    start: datetime | None
    end: datetime


class RetrieveGraphSelection(BaseModel):
    chosenId: str | None
    confidence: float
    needsMore: bool
    askFor: list[str]
    ranked: list["RetrieveGraphSelectionRanked"]


class RetrieveGraphSelectionRanked(BaseModel):
    recordId: str
    score: float
    applicability: float
    recency: float
    successRate: float


class RetrieveGraphLimits(BaseModel):
    reached: list[str]
    hubs: list[str]
    cuts: list["RetrieveGraphLimitsCuts"]


class RetrieveGraphLimitsCuts(BaseModel):
    limit: str
    leftOut: int | None
    because: str
