from .base_model import BaseModel
from .fragments import (  # noqa: F401
    CapturedFields,
)


class RememberAllData(BaseModel):
    rememberAll: "RememberAllResult"


class RememberAllResult(BaseModel):
    results: list["CapturedFields"]
