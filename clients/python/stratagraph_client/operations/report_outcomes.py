from .base_model import BaseModel
from .fragments import (  # noqa: F401
    OutcomeFields,
)


class ReportOutcomesData(BaseModel):
    reportOutcomes: "ReportOutcomesResult"


class ReportOutcomesResult(BaseModel):
    results: list["OutcomeFields"]
