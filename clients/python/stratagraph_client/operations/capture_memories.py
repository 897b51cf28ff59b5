from .base_model import BaseModel
from .fragments import (  # noqa: F401
    CapturedFields,
)


class CaptureMemoriesData(BaseModel):
    captureMemories: "CaptureMemoriesResult"


class CaptureMemoriesResult(BaseModel):
    results: list["CapturedFields"]
