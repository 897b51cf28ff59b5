from .base_model import BaseModel
from .fragments import (  # noqa: F401
    RecordFields,
)


class PlanVersionsData(BaseModel):
    planVersions: list["PlanVersionsResult"]


class PlanVersionsResult(BaseModel):
    version: str
    stepCount: int
    current: bool
    record: "RecordFields"
