from typing import Optional

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class RetryCaptureData(BaseModel):
    retryCapture: "RetryCaptureResult"


class RetryCaptureResult(BaseModel):
    captures: list["RetryCaptureCaptures"]


class RetryCaptureCaptures(BaseModel):
    candidateId: str
    sequence: str
    record: Optional["RecordFields"]
