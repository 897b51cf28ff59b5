from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import FreshnessFields, RecordFields


class PlansContaining(BaseModel):
    plansContaining: "PlansContainingPlansContaining"


class PlansContainingPlansContaining(BaseModel):
    typename__: Literal["PlanMatches"] = Field(alias="__typename")
    plans: list["PlansContainingPlansContainingPlans"]
    hasMore: bool
    reached: list[str]
    freshness: "PlansContainingPlansContainingFreshness"


class PlansContainingPlansContainingPlans(BaseModel):
    record: "PlansContainingPlansContainingPlansRecord"
    steps: list["PlansContainingPlansContainingPlansSteps"]


PlansContainingPlansContainingPlansRecord = RecordFields


class PlansContainingPlansContainingPlansSteps(BaseModel):
    id: str
    op: str


PlansContainingPlansContainingFreshness = FreshnessFields
