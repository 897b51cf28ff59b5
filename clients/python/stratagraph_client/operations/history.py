from datetime import datetime

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class HistoryData(BaseModel):
    history: "HistoryResult"


class HistoryResult(BaseModel):
    nodes: list["HistoryNodes"]
    pageInfo: "HistoryPageInfo"


class HistoryNodes(BaseModel):
    validFrom: datetime
    validTo: datetime | None
    record: "RecordFields"


class HistoryPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
