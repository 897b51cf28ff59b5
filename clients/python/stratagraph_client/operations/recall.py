from datetime import datetime

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType, RecordState


class RecallData(BaseModel):
    retrieveGraph: "RecallResult"


class RecallResult(BaseModel):
    retrievalId: str
    nothingKnown: bool
    rendering: str | None
    nodes: list["RecallNodes"]


class RecallNodes(BaseModel):
    root: bool
    strength: float
    record: "RecallNodesRecord"


class RecallNodesRecord(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None
    text: str | None
    state: RecordState
    scope: str
    occurredAt: datetime | None
