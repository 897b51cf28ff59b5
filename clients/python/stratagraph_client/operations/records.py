from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class RecordsData(BaseModel):
    records: "RecordsResult"


class RecordsResult(BaseModel):
    nodes: list["RecordFields"]
    cut: bool
    pageInfo: "RecordsPageInfo"


class RecordsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
