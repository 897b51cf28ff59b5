from typing import Literal

from pydantic import Field

from .base_model import BaseModel


class DropCapture(BaseModel):
    dropCapture: "DropCaptureDropCapture"


class DropCaptureDropCapture(BaseModel):
    typename__: Literal["DropCaptureSuccess"] = Field(alias="__typename")
    candidateIds: list[str]
