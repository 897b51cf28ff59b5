from datetime import datetime

from .base_model import BaseModel
from .fragments import RecordFields


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
