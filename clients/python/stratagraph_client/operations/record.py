from datetime import datetime
from typing import Optional

from pydantic import JsonValue

from .base_model import BaseModel
from .enums import DecayCurve, DeletionPolicy, ReadingState
from .fragments import (  # noqa: F401
    RecordFields,
    RelationFields,
)


class RecordData(BaseModel):
    record: Optional["RecordResult"]


class RecordResult(RecordFields):
    interpretation: JsonValue | None
    namedTimes: list["RecordNamedTimes"] | None
    textReading: Optional["RecordTextReading"]
    provenance: Optional["RecordProvenance"]
    relations: list["RelationFields"] | None
    lifecycle: Optional["RecordLifecycle"]


class RecordNamedTimes(BaseModel):
    words: str
    start: datetime | None
    end: datetime


class RecordTextReading(BaseModel):
    state: ReadingState
    attempts: int
    nextTryAt: datetime | None


class RecordProvenance(BaseModel):
    createdBy: str | None
    sources: list["RecordProvenanceSources"]


class RecordProvenanceSources(BaseModel):
    kind: str
    ref: str
    timestamp: datetime | None
    hash: str | None
    createdBy: str | None


class RecordLifecycle(BaseModel):
    decay: "RecordLifecycleDecay"
    deletionPolicy: DeletionPolicy
    dueAt: datetime | None
    lastReinforcedAt: datetime | None
    pinned: bool


class RecordLifecycleDecay(BaseModel):
    curve: DecayCurve
    halfLifeSeconds: float
    minSalience: float
    maxAgeSeconds: float | None
    reinforcementGain: float
