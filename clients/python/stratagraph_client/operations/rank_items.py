from .base_model import BaseModel
from .fragments import (  # noqa: F401
    ItemFields,
)


class RankItemsData(BaseModel):
    retrieveGraph: "RankItemsResult"


class RankItemsResult(BaseModel):
    nodes: list["RankItemsNodes"]


class RankItemsNodes(BaseModel):
    root: bool
    score: float
    record: "ItemFields"
