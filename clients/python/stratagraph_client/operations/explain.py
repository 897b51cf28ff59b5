from datetime import datetime
from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType
from .fragments import (  # noqa: F401
    RecordFields,
    RelationFields,
)


class ExplainResult(BaseModel):
    record: Optional["ExplainRecord"]
    history: "ExplainHistory"
    auditLog: "ExplainAuditLog"


class ExplainRecord(RecordFields):
    provenance: Optional["ExplainRecordProvenance"]
    relations: list["ExplainRecordRelations"] | None


class ExplainRecordProvenance(BaseModel):
    createdBy: str | None
    sources: list["ExplainRecordProvenanceSources"]


class ExplainRecordProvenanceSources(BaseModel):
    kind: str
    ref: str
    timestamp: datetime | None
    createdBy: str | None


class ExplainRecordRelations(RelationFields):
    source: Optional["ExplainRecordRelationsSource"]
    target: Optional["ExplainRecordRelationsTarget"]


class ExplainRecordRelationsSource(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None


class ExplainRecordRelationsTarget(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None


class ExplainHistory(BaseModel):
    nodes: list["ExplainHistoryNodes"]


class ExplainHistoryNodes(BaseModel):
    validFrom: datetime
    validTo: datetime | None
    record: "RecordFields"


class ExplainAuditLog(BaseModel):
    nodes: list["ExplainAuditLogNodes"]


class ExplainAuditLogNodes(BaseModel):
    action: str
    actor: str
    timestamp: datetime
    rationale: str | None
