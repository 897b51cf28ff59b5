from datetime import datetime

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import RecordState


class FactsAboutData(BaseModel):
    records: "FactsAboutResult"


class FactsAboutResult(BaseModel):
    nodes: list["FactsAboutNodes"]
    pageInfo: "FactsAboutPageInfo"


class FactsAboutNodes(BaseModel):
    id: str
    version: int
    state: RecordState
    updatedAt: datetime
    payload: JsonValue | None


class FactsAboutPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None
