from .base_model import BaseModel
from .fragments import LogFields


class LatestOfLogData(BaseModel):
    records: "LatestOfLogResult"


class LatestOfLogResult(BaseModel):
    nodes: list["LogFields"]
    pageInfo: "LatestOfLogPageInfo"


class LatestOfLogPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
