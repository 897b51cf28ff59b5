from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import FreshnessFields, RecordFields, RelationFields


class ExplainPath(BaseModel):
    explainPath: "ExplainPathExplainPath"


class ExplainPathExplainPath(BaseModel):
    typename__: Literal["PathExplanation"] = Field(alias="__typename")
    paths: list["ExplainPathExplainPathPaths"]
    reached: list[str]
    hubs: list[str]
    freshness: "ExplainPathExplainPathFreshness"


class ExplainPathExplainPathPaths(BaseModel):
    sentence: str
    weight: float
    nodes: list["ExplainPathExplainPathPathsNodes"]
    relations: list["ExplainPathExplainPathPathsRelations"]


ExplainPathExplainPathPathsNodes = RecordFields
ExplainPathExplainPathPathsRelations = RelationFields
ExplainPathExplainPathFreshness = FreshnessFields
