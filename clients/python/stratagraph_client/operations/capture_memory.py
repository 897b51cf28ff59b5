from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import (  # noqa: F401
    CapturedFields,
    CapturedFieldsCreatedRecords,
    CapturedFieldsEdges,
    CapturedFieldsPrimaryRecord,
    CapturedFieldsReceipt,
)


class CaptureMemory(BaseModel):
    captureMemory: "CaptureMemoryCaptureMemory"


class CaptureMemoryCaptureMemory(CapturedFields):
    typename__: Literal["CaptureMemorySuccess"] = Field(alias="__typename")
