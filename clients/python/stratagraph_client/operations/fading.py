from datetime import datetime

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class FadingData(BaseModel):
    fading: "FadingResult"


class FadingResult(BaseModel):
    totalCount: int
    nodes: list["FadingNodes"]
    pageInfo: "FadingPageInfo"


class FadingNodes(BaseModel):
    record: "RecordFields"
    dueAt: datetime
    awaitsLearning: bool


class FadingPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
