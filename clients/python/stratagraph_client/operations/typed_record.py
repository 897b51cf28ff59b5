from datetime import datetime
from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType
from .fragments import RecordFields, RelationFields, TypedFields


class TypedRecordData(BaseModel):
    record: Optional["TypedRecordResult"]


class TypedRecordResult(RecordFields, TypedFields):
    relations: list["TypedRecordRelations"] | None
    provenance: Optional["TypedRecordProvenance"]


class TypedRecordRelations(RelationFields):
    source: Optional["TypedRecordRelationsSource"]
    target: Optional["TypedRecordRelationsTarget"]


class TypedRecordRelationsSource(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None


class TypedRecordRelationsTarget(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None


class TypedRecordProvenance(BaseModel):
    createdBy: str | None
    sources: list["TypedRecordProvenanceSources"]


class TypedRecordProvenanceSources(BaseModel):
    kind: str
    ref: str
    timestamp: datetime | None
    record: Optional["TypedRecordProvenanceSourcesRecord"]


class TypedRecordProvenanceSourcesRecord(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: str | None
