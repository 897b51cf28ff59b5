from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import FreshnessFields, RecordFields


class RelatedEntities(BaseModel):
    relatedEntities: "RelatedEntitiesRelatedEntities"


class RelatedEntitiesRelatedEntities(BaseModel):
    typename__: Literal["RelatedEntities"] = Field(alias="__typename")
    record: "RelatedEntitiesRelatedEntitiesRecord"
    entities: list["RelatedEntitiesRelatedEntitiesEntities"]
    hasMore: bool
    reached: list[str]
    hubs: list[str]
    freshness: "RelatedEntitiesRelatedEntitiesFreshness"


RelatedEntitiesRelatedEntitiesRecord = RecordFields


class RelatedEntitiesRelatedEntitiesEntities(BaseModel):
    entity: "RelatedEntitiesRelatedEntitiesEntitiesEntity"
    shared: int
    weight: float
    memoryIds: list[str]


RelatedEntitiesRelatedEntitiesEntitiesEntity = RecordFields
RelatedEntitiesRelatedEntitiesFreshness = FreshnessFields
