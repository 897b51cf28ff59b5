from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RevisedFields,
)


class ReviseRecordsData(BaseModel):
    reviseRecords: "ReviseRecordsResult"


class ReviseRecordsResult(BaseModel):
    results: list["RevisedFields"]
