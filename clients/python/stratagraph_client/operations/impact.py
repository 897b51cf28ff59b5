from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType
from .fragments import FreshnessFields, RecordFields


class Impact(BaseModel):
    impact: "ImpactImpact"


class ImpactImpact(BaseModel):
    typename__: Literal["Impact"] = Field(alias="__typename")
    record: "ImpactImpactRecord"
    counts: list["ImpactImpactCounts"]
    total: int
    nodes: list["ImpactImpactNodes"]
    reached: list[str]
    hubs: list[str]
    freshness: "ImpactImpactFreshness"


ImpactImpactRecord = RecordFields


class ImpactImpactCounts(BaseModel):
    hop: int
    type_: MemoryType = Field(alias="type")
    count: int


class ImpactImpactNodes(BaseModel):
    record: "ImpactImpactNodesRecord"
    hop: int
    strength: float
    viaId: str


ImpactImpactNodesRecord = RecordFields
ImpactImpactFreshness = FreshnessFields
