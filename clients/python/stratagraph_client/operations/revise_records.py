from .base_model import BaseModel
from .fragments import RevisedFields


class ReviseRecordsData(BaseModel):
    reviseRecords: "ReviseRecordsResult"


class ReviseRecordsResult(BaseModel):
    results: list["RevisedFields"]
