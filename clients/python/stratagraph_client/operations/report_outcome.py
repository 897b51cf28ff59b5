from .base_model import BaseModel
from .fragments import (  # noqa: F401
    OutcomeFields,
)


class ReportOutcomeData(BaseModel):
    reportOutcome: "OutcomeFields"
