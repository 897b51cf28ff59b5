from .base_model import BaseModel
from .fragments import CapturedFields


class CaptureMemoryData(BaseModel):
    captureMemory: "CapturedFields"
