from .base_model import BaseModel
from .fragments import OutcomeFields


class ReportOutcomeData(BaseModel):
    reportOutcome: "OutcomeFields"
