from datetime import datetime

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class DisputesData(BaseModel):
    disputes: "DisputesResult"


class DisputesResult(BaseModel):
    nodes: list["DisputesNodes"]
    pageInfo: "DisputesPageInfo"


class DisputesNodes(BaseModel):
    parties: list["RecordFields"]
    since: datetime | None


class DisputesPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
