from datetime import datetime

from .base_model import BaseModel


class CaptureBrieflyData(BaseModel):
    captureMemories: "CaptureBrieflyResult"


class CaptureBrieflyResult(BaseModel):
    results: list["CaptureBrieflyResults"]


class CaptureBrieflyResults(BaseModel):
    primaryRecord: "CaptureBrieflyResultsPrimaryRecord"
    receipt: "CaptureBrieflyResultsReceipt"
    replayed: bool


class CaptureBrieflyResultsPrimaryRecord(BaseModel):
    id: str
    createdAt: datetime


class CaptureBrieflyResultsReceipt(BaseModel):
    sequence: str
