from .base_model import BaseModel
from .fragments import (  # noqa: F401
    LogFields,
)


class LatestOfLogData(BaseModel):
    records: "LatestOfLogResult"


class LatestOfLogResult(BaseModel):
    nodes: list["LogFields"]
    pageInfo: "LatestOfLogPageInfo"


class LatestOfLogPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
