from .base_model import BaseModel
from .fragments import (  # noqa: F401
    FreshnessFields,
    RecordFields,
)


class PlansContainingData(BaseModel):
    plansContaining: "PlansContainingResult"


class PlansContainingResult(BaseModel):
    plans: list["PlansContainingPlans"]
    hasMore: bool
    reached: list[str]
    freshness: "FreshnessFields"


class PlansContainingPlans(BaseModel):
    record: "RecordFields"
    steps: list["PlansContainingPlansSteps"]


class PlansContainingPlansSteps(BaseModel):
    id: str
    op: str
