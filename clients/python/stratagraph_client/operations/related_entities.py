from .base_model import BaseModel
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
)


class RelatedEntitiesData(BaseModel):
    relatedEntities: "RelatedEntitiesResult"


class RelatedEntitiesResult(BaseModel):
    record: "RecordFields"
    entities: list["RelatedEntitiesEntities"]
    hasMore: bool
    reached: list[str]
    hubs: list[str]
    freshness: "FreshnessFields"


class RelatedEntitiesEntities(BaseModel):
    entity: "RecordFields"
    shared: int
    weight: float
    memoryIds: list[str]
