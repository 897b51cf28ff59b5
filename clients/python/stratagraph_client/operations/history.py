from datetime import datetime
from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class History(BaseModel):
    history: "HistoryHistory"


class HistoryHistory(BaseModel):
    nodes: list["HistoryHistoryNodes"]
    pageInfo: "HistoryHistoryPageInfo"


class HistoryHistoryNodes(BaseModel):
    validFrom: datetime
    validTo: Optional[datetime]
    record: "HistoryHistoryNodesRecord"


HistoryHistoryNodesRecord = RecordFields


class HistoryHistoryPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
