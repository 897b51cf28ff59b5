from .base_model import BaseModel
from .fragments import OutcomeFields


class ReportOutcomesData(BaseModel):
    reportOutcomes: "ReportOutcomesResult"


class ReportOutcomesResult(BaseModel):
    results: list["OutcomeFields"]
