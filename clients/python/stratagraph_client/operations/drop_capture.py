from .base_model import BaseModel


class DropCaptureData(BaseModel):
    dropCapture: "DropCaptureResult"


class DropCaptureResult(BaseModel):
    candidateIds: list[str]
