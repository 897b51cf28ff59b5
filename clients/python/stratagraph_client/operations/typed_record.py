from datetime import datetime
from typing import Optional

from pydantic import Field

from .base_model import BaseModel
from .enums import MemoryType
from .fragments import (  # noqa: F401
    RecordFields,
    RelationFields,
    TypedFields,
    TypedFieldsTypedCompetence,
    TypedFieldsTypedEntity,
    TypedFieldsTypedEpisode,
    TypedFieldsTypedFact,
    TypedFieldsTypedPlan,
    TypedFieldsTypedWorkingState,
)


class TypedRecord(BaseModel):
    record: Optional["TypedRecordRecord"]


class TypedRecordRecord(RecordFields, TypedFields):
    relations: Optional[list["TypedRecordRecordRelations"]]
    provenance: Optional["TypedRecordRecordProvenance"]


class TypedRecordRecordRelations(RelationFields):
    source: Optional["TypedRecordRecordRelationsSource"]
    target: Optional["TypedRecordRecordRelationsTarget"]


class TypedRecordRecordRelationsSource(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: Optional[str]


class TypedRecordRecordRelationsTarget(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: Optional[str]


class TypedRecordRecordProvenance(BaseModel):
    createdBy: Optional[str]
    sources: list["TypedRecordRecordProvenanceSources"]


class TypedRecordRecordProvenanceSources(BaseModel):
    kind: str
    ref: str
    timestamp: Optional[datetime]
    record: Optional["TypedRecordRecordProvenanceSourcesRecord"]


class TypedRecordRecordProvenanceSourcesRecord(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    name: Optional[str]
