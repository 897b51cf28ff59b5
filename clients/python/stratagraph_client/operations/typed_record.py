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
    TypedFieldsTypedCompetenceLesson,
    TypedFieldsTypedCompetencePerformance,
    TypedFieldsTypedCompetenceRecipe,
    TypedFieldsTypedCompetenceTriggers,
    TypedFieldsTypedEntity,
    TypedFieldsTypedEntityAliases,
    TypedFieldsTypedEntityIdentifiers,
    TypedFieldsTypedEpisode,
    TypedFieldsTypedEpisodeEnvironment,
    TypedFieldsTypedEpisodeTimeline,
    TypedFieldsTypedEpisodeToolGraph,
    TypedFieldsTypedFact,
    TypedFieldsTypedFactEvidence,
    TypedFieldsTypedFactRevision,
    TypedFieldsTypedFactValidity,
    TypedFieldsTypedPlan,
    TypedFieldsTypedPlanEdges,
    TypedFieldsTypedPlanMetrics,
    TypedFieldsTypedPlanNodes,
    TypedFieldsTypedPlanNodesMetrics,
    TypedFieldsTypedWorkingState,
    TypedFieldsTypedWorkingStateActiveConstraints,
)


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
