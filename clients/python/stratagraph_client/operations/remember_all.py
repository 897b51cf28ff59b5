from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import CapturedFields


class RememberAll(BaseModel):
    rememberAll: "RememberAllRememberAll"


class RememberAllRememberAll(BaseModel):
    typename__: Literal["CaptureMemoriesSuccess"] = Field(alias="__typename")
    results: list["RememberAllRememberAllResults"]


RememberAllRememberAllResults = CapturedFields
