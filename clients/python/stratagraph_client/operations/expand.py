from typing import Literal, Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import FreshnessFields, RecordFields, RelationFields


class Expand(BaseModel):
    expand: "ExpandExpand"


class ExpandExpand(BaseModel):
    typename__: Literal["Expansion"] = Field(alias="__typename")
    record: "ExpandExpandRecord"
    neighbours: list["ExpandExpandNeighbours"]
    relations: list["ExpandExpandRelations"]
    between: list["ExpandExpandBetween"]
    pageInfo: "ExpandExpandPageInfo"
    reached: list[str]
    freshness: "ExpandExpandFreshness"


ExpandExpandRecord = RecordFields


class ExpandExpandNeighbours(BaseModel):
    record: "ExpandExpandNeighboursRecord"
    weight: float
    degree: int
    more: int
    hub: bool


ExpandExpandNeighboursRecord = RecordFields
ExpandExpandRelations = RelationFields
ExpandExpandBetween = RelationFields


class ExpandExpandPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]


ExpandExpandFreshness = FreshnessFields
