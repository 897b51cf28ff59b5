from datetime import datetime
from typing import Literal, Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import FreshnessFields, RecordFields, RelationFields


class RetrieveGraph(BaseModel):
    retrieveGraph: "RetrieveGraphRetrieveGraph"


class RetrieveGraphRetrieveGraph(BaseModel):
    typename__: Literal["RetrieveGraphSuccess"] = Field(alias="__typename")
    retrievalId: str
    nothingKnown: bool
    roots: list[str]
    nodes: list["RetrieveGraphRetrieveGraphNodes"]
    edges: list["RetrieveGraphRetrieveGraphEdges"]
    rendering: Optional[str]
    citations: list["RetrieveGraphRetrieveGraphCitations"]
    namedTimes: list["RetrieveGraphRetrieveGraphNamedTimes"]
    selection: Optional["RetrieveGraphRetrieveGraphSelection"]
    limits: "RetrieveGraphRetrieveGraphLimits"
    freshness: "RetrieveGraphRetrieveGraphFreshness"
    vectorFallback: Optional[str]


class RetrieveGraphRetrieveGraphNodes(BaseModel):
    record: "RetrieveGraphRetrieveGraphNodesRecord"
    root: bool
    hop: int
    score: float
    strength: float
    duplicateCount: int
    duplicateIds: list[str]
    why: Optional["RetrieveGraphRetrieveGraphNodesWhy"]


RetrieveGraphRetrieveGraphNodesRecord = RecordFields


class RetrieveGraphRetrieveGraphNodesWhy(BaseModel):
    matchedWords: list[str]
    names: list[str]
    timedBy: Optional[str]
    viaId: Optional[str]
    words: float
    vectors: float
    recency: float
    signals: list["RetrieveGraphRetrieveGraphNodesWhySignals"]


class RetrieveGraphRetrieveGraphNodesWhySignals(BaseModel):
    signal: str
    value: float
    weight: float
    share: float


RetrieveGraphRetrieveGraphEdges = RelationFields


class RetrieveGraphRetrieveGraphCitations(BaseModel):
    number: int
    recordId: str


class RetrieveGraphRetrieveGraphNamedTimes(BaseModel):
    words: str
    start: Optional[datetime]
    end: datetime


class RetrieveGraphRetrieveGraphSelection(BaseModel):
    chosenId: Optional[str]
    confidence: float
    needsMore: bool
    askFor: list[str]
    ranked: list["RetrieveGraphRetrieveGraphSelectionRanked"]


class RetrieveGraphRetrieveGraphSelectionRanked(BaseModel):
    recordId: str
    score: float
    applicability: float
    recency: float
    successRate: float


class RetrieveGraphRetrieveGraphLimits(BaseModel):
    reached: list[str]
    hubs: list[str]
    cuts: list["RetrieveGraphRetrieveGraphLimitsCuts"]


class RetrieveGraphRetrieveGraphLimitsCuts(BaseModel):
    limit: str
    leftOut: Optional[int]
    because: str


RetrieveGraphRetrieveGraphFreshness = FreshnessFields
