from .base_model import BaseModel
from .fragments import RecordFields


class PlanVersions(BaseModel):
    planVersions: list["PlanVersionsPlanVersions"]


class PlanVersionsPlanVersions(BaseModel):
    version: str
    stepCount: int
    current: bool
    record: "PlanVersionsPlanVersionsRecord"


PlanVersionsPlanVersionsRecord = RecordFields
