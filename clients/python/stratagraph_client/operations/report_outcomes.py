from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class ReportOutcomes(BaseModel):
    reportOutcomes: "ReportOutcomesReportOutcomes"


class ReportOutcomesReportOutcomes(BaseModel):
    typename__: Literal["ReportOutcomesSuccess"] = Field(alias="__typename")
    results: list["ReportOutcomesReportOutcomesResults"]


ReportOutcomesReportOutcomesResults = OutcomeFields
