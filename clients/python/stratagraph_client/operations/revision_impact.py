from .base_model import BaseModel
from .enums import RecordState
from .fragments import RecordFields


class RevisionImpact(BaseModel):
    revisionImpact: "RevisionImpactRevisionImpact"


class RevisionImpactRevisionImpact(BaseModel):
    records: list["RevisionImpactRevisionImpactRecords"]
    complete: bool


class RevisionImpactRevisionImpactRecords(BaseModel):
    record: "RevisionImpactRevisionImpactRecordsRecord"
    becomes: RecordState
    sourcesLeft: int


RevisionImpactRevisionImpactRecordsRecord = RecordFields
