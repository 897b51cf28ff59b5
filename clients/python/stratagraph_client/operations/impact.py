from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
)


class ImpactData(BaseModel):
    impact: "ImpactResult"


class ImpactResult(BaseModel):
    record: "RecordFields"
    counts: list["ImpactCounts"]
    total: int
    nodes: list["ImpactNodes"]
    reached: list[str]
    hubs: list[str]
    freshness: "FreshnessFields"


class ImpactCounts(BaseModel):
    hop: int
    type_: MemoryType = Field(alias="type")
    count: int


class ImpactNodes(BaseModel):
    record: "RecordFields"
    hop: int
    strength: float
    viaId: str
