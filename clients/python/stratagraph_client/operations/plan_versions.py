from .base_model import BaseModel
from .fragments import RecordFields


class PlanVersionsData(BaseModel):
    planVersions: list["PlanVersionsResult"]


class PlanVersionsResult(BaseModel):
    version: str
    stepCount: int
    current: bool
    record: "RecordFields"
