from .base_model import BaseModel
from .fragments import CapturedFields


class CaptureMemoriesData(BaseModel):
    captureMemories: "CaptureMemoriesResult"


class CaptureMemoriesResult(BaseModel):
    results: list["CapturedFields"]
