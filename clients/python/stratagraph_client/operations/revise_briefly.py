from .base_model import BaseModel


class ReviseBrieflyData(BaseModel):
    reviseRecords: "ReviseBrieflyResult"


class ReviseBrieflyResult(BaseModel):
    results: list["ReviseBrieflyResults"]


class ReviseBrieflyResults(BaseModel):
    record: "ReviseBrieflyResultsRecord"
    receipt: "ReviseBrieflyResultsReceipt"
    replayed: bool


class ReviseBrieflyResultsRecord(BaseModel):
    id: str


class ReviseBrieflyResultsReceipt(BaseModel):
    sequence: str
