from .base_model import BaseModel
from .fragments import CapturedFields


class RememberAllData(BaseModel):
    rememberAll: "RememberAllResult"


class RememberAllResult(BaseModel):
    results: list["CapturedFields"]
