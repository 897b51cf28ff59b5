from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class Fading(BaseModel):
    fading: "FadingFading"


class FadingFading(BaseModel):
    totalCount: int
    nodes: list["FadingFadingNodes"]
    pageInfo: "FadingFadingPageInfo"


class FadingFadingNodes(BaseModel):
    record: "FadingFadingNodesRecord"
    dueAt: datetime
    awaitsLearning: bool


FadingFadingNodesRecord = RecordFields


class FadingFadingPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
