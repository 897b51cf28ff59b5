from typing import Literal

from pydantic import Field

from .base_model import BaseModel
from .fragments import OutcomeFields


class ReportOutcome(BaseModel):
    reportOutcome: "ReportOutcomeReportOutcome"


class ReportOutcomeReportOutcome(OutcomeFields):
    typename__: Literal["ReportOutcomeSuccess"] = Field(alias="__typename")
