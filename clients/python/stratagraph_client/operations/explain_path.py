from .base_model import BaseModel
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
    RelationFields,
)


class ExplainPathData(BaseModel):
    explainPath: "ExplainPathResult"


class ExplainPathResult(BaseModel):
    paths: list["ExplainPathPaths"]
    reached: list[str]
    hubs: list[str]
    freshness: "FreshnessFields"


class ExplainPathPaths(BaseModel):
    sentence: str
    weight: float
    nodes: list["RecordFields"]
    relations: list["RelationFields"]
