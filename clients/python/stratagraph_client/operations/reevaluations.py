from datetime import datetime

from .base_model import BaseModel


class ReevaluationsData(BaseModel):
    reevaluations: list["ReevaluationsResult"]


class ReevaluationsResult(BaseModel):
    recordId: str
    causeId: str
    queuedAt: datetime
    attempts: int
    error: str | None
