from datetime import datetime
from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import DecayCurve, DeletionPolicy, ReadingState
from .fragments import RecordFields, RelationFields


class Record(BaseModel):
    record: Optional["RecordRecord"]


class RecordRecord(RecordFields):
    interpretation: Optional[JsonValue]
    namedTimes: Optional[list["RecordRecordNamedTimes"]]
    textReading: Optional["RecordRecordTextReading"]
    provenance: Optional["RecordRecordProvenance"]
    relations: Optional[list["RecordRecordRelations"]]
    lifecycle: Optional["RecordRecordLifecycle"]


class RecordRecordNamedTimes(BaseModel):
    words: str
    start: Optional[datetime]
    end: datetime


class RecordRecordTextReading(BaseModel):
    state: ReadingState
    attempts: int
    nextTryAt: Optional[datetime]


class RecordRecordProvenance(BaseModel):
    createdBy: Optional[str]
    sources: list["RecordRecordProvenanceSources"]


class RecordRecordProvenanceSources(BaseModel):
    kind: str
    ref: str
    timestamp: Optional[datetime]
    hash: Optional[str]
    createdBy: Optional[str]


RecordRecordRelations = RelationFields


class RecordRecordLifecycle(BaseModel):
    decay: "RecordRecordLifecycleDecay"
    deletionPolicy: DeletionPolicy
    dueAt: Optional[datetime]
    lastReinforcedAt: Optional[datetime]
    pinned: bool


class RecordRecordLifecycleDecay(BaseModel):
    curve: DecayCurve
    halfLifeSeconds: float
    minSalience: float
    maxAgeSeconds: Optional[float]
    reinforcementGain: float
