from typing import Literal, Optional

from pydantic import Field

from .base_model import BaseModel
from .fragments import RecordFields


class RetryCapture(BaseModel):
    retryCapture: "RetryCaptureRetryCapture"


class RetryCaptureRetryCapture(BaseModel):
    typename__: Literal["RetryCaptureSuccess"] = Field(alias="__typename")
    captures: list["RetryCaptureRetryCaptureCaptures"]


class RetryCaptureRetryCaptureCaptures(BaseModel):
    candidateId: str
    sequence: str
    record: Optional["RetryCaptureRetryCaptureCapturesRecord"]


RetryCaptureRetryCaptureCapturesRecord = RecordFields
