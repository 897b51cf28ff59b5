from .base_model import BaseModel
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
    RelationFields,
)


class ExpandData(BaseModel):
    expand: "ExpandResult"


class ExpandResult(BaseModel):
    record: "RecordFields"
    neighbours: list["ExpandNeighbours"]
    relations: list["RelationFields"]
    between: list["RelationFields"]
    pageInfo: "ExpandPageInfo"
    reached: list[str]
    freshness: "FreshnessFields"


class ExpandNeighbours(BaseModel):
    record: "RecordFields"
    weight: float
    degree: int
    more: int
    hub: bool


class ExpandPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
