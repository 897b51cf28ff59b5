from .base_model import BaseModel
from .enums import RecordState
from .fragments import (  # noqa: F401
    RecordFields,
)


class RevisionImpactData(BaseModel):
    revisionImpact: "RevisionImpactResult"


class RevisionImpactResult(BaseModel):
    records: list["RevisionImpactRecords"]
    complete: bool


class RevisionImpactRecords(BaseModel):
    record: "RecordFields"
    becomes: RecordState
    sourcesLeft: int
