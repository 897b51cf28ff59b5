from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import CapturedFields


class CaptureMemories(BaseModel):
    captureMemories: "CaptureMemoriesCaptureMemories"


class CaptureMemoriesCaptureMemories(BaseModel):
    typename__: Literal["CaptureMemoriesSuccess"] = Field(alias="__typename")
    results: list["CaptureMemoriesCaptureMemoriesResults"]


CaptureMemoriesCaptureMemoriesResults = CapturedFields
