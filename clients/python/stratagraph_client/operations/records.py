from typing import Optional

from .base_model import BaseModel
from .fragments import RecordFields


class Records(BaseModel):
    records: "RecordsRecords"


class RecordsRecords(BaseModel):
    nodes: list["RecordsRecordsNodes"]
    cut: bool
    pageInfo: "RecordsRecordsPageInfo"


RecordsRecordsNodes = RecordFields


class RecordsRecordsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: Optional[str]
